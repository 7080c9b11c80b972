"""Every kind of annotation and of callable, as a client meets it: listed, sent, decoded, returned."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import anyio
import attrs
import msgspec
import pydantic
import pytest

from dedalus_mcp import (
    Accepted,
    Context,
    Depends,
    MCPClient,
    MCPServer,
    ToolSpec,
    completion,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.schema.json_schema import JsonSchema
from dedalus_mcp.types import CompletionArgument, PromptReference, TextContent, TextResourceContents
from tests.ids import shown
from tests.interaction.reach import PATIENCE

both = pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: float = 0.5
    tags: list[str] = field(default_factory=list[str])


class Line(msgspec.Struct):
    start: Point
    color: Color = Color.RED


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


class Options(TypedDict):
    deep: bool
    level: NotRequired[Level]


class Pair(NamedTuple):
    left: str
    right: int


@attrs.define
class Box:
    size: int


class Model(pydantic.BaseModel):
    name: str
    nested: list[Point]


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    good: bool


NOON = "2030-01-02T12:00:00Z"
ID = "7b0e3c52-3f5e-4b47-9a51-6d1c1b1e6c11"
KINDS: list[tuple[Any, Any]] = [
    (str, "null"),
    (int, 2**53),
    (float, 0.25),
    (bool, False),
    (int | None, None),
    (int | str, "5"),
    (list[Point], [{"x": 1, "y": 2.0, "tags": ["a"]}]),
    (Line, {"start": {"x": 1, "y": 0.5, "tags": []}, "color": "blue"}),
    (Tree, {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}),
    (Options, {"deep": True}),
    (Options, {"deep": True, "level": 2}),
    (Pair, ["a", 1]),
    (Box, {"size": 3}),
    (Model, {"name": "m", "nested": [{"x": 1, "y": 0.5, "tags": []}]}),
    (Cat | Dog, {"type": "dog", "good": True}),
    (Color, "red"),
    (Level, 1),
    (Literal["a", 1], 1),
    (Literal[True], True),
    (Color | None, "blue"),
    (dict[str, list[Point]], {"a": [{"x": 1, "y": 0.5, "tags": []}]}),
    (Mapping[str, int], {"a": 1}),
    (Sequence[int], [1, 2]),
    (tuple[int, str], [1, "a"]),
    (tuple[int, ...], [1, 2, 3]),
    (set[str], ["a"]),
    (datetime.datetime, NOON),
    (datetime.date, "2030-01-02"),
    (uuid.UUID, ID),
    (Decimal, "1.50"),
    (Annotated[int, msgspec.Meta(ge=1, description="How many")], 1),
    (Optional[Annotated[str, msgspec.Meta(pattern="^a")]], "ab"),  # noqa: UP045 - not all can read the other
    (Any, {"a": [None, 1.5, "x"]}),
    (list[Any], [1, "a", None]),
]


@both
@pytest.mark.parametrize(("annotation", "value"), KINDS, ids=shown)
async def test_a_value_of_every_kind_comes_in_as_itself_and_goes_out_as_it_came(
    revision: str, annotation: Any, value: Any
) -> None:
    """B112, B113, B116: by schemas that are complete, and that the value fits."""

    async def echo(it: Any) -> Any:
        return [it]

    echo.__annotations__ = {"it": annotation, "return": list[annotation]}
    server = MCPServer("kinds")
    server.collect(tool(echo))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            (listed,) = (await client.list_tools()).tools
            result = await client.call_tool("echo", {"it": value})

    assert not result.isError, result.content
    assert result.structuredContent == {"result": [value]}
    assert listed.inputSchema["type"] == "object"
    assert JsonSchema(listed.inputSchema, "input").problems({"it": value}, "it") == []
    assert listed.outputSchema is not None
    assert listed.outputSchema["type"] == "object"
    assert JsonSchema(listed.outputSchema, "output").problems(result.structuredContent, "result") == []


async def free(a: int, b: str = "b") -> str:
    return f"{a}{b}"


def handing_on(a: int) -> Any:
    return free(a, b="d")


class Kit:
    """Methods of all kinds."""

    mark = "class"

    def __init__(self) -> None:
        self.mark = "instance"

    async def method(self, a: int) -> str:
        return f"{self.mark}{a}"

    @classmethod
    def of_class(cls, a: int) -> str:
        return f"{cls.mark}{a}"

    @staticmethod
    def of_nobody(a: int) -> str:
        return f"nobody{a}"

    async def __call__(self, a: int) -> str:
        return f"called{a}"


def closing() -> Callable[..., Any]:
    @dataclass
    class Local:
        n: int

    def closure(a: int, local: Local | None = None) -> str:
        return f"closure{a}" if local is None else f"closure{local == Local(1)}"

    return closure


CALLABLES: dict[str, tuple[Callable[..., Any], str]] = {
    "function": (free, "1b"),
    "method": (Kit().method, "instance1"),
    "classmethod": (Kit.of_class, "class1"),
    "staticmethod": (Kit.of_nobody, "nobody1"),
    "callable": (Kit(), "called1"),
    "partial": (partial(free, b="c"), "1c"),
    "partial of a method": (partial(Kit().method), "instance1"),
    "plain function of a coroutine": (handing_on, "1d"),
    "closure": (closing(), "closure1"),
}


@both
async def test_every_callable_is_a_tool(revision: str) -> None:
    """B148: awaited where it is to be, and neither `self` nor what is bound is an argument."""
    server = MCPServer("callables")
    for name, (fn, _) in CALLABLES.items():
        server.tools.add(fn, ToolSpec(name=name.replace(" ", "_")))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            for listed in (await client.list_tools()).tools:
                assert listed.inputSchema["required"] == ["a"], listed.name
                assert set(listed.inputSchema["properties"]) <= {"a", "b", "local"}
            for name, (_, expected) in CALLABLES.items():
                result = await client.call_tool(name.replace(" ", "_"), {"a": 1})
                assert [getattr(block, "text", None) for block in result.content] == [expected]


Alias = Context


@tool
async def a_tool(a: str, *, anything: Alias | None = None) -> str:
    return f"{a}{anything is not None}"


@tool
def sync_tool(c: Annotated[Context, "hidden"], a: str) -> str:
    return f"{a}{c.server.name == 'contexts'}"


@prompt
def a_prompt(a: str, whatever: Context | None = None) -> list[tuple[str, str]]:
    return [("user", f"{a}{whatever is not None}")]


@resource("kinds://one")
def a_resource(ctx: Context) -> str:
    return f"x{ctx.server.name == 'contexts'}"


@resource_template("kinds://many/{a}")
async def a_template(a: str, context: Context) -> str:
    return f"{a}{context.server.name == 'contexts'}"


@completion(prompt="a_prompt")
async def a_completion(argument: CompletionArgument, it: Context) -> list[str]:
    return [f"{argument.value}{it.server.name == 'contexts'}"]


@both
async def test_a_context_is_found_by_its_type_in_every_handler_and_is_nobodys_argument(revision: str) -> None:
    """B145, B146: under any name and at any place, optional, annotated, by an alias, all as strings."""
    server = MCPServer("contexts")
    server.collect(a_tool, sync_tool, a_prompt, a_resource, a_template, a_completion)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            tools, prompts = (await client.list_tools()).tools, (await client.list_prompts()).prompts
            assert [list(each.inputSchema["properties"]) for each in tools] == [["a"], ["a"]]
            assert [[argument.name for argument in each.arguments or ()] for each in prompts] == [["a"]]
            said: list[Any] = [await client.call_tool(each.name, {"a": "x"}) for each in tools]
            said += [await client.get_prompt("a_prompt", {"a": "x"})]
            said += [await client.read_resource(uri) for uri in ("kinds://one", "kinds://many/x")]
            said += [await client.complete(PromptReference(name="a_prompt"), "a", "x")]
            refused = await client.call_tool("a_tool", {"a": "x", "anything": None})

    assert all("xTrue" in repr(each) for each in said)
    assert refused.isError


async def test_what_else_an_annotation_has_may_be_anything() -> None:
    """B146: also what cannot be compared or hashed."""

    @tool
    async def odd(
        a: Annotated[str, {"x": 1}], b: Annotated[int, ["y"], set()] = 1, *, c: Annotated[Context, {}]
    ) -> str:
        return f"{a}{b}{c.revision}"

    server = MCPServer("odd")
    server.collect(odd)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision="2025-06-18") as client:
            assert (await client.call_tool("odd", {"a": "x"})).text == "x12025-06-18"


def test_two_contexts_are_one_too_many() -> None:
    """B146: in every kind of handler."""
    server = MCPServer("two")

    def twice(a: Context, argument: CompletionArgument, b: Context | None = None) -> list[str]:
        return []

    def both(x: str, c: Context, d: Annotated[Context, "again"]) -> str:
        return x

    server.collect(a_prompt)
    for decorated in (
        tool(both),
        prompt(both),
        resource_template("a://{x}")(both),
        completion(prompt="a_prompt")(twice),
    ):
        with pytest.raises(TypeError, match=r"\(\): '[ac]' and '[bd]' are one context"):
            server.collect(decorated)


async def choosing(params: object) -> dict[str, str]:
    return {"kind": "new"}


def defining() -> list[Callable[..., Any]]:
    """Functions whose types are local to a function that has returned when a server collects them."""

    class Kind(enum.Enum):
        NEW = "new"

    @dataclass
    class Order:
        number: int
        kind: Kind = Kind.NEW

    class Tags(TypedDict):
        kinds: list[Kind]

    async def stock(order_id: int = 3) -> Order:
        return Order(order_id)

    @tool
    async def buy(order: Order, tags: Tags | None = None, kept: Order = Depends(stock)) -> Order:  # noqa: B008 - read once, at definition
        return Order(order.number + kept.number)

    @prompt
    def bill(order: Order) -> list[tuple[str, str]]:
        return [("user", f"order {order.number}")]

    @resource_template("orders://{number}")
    async def page(number: int, order: Annotated[Order, Depends(stock)]) -> Order:
        return Order(number + order.number)

    @tool
    async def ask(ctx: Context) -> str:
        @dataclass
        class Choice:
            kind: Kind

        match await ctx.elicit("Which?", Choice):
            case Accepted(data=choice):
                return choice.kind.name if choice.kind is Kind.NEW else "another"
            case _:
                return "none"

    return [buy, bill, page, ask]


@both
async def test_types_local_to_a_function_that_has_returned_are_found(revision: str) -> None:
    """B145: those that fields name, too."""
    server = MCPServer("local")
    server.collect(*defining())
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision, elicitation=choosing) as client:
            bought = await client.call_tool("buy", {"order": {"number": 4}, "tags": {"kinds": ["new"]}})
            asked = await client.call_tool("ask")
            billed = await client.get_prompt("bill", {"order": '{"number": 5}'})
            (read,) = (await client.read_resource("orders://6")).contents

    assert bought.structuredContent == {"number": 7, "kind": "new"}
    assert asked.text == "NEW"
    assert billed.messages[0].content == TextContent(text="order 5")
    assert isinstance(read, TextResourceContents)
    assert read.text == '{"number":9,"kind":"new"}'
