"""Forms that nobody could be asked for are refused when the handler that asks is registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from types import ModuleType
from typing import Any

import pytest

from dedalus_mcp import Context, MCPServer, get_context, prompt, resource, resource_template, tool


@dataclass
class Good:
    region: str
    replicas: int = 1


@dataclass
class Bad:
    region: str
    nested: dict[str, list[int]]


@dataclass
class Later:
    when: Unwritten  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


forms = ModuleType("forms")
forms.Bad = Bad  # type: ignore[attr-defined]

REFUSED = r"asks for it: Bad makes no form: .*nested"


def collected(decorated: Callable[..., Any]) -> MCPServer:
    server = MCPServer("test")
    server.collect(decorated)
    return server


async def by_parameter(ctx: Context) -> str:
    return str(await ctx.elicit("?", Bad))


async def by_keyword(ctx: Context | None = None) -> str:
    assert ctx is not None
    return str(await ctx.elicit(message="?", form=Bad))


async def by_variable() -> str:
    found = get_context()
    return str(await found.elicit("?", Bad))


async def by_call() -> str:
    return str(await get_context().elicit("?", Bad))


async def by_module(it: Context) -> str:
    return str(await it.elicit("?", forms.Bad))


async def in_an_inner_function(ctx: Context) -> str:
    async def inner() -> str:
        return str(await ctx.elicit("?", Bad))

    return await inner()


def in_a_thread(ctx: Context) -> str:
    return str(ctx.wait(ctx.elicit("?", Bad)))


class Asking:
    async def method(self, ctx: Context) -> str:
        return str(await ctx.elicit("?", Bad))

    async def __call__(self, ctx: Context) -> str:
        return str(await ctx.elicit("?", Bad))


@wraps(by_parameter)
async def wrapping(*args: Any, **kwargs: Any) -> str:
    return await by_parameter(*args, **kwargs)


@pytest.mark.parametrize(
    "handler",
    [
        by_parameter,
        by_keyword,
        by_variable,
        by_call,
        by_module,
        in_an_inner_function,
        in_a_thread,
        Asking().method,
        Asking(),
        partial(by_parameter),
        wrapping,
    ],
    ids=lambda handler: getattr(handler, "__name__", type(handler).__name__),
)
def test_a_class_that_makes_no_form_is_refused_with_the_handler_and_the_field(handler: Callable[..., Any]) -> None:
    server = MCPServer("test")
    with pytest.raises(TypeError, match=REFUSED):
        server.collect(tool("named")(handler))
    assert server.tool_names == []


def test_in_every_kind_of_handler_that_may_ask() -> None:
    async def read(x: str, ctx: Context) -> str:
        return str(await ctx.elicit("?", Bad))

    for decorate in (prompt("p"), resource_template("a://{x}")):
        with pytest.raises(TypeError, match=REFUSED):
            collected(decorate(read))
    with pytest.raises(TypeError, match=REFUSED):
        collected(resource("a://b")(by_parameter))


def test_a_form_of_a_closure_is_found() -> None:
    def make(form: type[Any]) -> Callable[..., Any]:
        async def ask(ctx: Context) -> str:
            return str(await ctx.elicit("?", form))

        return tool("ask")(ask)

    assert collected(make(Good)).tool_names == ["ask"]
    with pytest.raises(TypeError, match=REFUSED):
        collected(make(Bad))


def test_what_cannot_be_told_waits_for_its_first_question() -> None:
    class Elsewhere:
        async def elicit(self, _message: str, _form: type[Any]) -> None: ...

    other = Elsewhere()

    async def not_a_context() -> None:
        await other.elicit("?", Bad)

    async def chosen(ctx: Context, deep: bool) -> str:
        form: type[Any] = Bad if deep else Good
        return str(await ctx.elicit("?", form))

    async def unwritten(ctx: Context) -> str:
        return str(await ctx.elicit("?", Later))

    async def unassigned(ctx: Context) -> str:
        return str(await ctx.elicit("?", afterwards))

    async def schema(ctx: Context) -> str:
        return str(await ctx.elicit("?", {"type": "object", "properties": {"a": {"type": "string"}}}))

    async def nameless(ctx: Context) -> str:
        return str(await ctx.elicit("?", type("Made", (), {})))

    async def of_an_object(ctx: Context) -> str:
        return str(await ctx.elicit("?", other.form))  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownArgumentType,reportUnknownMemberType]

    for handler in (not_a_context, chosen, unwritten, unassigned, schema, nameless, of_an_object):
        assert collected(tool(handler)).tool_names == [handler.__name__]
    afterwards = Good


def test_without_source_nothing_is_looked_at() -> None:
    space: dict[str, Any] = {"Context": Context, "Bad": Bad, "__name__": __name__}
    exec("async def typed(ctx: Context) -> None:\n    await ctx.elicit('?', Bad)", space)

    assert collected(tool(space["typed"])).tool_names == ["typed"]
