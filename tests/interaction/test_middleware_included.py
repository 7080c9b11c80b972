"""Middleware of a server that another includes: it stands before what is lent, behind the other's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from dedalus_mcp import (
    CallNext,
    Incoming,
    McpError,
    MCPServer,
    ServerConfig,
    Session,
    get_context,
    prompt,
    resource,
    tool,
)
from dedalus_mcp import completion as completion_of
from dedalus_mcp.types import CallToolResult, CompletionArgument, TextContent
from tests.interaction.raw import serving
from tests.interaction.test_rounds import ABLE, answering, ask, text

both = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


def offering(name: str, *functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer(name, **settings)
    server.collect(*functions)
    return server


class Log:
    """Writes down what passes, and what is raised."""

    def __init__(self, name: str, log: list[Any]) -> None:
        self.name = name
        self.log = log

    async def __call__(self, incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "initialize" or incoming.notice:
            return await call_next()
        named = getattr(incoming.params, "name", None) or getattr(incoming.params, "uri", None)
        self.log.append((self.name, incoming.method, named))
        try:
            return await call_next()
        except Exception as error:
            self.log.append((self.name, type(error)))
            raise


@tool
async def echo(text: str) -> str:
    return text


@tool
async def fail() -> None:
    raise KeyError("internals")


@prompt
def hello(arguments: Any) -> list[tuple[str, str]]:
    return [("user", "hello")]


@completion_of(prompt="hello")
def suggest(argument: CompletionArgument) -> list[str]:
    return ["x"]


@resource("a://b")
async def page() -> str:
    return "page"


@both
async def test_what_is_lent_passes_both_under_the_name_that_each_server_knows(revision: str) -> None:
    log: list[Any] = []
    inner = offering("inner", echo, hello, suggest, page, middleware=[Log("inner", log)])
    outer = MCPServer("outer", middleware=[Log("outer", log)])
    outer.include(inner, prefix="x")
    async with serving(outer) as raw:
        await raw.open(revision)
        assert text(await raw.tool(1, "x_echo", text="hi")) == "hi"
        assert "result" in await raw.call(2, "prompts/get", name="x_hello")
        assert "result" in await raw.call(3, "resources/read", uri="a://b")
        ref = {"type": "ref/prompt", "name": "x_hello"}
        done = await raw.call(4, "completion/complete", ref=ref, argument={"name": "a", "value": ""})
        assert done["result"]["completion"]["values"] == ["x"]

    assert log == [
        ("outer", "tools/call", "x_echo"),
        ("inner", "tools/call", "echo"),
        ("outer", "prompts/get", "x_hello"),
        ("inner", "prompts/get", "hello"),
        ("outer", "resources/read", "a://b"),
        ("inner", "resources/read", "a://b"),
        ("outer", "completion/complete", None),
        ("inner", "completion/complete", None),
    ]


@both
async def test_a_server_without_middleware_does_not_go_round_that_of_what_it_includes(revision: str) -> None:
    async def guard(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "tools/call":
            raise McpError(-32001, "not you")
        return await call_next()

    outer = MCPServer("outer")
    outer.include(offering("inner", echo, middleware=[guard]))
    async with serving(outer) as raw:
        await raw.open(revision)
        assert (await raw.tool(1, "echo", text="hi"))["error"] == {"code": -32001, "message": "not you"}


async def test_each_sees_what_the_tool_really_raised_and_its_own_server_says_what_is_told() -> None:
    log: list[Any] = []
    inner = offering("inner", fail, middleware=[Log("inner", log)], config=ServerConfig(mask_errors=False))
    outer = MCPServer("outer", middleware=[Log("outer", log)])
    outer.include(inner, prefix="x")
    async with serving(outer) as raw:
        await raw.open("2025-11-25")
        reply = await raw.tool(1, "x_fail")

    assert [each for each in log if len(each) == 2] == [("inner", KeyError), ("outer", KeyError)]
    assert reply["result"]["isError"]
    assert text(reply) == "Tool 'fail' failed with KeyError: 'internals'"


async def test_it_changes_params_and_results_of_what_is_lent() -> None:
    async def loud(incoming: Incoming, call_next: CallNext) -> Any:
        result = await call_next(msgspec.structs.replace(incoming.params, arguments={"text": "other"}))
        assert isinstance(result, CallToolResult)
        return msgspec.structs.replace(result, content=[*result.content, TextContent(text="!")])

    outer = MCPServer("outer")
    outer.include(offering("inner", echo, middleware=[loud]))
    async with serving(outer) as raw:
        await raw.open("2025-11-25")
        reply = await raw.tool(1, "echo", text="hi")

    assert [each["text"] for each in reply["result"]["content"]] == ["other", "!"]


async def test_it_is_suspended_with_a_call_that_asks() -> None:
    @tool
    async def add() -> str:
        return str(await ask("a"))

    log: list[Any] = []
    outer = MCPServer("outer")
    outer.include(offering("inner", add, middleware=[Log("inner", log)]))
    async with serving(outer) as raw:
        await raw.open("2026-07-28", ABLE)
        first = await raw.tool(1, "add")
        assert text(await raw.call(2, "tools/call", name="add", arguments={}, **answering(first, a=7))) == "7"

    assert log == [("inner", "tools/call", "add")]


async def test_without_a_client_it_is_not_asked() -> None:
    log: list[Any] = []
    outer = MCPServer("outer")
    outer.include(offering("inner", echo, page, middleware=[Log("inner", log)]))

    assert not (await outer.invoke_tool("echo", text="hi")).isError
    assert (await outer.invoke_resource("a://b")).contents
    assert log == []


async def test_a_session_that_only_the_included_server_sets_up_is_refused() -> None:
    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[None]:
        yield

    with pytest.raises(ValueError, match="'inner' has a session lifespan: give it to the server that clients"):
        MCPServer("outer").include(offering("inner", echo, session_lifespan=live))


async def test_middleware_of_requests_that_only_the_included_server_has_is_refused_however_late() -> None:
    """Nothing of the included server's would ask it, and it may be what guards that."""
    log: list[Any] = []
    with pytest.raises(ValueError, match="'inner' has request_middleware: give it to the server that clients"):
        MCPServer("outer").include(offering("inner", echo, request_middleware=[Log("inner", log)]))

    outer, inner = MCPServer("outer"), offering("inner", echo)
    outer.include(inner)
    inner.request_middleware.add(Log("inner", log))
    with pytest.raises(ValueError, match="'inner' has request_middleware"):
        async with outer.running():
            pass


async def test_what_is_lent_sees_the_session_of_the_client() -> None:
    @tool
    async def which() -> str:
        return str(get_context().session_lifespan)

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[str]:
        yield "the client's"

    outer = MCPServer("outer", session_lifespan=live)
    outer.include(offering("inner", which))
    async with serving(outer) as raw:
        await raw.open("2025-11-25")
        assert text(await raw.tool(1, "which")) == "the client's"
