"""Which tools are there: those that are allowed, and enabled, as far as anybody can tell."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import anyio
import pytest

from dedalus_mcp import Context, Depends, MCPClient, McpError, MCPServer, ServerConfig, get_context, tool
from dedalus_mcp.server.changes import TOOLS, Change
from dedalus_mcp.server.hints import CacheHint
from dedalus_mcp.types import TextContent
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE

every = pytest.mark.parametrize("revision", REVISIONS)


def named(name: str, **options: Any) -> Callable[..., Any]:
    async def fn() -> str:
        return name

    return tool(name, **options)(fn)


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


def heard_by(server: MCPServer) -> list[Change]:
    heard: list[Change] = []
    server.bus.subscribe(heard.append)
    return heard


async def listed(server: MCPServer) -> list[str]:
    async with MCPClient.connect(server) as client:
        return [each.name for each in (await client.list_tools()).tools]


@every
async def test_what_is_not_allowed_is_as_unknown_as_what_never_was(revision: str) -> None:
    """TOOL-16."""
    server = offering(named("a"), named("b"))
    server.allow_tools(["a", "nothing"])
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            tools = (await raw.call(1, "tools/list"))["result"]["tools"]
            refused, unknown = (await raw.tool(2, "b"))["error"], (await raw.tool(3, "c"))["error"]

    assert [each["name"] for each in tools] == server.tool_names == ["a"]
    assert refused == {"code": -32602, "message": "Unknown tool: b"}
    assert unknown == {"code": -32602, "message": "Unknown tool: c"}


async def test_none_allows_all_of_them_again() -> None:
    server = offering(named("a"), named("b"))
    server.allow_tools([])
    assert server.tool_names == []
    assert await listed(server) == []
    server.allow_tools(None)

    assert server.tool_names == ["a", "b"]
    assert not (await server.invoke_tool("b")).isError


def test_what_is_registered_later_needs_to_be_allowed_too() -> None:
    server = offering(named("a"))
    server.allow_tools({"a", "c"})
    server.collect(named("b"), named("c"))

    assert server.tool_names == ["a", "c"]


def test_several_names_are_no_single_string() -> None:
    server = offering(named("a"))

    with pytest.raises(TypeError, match="several names, or None; not 'a'"):
        server.allow_tools("a")
    assert server.tool_names == ["a"]


def test_a_change_of_what_is_allowed_is_told_where_it_changes_the_list() -> None:
    """TOOL-20."""
    server = offering(named("a"), named("b"))
    heard = heard_by(server)
    server.allow_tools(["a", "b", "c"])
    server.allow_tools(["b", "a"])
    assert heard == []
    server.allow_tools(["a"])
    assert heard == [TOOLS]
    server.allow_tools(None)

    assert heard == [TOOLS, TOOLS]


async def test_tools_are_chosen_by_their_tags() -> None:
    server = offering(named("a", tags=["read", " slow "]), named("b", tags={"write", ""}), named("c"))

    assert server.tools.tagged("read") == ["a"]
    assert server.tools.tagged("slow", "write") == ["a", "b"]
    assert server.tools.tagged("other") == server.tools.tagged() == []
    server.allow_tools(server.tools.tagged("read"))
    assert await listed(server) == ["a"]


def test_clients_find_the_tags_where_extensions_belong() -> None:
    a, b = offering(named("a", tags=["y", "x"], meta={"m/n": 1}), named("b")).tools.definitions

    assert a.meta == {"dedalus-mcp/tags": ["x", "y"], "m/n": 1}
    assert b.meta is None


@pytest.mark.parametrize("tags", ["read", 7, None, [1], [None]], ids=repr)
def test_tags_are_several_strings(tags: Any) -> None:
    with pytest.raises(TypeError, match="tags are"):
        named("a", tags=tags)


@pytest.mark.parametrize("enabled", [None, "yes", 1], ids=repr)
def test_enabled_is_said_or_told_by_a_function(enabled: Any) -> None:
    with pytest.raises(TypeError, match="True, False, a function that tells or Depends"):
        named("a", enabled=enabled)


@every
async def test_a_disabled_tool_is_not_listed_and_says_so_to_a_model_that_remembers_it(revision: str) -> None:
    server = offering(named("a", enabled=False), named("b"))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            tools = (await raw.call(1, "tools/list"))["result"]["tools"]
            result = (await raw.tool(2, "a"))["result"]

    assert [each["name"] for each in tools] == server.tool_names == ["b"]
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": 'Tool "a" is temporarily unavailable'}]


class Switch:
    """Sync and async, on and off, and who asked."""

    def __init__(self) -> None:
        self.on = True
        self.asked: list[object] = []

    def plain(self, server: MCPServer) -> bool:
        self.asked.append(server)
        return self.on

    async def awaited(self, server: MCPServer) -> bool:
        await anyio.lowlevel.checkpoint()
        return self.plain(server)

    def returning_an_awaitable(self, server: MCPServer) -> Awaitable[bool]:
        return self.awaited(server)


@every
@pytest.mark.parametrize("way", ["plain", "awaited", "returning_an_awaitable"])
async def test_a_function_is_asked_at_each_list_and_call(revision: str, way: str) -> None:
    switch = Switch()
    server = offering(named("a", enabled=getattr(switch, way)), named("b"))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            for number, on in enumerate([True, False, True]):
                switch.on = on
                tools = (await raw.call(f"list {number}", "tools/list"))["result"]["tools"]
                result = (await raw.tool(f"call {number}", "a"))["result"]
                assert [each["name"] for each in tools] == (["a", "b"] if on else ["b"])
                assert result.get("isError", False) is not on
    assert switch.asked == [server] * 6


async def test_a_function_sees_whose_call_it_is() -> None:
    """TOOL-02: the set varies by who asks, as here by what the client says it is."""

    def for_known_clients(server: MCPServer) -> bool:
        info = get_context().client_info
        return info is not None and info.name == "raw"

    server = offering(named("a", enabled=for_known_clients), named("b"))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open("2025-11-25")
            known = (await raw.call(1, "tools/list"))["result"]["tools"]
        others = await listed(server)

    assert [each["name"] for each in known] == ["a", "b"]
    assert others == ["b"]


def failing(server: MCPServer) -> bool:
    raise ZeroDivisionError("secret")


async def test_where_nobody_can_tell_the_tool_is_not_there_and_the_others_are(caplog: pytest.LogCaptureFixture) -> None:
    """B113: one broken tool never hides the others."""
    server = offering(named("a", enabled=failing), named("b"))
    assert await listed(server) == ["b"]
    caplog.clear()
    result = await server.invoke_tool("a")

    assert result.content == [TextContent(text='Tool "a" is temporarily unavailable')]
    (entry,) = [entry for entry in caplog.records if entry.levelno == logging.ERROR]
    assert "tool 'a'" in entry.getMessage()
    assert entry.exc_info is not None


async def test_the_pages_and_hints_of_such_a_list_are_those_of_any_other() -> None:
    """PAGE-01."""
    tools = [named(f"t{number}", enabled=Switch().plain) for number in range(5)]
    config = ServerConfig(pagination_limit=2, cache_hints={"tools/list": CacheHint(ttl=5)})
    with anyio.fail_after(PATIENCE):
        async with serving(offering(*tools, config=config)) as raw:
            await raw.open("2026-07-28")
            first = (await raw.call(1, "tools/list"))["result"]
            bad = (await raw.call(2, "tools/list", cursor="x"))["error"]

    assert [each["name"] for each in first["tools"]] == ["t0", "t1"]
    assert first["nextCursor"] == "2"
    assert first["ttlMs"] == 5000
    assert bad["code"] == -32602


async def test_a_cancelled_list_ends_with_the_function_that_decides() -> None:
    began, ended = anyio.Event(), anyio.Event()

    async def endless(server: MCPServer) -> bool:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return True

    with anyio.fail_after(PATIENCE):
        async with serving(offering(named("a", enabled=endless))) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/list")
            await began.wait()
            await raw.notify("notifications/cancelled", requestId=1)
            await ended.wait()
            assert "result" in await raw.call(2, "ping")


async def test_in_process_the_same_tools_are_there() -> None:
    server = offering(named("a", enabled=False), named("b"))
    server.allow_tools(["a"])

    assert (await server.invoke_tool("a")).isError
    with pytest.raises(McpError, match="Unknown tool: b"):
        await server.invoke_tool("b")


async def test_fixed_tools_change_until_the_server_serves_and_no_more() -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        server.collect(named("found in the database"))
        yield

    server = offering(named("a"), named("b"), named("c"), lifespan=lifespan, allow_dynamic_tools=False)
    server.tools.remove("c")
    server.allow_tools(["a", "found in the database"])
    heard = heard_by(server)
    async with MCPClient.connect(server) as client:
        heard.clear()
        for change in (
            partial(server.collect, named("d")),
            partial(server.tools.remove, "a"),
            partial(server.tools.remove, "nothing"),
            partial(server.allow_tools, None),
        ):
            with pytest.raises(RuntimeError, match="Tool mutation attempted after server startup") as raised:
                change()
            assert "Enable allow_dynamic_tools=True to permit runtime changes." in str(raised.value)
        assert [each.name for each in (await client.list_tools()).tools] == ["a", "found in the database"]

    assert heard == []
    assert server.tools.definition("d") is None  # nothing is kept of what was refused


async def test_tools_change_at_any_time_else_and_clients_hear_of_it() -> None:
    """TOOL-20."""
    server = offering(named("a"))
    heard = heard_by(server)
    async with MCPClient.connect(server) as client:
        server.collect(named("b"))
        server.allow_tools(["b"])
        assert [each.name for each in (await client.list_tools()).tools] == ["b"]

    assert heard == [TOOLS, TOOLS]


@every
async def test_a_function_may_take_the_context_of_who_asks_and_what_it_depends_on(revision: str) -> None:
    taken_down: list[str] = []

    async def grants() -> AsyncGenerator[set[str]]:
        yield {"1", "list"}
        taken_down.append("grants")

    def granted(server: MCPServer, /, ctx: Context, known: Annotated[set[str], Depends(grants)]) -> bool:
        assert ctx is get_context()
        assert ctx.server is server
        return ctx.request_id in known

    server = offering(named("a", enabled=granted), named("b"))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            tools = (await raw.call("list", "tools/list"))["result"]["tools"]
            called, refused = (await raw.tool(1, "a"))["result"], (await raw.tool(2, "a"))["result"]

    assert [each["name"] for each in tools] == ["a", "b"]
    assert not called.get("isError", False)
    assert refused["isError"]
    assert taken_down == ["grants"] * 3


@every
async def test_a_dependency_can_tell_by_itself(revision: str) -> None:
    answers = [True, False]

    def open_now(ctx: Context) -> bool:
        assert ctx.revision == revision
        return answers.pop(0)

    server = offering(named("a", enabled=Depends(open_now)))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            assert not (await raw.tool(1, "a"))["result"].get("isError", False)
            assert (await raw.tool(2, "a"))["result"]["isError"]


async def test_a_function_may_take_nothing_or_whatever_it_is_given() -> None:
    def nothing() -> bool:
        return True

    def anything(*args: MCPServer) -> bool:
        return args == (server,)

    server = offering(named("a", enabled=nothing), named("b", enabled=anything))
    assert await listed(server) == ["a", "b"]


def test_a_function_whose_parameters_nobody_gives_is_refused_when_it_is_registered() -> None:
    def greedy(server: MCPServer, tenant: str) -> bool:
        return bool(server and tenant)

    with pytest.raises(TypeError, match=r"enabled: nobody gives 'tenant' to .*greedy\(\)"):
        offering(named("a", enabled=greedy))


async def test_without_a_client_a_function_that_needs_the_context_says_no(caplog: pytest.LogCaptureFixture) -> None:
    def known(ctx: Context) -> bool:
        return ctx.modern

    server = offering(named("a", enabled=known))

    assert (await server.invoke_tool("a")).isError
    assert "could not be told" in caplog.text
