"""Changes over HTTP: listen streams of 2026-07-28, and the GET streams of legacy sessions."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, resource, tool
from tests.transports.asgi import Client, Exchange, refusal, serving
from tests.transports.skew import Skew

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ID = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a://b"]}


@tool
async def one() -> None: ...


@tool
async def two() -> None: ...


@resource("a://b", inline=True)
def b() -> str:
    return "b"


def offering(**settings: Any) -> MCPServer:
    server = MCPServer("test", config=ServerConfig(notice_delay=0, **settings))
    server.collect(one, two, b)
    return server


async def listening(client: Client, id: Any, **kinds: Any) -> tuple[Exchange, dict[str, Any]]:
    """Open a stream; return it and what it acknowledges first."""
    stream = client.begin(id, "subscriptions/listen", notifications=kinds)
    first = await stream.message()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"][ID] == id
    return stream, first["params"]["notifications"]


async def test_a_stream_stays_open_and_tells_changes_that_were_made_elsewhere() -> None:
    """SUB-01, SUB-02, SUB-05, SUB-07: made on other connections, or by nobody's call."""
    server = offering()
    async with serving(server) as web:
        client = await web.open(MODERN)
        first, granted = await listening(client, 7, **ALL)
        second, _ = await listening(await web.open(MODERN), "s", toolsListChanged=True)
        assert granted == {"toolsListChanged": True, "resourceSubscriptions": ["a://b"]}
        assert (first.is_stream, first.status, first.over) == (True, 200, False)

        server.tools.remove("two")
        for stream, id in ((first, 7), (second, "s")):
            assert await stream.message() == {
                "jsonrpc": "2.0",
                "method": TOOLS,
                "params": {"_meta": {ID: id}},
            }
        await server.notify_resource_updated("a://b")
        assert (await first.message())["params"]["uri"] == "a://b"
        assert len(second.messages) == 2


async def test_a_client_ends_its_stream_by_closing_it() -> None:
    """SUB-08, SUB-11."""
    server = offering()
    async with serving(server) as web:
        stream, _ = await listening(await web.open(MODERN), 1, **ALL)
        stream.leave()
        await stream.done()

        assert (len(server.listeners), len(server.listeners.streams)) == (0, 0)


async def test_a_server_that_ends_completes_its_streams_and_waits_for_none() -> None:
    """SUB-09: with the result, tagged, and what was told before; no cancellation is sent over HTTP (AMB-01)."""
    server = offering()
    async with serving(server) as web:
        streams = [(await listening(await web.open(MODERN), id, **ALL))[0] for id in (1, "x")]
        await server.notify_tools_list_changed()
        for stream in streams:
            assert (await stream.message())["method"] == TOOLS
        await web.app.aclose(drain=600.0)

        for stream, id in zip(streams, (1, "x"), strict=True):
            reply = await stream.reply()
            assert (reply["id"], reply["result"]["resultType"]) == (id, "complete")
            assert reply["result"]["_meta"][ID] == id
            assert len(stream.messages) == 3
        assert len(server.listeners.streams) == 0


async def test_a_reader_that_stalls_delays_nobody_and_gets_each_change_once_when_it_reads() -> None:
    server = offering()
    async with serving(server) as web:
        slow, _ = await listening(await web.open(MODERN), 1, **ALL)
        quick, _ = await listening(await web.open(MODERN), 2, **ALL)
        await server.notify_tools_list_changed()
        assert (await quick.message())["method"] == TOOLS
        assert (await slow.message())["method"] == TOOLS
        slow.stall()
        for _ in range(30):
            await server.notify_tools_list_changed()
            await server.notify_resource_updated("a://b")
            assert {(await quick.message())["method"] for _ in range(2)} == {TOOLS, UPDATED}
        slow.go_on()
        later = [(await slow.message())["method"] for _ in range(2)]
        await anyio.wait_all_tasks_blocked()

        assert set(later) <= {TOOLS, UPDATED}
        assert len(slow.messages) <= 2 + 2 + 2  # what was on its way, and what was kept meanwhile


async def test_a_stream_whose_reader_stalls_does_not_keep_the_server_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dedalus_mcp.server.subscriptions.ENDING_SECONDS", 0.05)
    monkeypatch.setattr("dedalus_mcp_transports.http_service.CLOSING_SECONDS", 0.05)
    server = offering()
    async with serving(server) as web:
        stream, _ = await listening(await web.open(MODERN), 1, **ALL)
        stream.stall()
        await server.notify_tools_list_changed()
        await anyio.wait_all_tasks_blocked()
        await web.app.aclose(drain=600.0)

        assert len(server.listeners.streams) == 0


async def test_a_silent_stream_is_kept_alive_with_comments() -> None:
    """SUB-13."""
    async with serving(offering(), keep_alive_seconds=0.01) as web:
        stream, _ = await listening(await web.open(MODERN), 1, toolsListChanged=True)
        await stream.until(lambda: stream.comments >= 3)

        assert len(stream.messages) == 1


async def test_where_only_single_replies_are_given_nothing_is_promised_and_no_stream_opened() -> None:
    """DISC-05, AMB-40; a legacy session still has its GET stream."""
    server = offering()
    async with serving(server, json_only=True) as web:
        client = await web.open(MODERN)
        found = (await client.call(1, "server/discover"))["result"]["capabilities"]
        assert (found["tools"], found["resources"]) == ({}, {})
        refused = await client.begin(2, "subscriptions/listen", notifications=ALL).ended()
        assert refusal(refused) == (404, -32601, 2)
        assert "single JSON replies" in refused.messages[0]["error"]["message"]

        legacy = await web.open("2025-11-25")
        stream = await legacy.get()
        server.tools.remove("two")
        assert (await stream.message())["method"] == TOOLS


async def test_what_is_promised_is_what_is_kept_in_each_era() -> None:
    """DISC-05, LIFE-04."""
    async with serving(offering()) as web:
        modern = (await (await web.open(MODERN)).call(1, "server/discover"))["result"]["capabilities"]
        legacy = (await web.client().initialize("2025-06-18")).messages[0]["result"]["capabilities"]

    for found in (modern, legacy):
        assert found["tools"] == {"listChanged": True}
        assert found["resources"] == {"listChanged": True, "subscribe": True}
        assert "prompts" not in found


async def test_too_many_streams_are_refused_and_a_place_is_free_again_when_one_ends() -> None:
    async with serving(offering(max_listens=1)) as web:
        client = await web.open(MODERN)
        stream, _ = await listening(client, 1)
        reply = await client.call(2, "subscriptions/listen", notifications={})
        assert reply["error"]["code"] == -32603
        stream.leave()
        await stream.done()
        await listening(client, 3)


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_legacy_session_hears_on_its_get_stream(revision: str) -> None:
    """RES-11, TOOL-20, HTTP-44: what came before it was opened, too; and nothing carries an id of a subscription."""
    server = offering()
    async with serving(server) as web:
        client, other = await web.open(revision), await web.open(revision)
        assert (await client.call(1, "resources/subscribe", uri="a://b"))["result"] == {}
        server.tools.remove("two")
        stream, others = await client.get(), await other.get()
        assert await stream.message() == {"jsonrpc": "2.0", "method": TOOLS}
        assert await others.message() == {"jsonrpc": "2.0", "method": TOOLS}
        await server.notify_resource_updated("a://b")
        assert await stream.message() == {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": "a://b"}}
        await server.notify_tools_list_changed()
        assert (await others.message())["method"] == TOOLS

        await client.delete()
        await other.delete()
        assert len(server.listeners) == 0


async def test_an_expired_session_hears_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    server, skew = offering(), Skew(monkeypatch)
    async with serving(server, session_idle_seconds=100.0) as web:
        for _ in range(5):
            await web.client().initialize("2025-11-25")
            skew.seconds += 200
        await web.client().initialize("2025-11-25")

        assert len(server.listeners) <= 2  # the lists of one session
