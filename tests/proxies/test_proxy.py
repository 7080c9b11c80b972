"""`proxy`: what it is made of, what it says it can do, and where it fits."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, ServerConfig, prompt, proxy, resource, tool
from dedalus_mcp.proxies import proxy as proxying
from dedalus_mcp.proxies import upstream as upstreams
from dedalus_mcp.types import ElicitRequestParams, PromptReference
from tests.client.counting import back_to, living_tasks
from tests.interaction import proxied_server
from tests.interaction.reach import PATIENCE, Heard, text_of
from tests.proxies.line import Line


def named(name: str, **options: Any) -> Any:
    async def fn() -> str:
        return name

    return tool(name, **options)(fn)


def offering(*functions: Any, name: str = "upstream", **settings: Any) -> MCPServer:
    server = MCPServer(name, **settings)
    server.collect(*functions)
    return server


def only_one(params: ElicitRequestParams) -> dict[str, Any]:
    return {"confirm": params.message == "1?"}


# How it is made.


@pytest.mark.parametrize("setting", ["elicitation", "sampling", "roots", "logging", "cache", "max_rounds"])
def test_what_is_up_to_its_clients_cannot_be_set(setting: str) -> None:
    settings: dict[str, Any] = {setting: None}
    with pytest.raises(TypeError, match=f"takes no '{setting}'"):
        proxy("http://127.0.0.1:1/mcp", **settings)


def test_settings_are_checked_where_they_are_given() -> None:
    wrong: Any = {"no_such": 1}
    with pytest.raises(TypeError, match="no setting 'no_such'"):
        proxy("http://127.0.0.1:1/mcp", **wrong)
    with pytest.raises(ValueError, match="max_connections"):
        proxy("http://127.0.0.1:1/mcp", max_connections=0)


async def test_a_client_that_is_connected_has_its_settings_already() -> None:
    async with MCPClient.connect(offering(named("a"))) as client:
        with pytest.raises(TypeError, match="has its settings already"):
            proxy(client, timeout=3)


async def test_what_cannot_be_reached_fails_whoever_connects_first() -> None:
    line = Line(offering(named("a")))
    line.down = True
    server = proxy(line)
    with pytest.raises(ConnectionRefusedError, match="nobody is there"):
        await MCPClient.connect(server)
    line.down = False
    async with MCPClient.connect(server) as client:
        assert text_of(await client.call_tool("a")) == "a"


@pytest.mark.parametrize("outside", ["2025-11-25", "2026-07-28"])
async def test_one_that_is_not_required_is_there_as_soon_as_it_can_be(
    outside: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(proxied_server.make())
    line.down = True
    hub = offering(named("own"), name="hub")
    hub.include(proxy(line, name="far", required=False), prefix="far")
    changed = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(hub, revision=outside, tools_list_changed=changed, cache=None) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ["own"]
            with pytest.raises(McpError, match="cannot be reached"):
                await client.read_resource("a://r")
            line.down = False
            assert (await client.read_resource("a://r")).contents[0].uri == "a://r"
            await changed.wait(1)
            assert "far_exact" in [each.name for each in (await client.list_tools()).tools]
            assert (await client.get_prompt("far_greet", {"who": "x"})).messages

    assert "'far' starts without its upstream server: nobody is there" in caplog.text


async def test_a_proxy_that_is_not_served_says_so() -> None:
    server = proxy(offering(named("a")))
    async with server.running():
        assert (await server.invoke_tool("a")).text == "a"
    with pytest.raises(RuntimeError, match="is not served"):
        await server.invoke_tool("a")


# What it says of itself.


@pytest.mark.parametrize("given", [None, "Mine."])
async def test_it_says_how_the_upstream_server_is_used_unless_it_was_told_otherwise(given: str | None) -> None:
    server = proxy(proxied_server.make(), name="front", version="3", instructions=given)
    async with MCPClient.connect(server) as client:
        assert client.instructions == (given or "Use it well.")
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("front", "3")


@pytest.mark.parametrize("outside", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("functions", [[named("a")], [], [proxied_server.r], [proxied_server.greet]])
async def test_its_capabilities_are_those_of_the_upstream_server(functions: list[Any], outside: str) -> None:
    upstream = offering(*functions)
    async with (
        MCPClient.connect(upstream, revision=outside) as direct,
        MCPClient.connect(proxy(upstream), revision=outside) as client,
    ):
        assert client.server_capabilities == direct.server_capabilities


async def test_a_proxy_of_a_proxy_is_a_proxy() -> None:
    server = proxy(proxy(proxied_server.make(), revision="2025-11-25"), revision="2026-07-28")
    async with MCPClient.connect(server, revision="2025-06-18", elicitation=only_one) as client:
        assert text_of(await client.call_tool("ask_at_once")) == "[False, True, False]"


# Where it fits.


def test_a_server_cannot_include_what_stands_before_itself() -> None:
    """Serving it would begin with connecting to it, which waits for that."""
    server, hub = MCPServer("server"), MCPServer("hub")
    hub.include(proxy(proxy(server, name="near"), name="far"), prefix="far")
    for includes_it in (proxy(server), hub):
        with pytest.raises(ValueError, match="'server' would include itself"):
            server.include(includes_it)


@pytest.mark.parametrize("inside", ["2025-11-25", "2026-07-28"])
async def test_it_is_included_under_a_prefix_like_any_server(inside: str) -> None:
    outer = offering(named("own"), name="outer")
    outer.include(proxy(proxied_server.make(), revision=inside), prefix="far")
    tools, updated = Heard[Any](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(
            outer,
            elicitation=only_one,
            tools_list_changed=tools,
            resource_updated=updated,
        ) as client:
            assert [each.name for each in (await client.list_tools()).tools][:2] == ["own", "far_exact"]
            assert text_of(await client.call_tool("far_ask_at_once")) == "[False, True, False]"
            assert len((await client.get_prompt("far_greet", {"who": "x"})).messages) == 3
            assert (await client.complete(PromptReference(name="far_greet"), "who", "A")).completion.values == ["Aa"]
            await client.call_tool("far_change", {"what": "tool"})
            await tools.wait(1)
            assert text_of(await client.call_tool("far_added")) == "new"
            assert (await client.read_resource("a://t/y")).contents[0].uri == "a://t/y"
            await client.subscribe_resource("a://t/y")
            await client.call_tool("far_change", {"what": "a://t/y"})
            await updated.wait(1)


async def test_several_are_included_and_each_uri_is_read_where_it_is() -> None:
    @resource("b://only")
    async def only() -> str:
        return "b"

    outer = MCPServer("outer")
    outer.include(proxy(proxied_server.make(), name="a"), prefix="a")
    outer.include(proxy(offering(only), name="b"), prefix="b")
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer) as client:
            for uri in ("a://r", "a://t/hidden", "b://only"):
                assert (await client.read_resource(uri)).contents[0].uri == uri
                await client.subscribe_resource(uri)
            for wrong in ("c://none", "a://t/none"):
                with pytest.raises(McpError) as raised:
                    await client.read_resource(wrong)
                assert raised.value.code == -32602


async def test_what_has_no_room_in_the_outer_server_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody could be told but the log: the upstream server listed it while it was served."""
    upstream = offering(named("x"))
    outer = offering(named("far_y"), name="outer")
    outer.include(proxy(upstream, name="far"), prefix="far")
    changed = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, tools_list_changed=changed) as client:
            upstream.collect(named("y"), named("z"))
            await changed.wait(1)
            upstream.collect(named("more"))
            await changed.wait(2)
            names = [each.name for each in (await client.list_tools()).tools]

    assert names == ["far_y", "far_x", "far_z", "far_more"]
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "'far_y'" in record.getMessage()


async def test_lists_do_not_wait_for_ever_for_a_server_that_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proxying, "REFRESH_SECONDS", 0.01)
    monkeypatch.setattr(upstreams, "ATTEMPT_SECONDS", 0.01)
    line = Line(offering(named("x")))
    outer = offering(named("own"), name="outer")
    outer.include(proxy(line, name="far"))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, cache=None) as client:
            line.stuck = True
            await line.cut()
            assert [each.name for each in (await client.list_tools()).tools] == ["own", "x"]
            line.stuck = False
            assert text_of(await client.call_tool("x")) == "x"

    assert "'far': the upstream server does not list what it has: it takes more than 0.01 s" in caplog.text


async def test_a_server_that_takes_long_to_connect_to_is_there_in_the_end_though_lists_do_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a program that is installed at its first start does: each list would begin that anew."""
    monkeypatch.setattr(proxying, "REFRESH_SECONDS", 0.01)
    line = Line(offering(named("x")))
    line.down = True
    server = proxy(line, required=False)
    changed = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, cache=None, tools_list_changed=changed) as client:
            line.down, line.slow, tried = False, anyio.Event(), line.tried
            for _ in range(3):
                assert (await client.list_tools()).tools == []
            line.slow.set()
            await changed.wait(1)
            assert [each.name for each in (await client.list_tools()).tools] == ["x"]
            assert line.tried == tried + 1


async def test_a_start_does_not_wait_for_a_server_that_is_not_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor would a hub with many of them start at all."""
    monkeypatch.setattr(proxying, "REFRESH_SECONDS", 0.01)
    line = Line(offering(named("x")))
    line.slow = anyio.Event()
    changed = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(proxy(line, required=False), cache=None, tools_list_changed=changed) as client:
            assert (await client.list_tools()).tools == []
            line.slow.set()
            await changed.wait(1)
            assert text_of(await client.call_tool("x")) == "x"
            assert line.tried == 1


async def test_an_attempt_to_connect_ends_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxying, "REFRESH_SECONDS", 0.01)
    line = Line(offering(named("x")))
    line.down = True
    tasks = living_tasks()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(proxy(line, required=False), cache=None) as client:
            line.down, line.stuck = False, True
            await client.list_tools()
        await back_to(tasks)


async def test_lists_wait_for_all_lost_servers_together(monkeypatch: pytest.MonkeyPatch) -> None:
    outer = offering(named("own"), name="outer")
    started, both = list[str](), anyio.Event()

    async def refresh(server: proxying.Proxy, method: str) -> None:
        started.append(server.name)
        if len(started) == 2:
            both.set()
        await both.wait()

    monkeypatch.setattr(proxying.Proxy, "_refresh", refresh)
    for name in ("near", "far"):
        way = MCPServer(f"way to {name}")
        included = proxy(offering(named("x")), name=name)
        way.include(included, prefix="short")
        outer.include(way, prefix=name)
        outer.include(included, prefix=f"{name}_too")  # and is asked once all the same
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer) as client:
            assert len((await client.list_tools()).tools) == 5

    assert sorted(started) == ["far", "near"]


async def test_tools_that_are_fixed_stay_as_they_were_when_serving_began(caplog: pytest.LogCaptureFixture) -> None:
    upstream = offering(named("x"))
    outer = MCPServer("outer", allow_dynamic_tools=False)
    outer.include(proxy(upstream))
    async with MCPClient.connect(outer) as client:
        upstream.collect(named("y"))
        upstream.tools.remove("x")
        with anyio.fail_after(PATIENCE):
            while not caplog.records:
                await anyio.lowlevel.checkpoint()
        assert [each.name for each in (await client.list_tools()).tools] == ["x"]
        with pytest.raises(McpError, match="Unknown tool"):
            await client.call_tool("y")


# A client that is connected already, and upstream servers that say less.


@pytest.mark.parametrize("inside", ["2025-11-25", "2026-07-28"])
async def test_a_connected_client_is_a_target_and_stays_connected(inside: str) -> None:
    upstream = proxied_server.make()
    async with MCPClient.connect(upstream, revision=inside) as given:
        server = proxy(given)
        for _ in range(2):
            async with MCPClient.connect(server) as client:
                assert text_of(await client.call_tool("ended")).isdigit()
                upstream.collect(named("late"))
                assert "late" in [each.name for each in (await client.list_tools()).tools]
        assert given.ended is None


async def test_a_connected_client_that_is_closed_is_an_upstream_server_that_is_gone() -> None:
    async with MCPClient.connect(offering(named("a"))) as given:
        server = proxy(given, name="front")
        async with MCPClient.connect(server) as client:
            await given.close()
            with pytest.raises(McpError, match="'front': the upstream server is gone"):
                await client.call_tool("a")
            assert [each.name for each in (await client.list_tools()).tools] == ["a"]  # as it was known


async def test_one_shared_connection_carries_all_clients_and_asks_nobody_on_legacy_revisions() -> None:
    line = Line(proxied_server.make())
    server = proxy(line, revision="2025-11-25", shared=True)
    able: dict[str, Any] = {"elicitation": only_one}
    async with MCPClient.connect(server, **able) as one, MCPClient.connect(server, **able) as two:
        counts = [text_of(await client.call_tool("count")) for client in (one, two, one)]
        assert text_of(await one.call_tool("declared")) == "False False False"

    assert counts == ["1", "2", "3"]
    assert len(line.opened) == 1


async def test_pages_of_the_upstream_server_are_read_to_their_end_and_ours_are_of_our_size() -> None:
    upstream = offering(*(named(f"t{number}") for number in range(7)), config=ServerConfig(pagination_limit=2))
    server = proxy(upstream, config=ServerConfig(pagination_limit=5))
    async with MCPClient.connect(server) as client:
        page = await client.list_tools_page()
        assert len(page.tools) == 5
        rest = await client.list_tools_page(page.nextCursor)

    assert [each.name for each in (*page.tools, *rest.tools)] == [f"t{number}" for number in range(7)]


async def test_what_a_prompt_needs_is_up_to_the_upstream_server() -> None:
    @prompt("p", arguments=[{"name": "a", "required": True}])
    def p(arguments: dict[str, str] | None) -> Any:
        return [("user", "x")]

    server = proxy(offering(p), revision="2025-06-18")
    async with MCPClient.connect(server) as client:
        with pytest.raises(McpError, match="Missing required arguments: a"):
            await client.get_prompt("p")
