"""`MCPServer`: registering, binding, and what it advertises."""

from __future__ import annotations

import contextvars
import threading
from types import ModuleType
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, prompt, tool
from dedalus_mcp.server.answering import Answering
from dedalus_mcp.types import ElicitRequestParams
from tests.interaction.raw import serving


@tool
def one() -> int:
    return 1


@prompt("greet")
def greet(arguments: dict[str, str]) -> None: ...


def test_a_server_is_what_it_was_told() -> None:
    server = MCPServer(
        "name",
        version="2",
        title="Title",
        website_url="https://example.com",
        icons=[{"type": "url", "url": "https://example.com/a.png"}],
        instructions="Do",
        config=ServerConfig(pagination_limit=7),
    )

    assert server.name == server.info.name == "name"
    assert (server.info.version, server.info.title, server.info.websiteUrl) == ("2", "Title", "https://example.com")
    assert server.info.icons is not None
    assert server.info.icons[0].src == "https://example.com/a.png"
    assert server.instructions == "Do"
    assert server.config.pagination_limit == 7
    assert server.lifespan_value is None
    assert isinstance(server.answering(), Answering)


def test_only_what_is_there_is_advertised() -> None:
    """TOOL-01, PROMPT-01, LOG-01, DISC-05."""
    server = MCPServer("test", experimental_capabilities={"x": {"y": 1}})
    assert server.capabilities.tools is None
    assert server.capabilities.prompts is None
    assert server.capabilities.logging is not None
    assert server.capabilities.experimental == {"x": {"y": 1}}
    assert not server.offers("tools/call")
    assert not server.offers("prompts/list")

    server.collect(one, greet)
    assert server.capabilities.tools is not None
    assert server.capabilities.prompts is not None
    assert server.offers("tools/call")
    assert server.offers("ping")


def test_what_is_not_decorated_is_refused_by_name_and_what_was_before_it_stays() -> None:
    server = MCPServer("test")

    def plain() -> None: ...

    with pytest.raises(
        ValueError, match=r"^'plain' has no Dedalus MCP metadata\. Decorate with @tool, @prompt, @resource"
    ):
        server.collect(one, plain, greet)
    assert server.tool_names == ["one"]
    assert server.prompt_names == []


def test_a_module_gives_its_public_decorated_functions() -> None:
    module = ModuleType("tools")
    members: dict[str, Any] = {"one": one, "_private": tool("private")(lambda: 1), "greet": greet, "other": 7, "f": len}
    vars(module).update(members)
    server = MCPServer("test")
    server.collect_from(module, ModuleType("empty"))

    assert server.tool_names == ["one"]
    assert server.prompt_names == ["greet"]


def test_inside_of_a_binding_functions_are_registered_at_once() -> None:
    server = MCPServer("test")

    with server.binding() as bound:
        assert bound is server

        @tool
        def inside() -> None: ...

        assert server.tool_names == ["inside"]

    @tool
    def outside() -> None: ...

    assert server.tool_names == ["inside"]


def test_the_innermost_binding_takes_what_is_decorated_even_after_an_error() -> None:
    outer, inner = MCPServer("outer"), MCPServer("inner")

    def fail() -> None:
        with inner.binding():
            tool("b")(lambda: 1)
            raise KeyError("x")

    with outer.binding():
        tool("a")(lambda: 1)
        with pytest.raises(KeyError):
            fail()
        tool("c")(lambda: 1)

    assert outer.tool_names == ["a", "c"]
    assert inner.tool_names == ["b"]


async def test_a_binding_is_seen_by_its_child_tasks_and_by_no_other_task_or_thread() -> None:
    first, second = MCPServer("first"), MCPServer("second")

    async def bind(server: MCPServer, entered: anyio.Event, other: anyio.Event) -> None:
        with server.binding():
            entered.set()
            await other.wait()
            tool(server.name)(lambda: 1)
            async with anyio.create_task_group() as children:
                children.start_soon(child, server.name)

    async def child(name: str) -> None:
        tool(f"child-of-{name}")(lambda: 1)

    a, b = anyio.Event(), anyio.Event()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(bind, first, a, b)
            group.start_soon(bind, second, b, a)

    assert first.tool_names == ["child-of-first", "first"]
    assert second.tool_names == ["child-of-second", "second"]

    with first.binding():
        thread = threading.Thread(target=contextvars.Context().run, args=(lambda: tool("stranger")(lambda: 1),))
        thread.start()
        thread.join(5)
    assert "stranger" not in first.tool_names


async def test_tools_that_are_called_like_members_of_the_server_replace_none() -> None:
    names = ["tools", "prompts", "run", "serve", "name", "collect", "binding", "info", "_lifespan"]
    server = MCPServer("test")
    for name in names:
        server.collect(tool(name)(lambda: "mine"))

    assert server.name == "test"
    assert server.tool_names == sorted(names)
    result = await server.invoke_tool("run")
    assert result.structuredContent == {"result": "mine"}


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
async def test_lists_come_in_pages_of_the_configured_size(revision: str) -> None:
    """PAGE-07."""
    server = MCPServer("test", config=ServerConfig(pagination_limit=2))
    server.collect(*(tool(f"t{number}")(lambda: 1) for number in range(5)))
    async with serving(server) as raw:
        await raw.open(revision)
        sizes, cursor = list[int](), None
        for id in range(1, 9):
            result = (await raw.call(id, "tools/list", {"cursor": cursor} if cursor else {}))["result"]
            sizes.append(len(result["tools"]))
            if (cursor := result.get("nextCursor")) is None:
                break
        bad = await raw.call("bad", "tools/list", cursor="x")

    assert sizes == [2, 2, 1]
    assert bad["error"] == {"code": -32602, "message": "Invalid cursor provided"}


async def test_asking_outside_of_a_call_is_refused() -> None:
    params = ElicitRequestParams(
        message="m", requestedSchema={"type": "object", "properties": {"a": {"type": "string"}}}
    )
    with pytest.raises(RuntimeError, match="active request"):
        await MCPServer("test").request_elicitation(params)


async def test_there_is_no_transport_of_any_other_name() -> None:
    with pytest.raises(ValueError, match="Unsupported transport 'carrier-pigeon'"):
        await MCPServer("test").serve("carrier-pigeon")
