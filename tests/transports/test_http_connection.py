"""`HttpConnection`: what each call becomes on the wire, and what becomes of it when HTTP goes wrong."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import MCPClient, McpError, RequestTimeout
from dedalus_mcp.errors import (
    ConnectionLost,
    LocalProtocolError,
)
from dedalus_mcp_transports.http_client import StreamableHttp
from dedalus_mcp_transports.http_stream import Reconnect
from tests.client.counting import back_to, living_tasks
from tests.transports.scripted_http import SESSION, Asked, Talk, answering, event, legacy, scripted

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
EMPTY: dict[str, Any] = {"content": []}
SOON = Reconnect(attempts=2, first=0.01)


def target(url: str, **settings: Any) -> StreamableHttp:
    given: dict[str, Any] = {"reconnect": SOON, "listen": True, **settings}
    return StreamableHttp(url, **given)


BOTH = pytest.mark.parametrize("revision", [LEGACY, MODERN])


async def test_a_legacy_session_says_who_it_is_in_every_request() -> None:
    """HTTP-09, HTTP-42, HTTP-47, LIFE-06, VER-13."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result(EMPTY)

    async with scripted(answering(then)) as server:
        async with MCPClient.connect(target(server.url, headers={"X-Key": "k"})) as client:
            await client.call_tool("t")
            await server.until("GET")
        said = {asked.what: asked for asked in server.asked}

    assert [a.what for a in server.asked if a.what != "GET"] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "DELETE",
    ]
    for asked in server.asked:
        assert asked.headers["x-key"] == "k"
        if asked.method == "POST":
            assert asked.headers["accept"] == "application/json, text/event-stream"
            assert asked.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in said["initialize"].headers
    assert "mcp-protocol-version" not in said["initialize"].headers
    assert "mcp-method" not in said["initialize"].headers
    for what in ("notifications/initialized", "GET", "tools/call", "DELETE"):
        assert said[what].headers["mcp-session-id"] == SESSION
        assert said[what].headers["mcp-protocol-version"] == LEGACY
    assert said["GET"].headers["accept"] == "text/event-stream"


async def test_a_modern_request_says_in_headers_what_it_says_in_its_body() -> None:
    """HTTP-50, HTTP-53, HTTP-54, HTTP-55: and no session, no GET, no DELETE."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result({**EMPTY, "resultType": "complete"}, mcp_session_id="not-wanted")

    async with scripted(answering(then, MODERN)) as server, MCPClient.connect(target(server.url)) as client:
        await client.call_tool("größe")

    first, call = server.asked
    assert first.headers["mcp-method"] == "server/discover"
    assert call.headers["mcp-protocol-version"] == MODERN
    assert call.headers["mcp-method"] == "tools/call"
    assert call.headers["mcp-name"] == "=?base64?Z3LDtsOfZQ==?="
    assert "mcp-session-id" not in call.headers


@BOTH
async def test_a_reply_may_come_as_json_or_on_a_stream_after_notices(revision: str) -> None:
    """HTTP-15, HTTP-25, B086: whatever else the stream holds, and however it was cut."""
    noise = b": comment\n\nretry: 10\n\nid: 1\ndata:\n\nevent: ping\ndata: x\n\n"

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.message["params"]["name"] == "json":
            await talk.result({**EMPTY, "resultType": "complete"})
            return
        token = asked.message["params"]["_meta"]["progressToken"]
        notice = {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1},
        }
        whole = noise + event(notice) + event(talk.reply({**EMPTY, "resultType": "complete"}))
        await talk.stream()
        for i in range(len(whole)):
            await talk.raw(whole[i : i + 1])

    heard: list[float] = []
    async with scripted(answering(then, revision)) as server, MCPClient.connect(target(server.url)) as client:
        assert (await client.call_tool("json")).content == []
        assert (await client.call_tool("stream", progress=lambda told: heard.append(told.progress))).content == []

    assert heard == [1]


@BOTH
async def test_a_slow_call_holds_up_no_other(revision: str) -> None:
    release = anyio.Event()

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.message["params"]["name"] == "slow":
            await release.wait()
        await talk.result({**EMPTY, "resultType": "complete"})

    async with (
        scripted(answering(then, revision)) as server,
        MCPClient.connect(target(server.url)) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(client.call_tool, "slow")
        await server.until("tools/call")
        for _ in range(3):
            await client.call_tool("quick")
        release.set()


async def test_what_the_server_says_by_itself_is_heard_and_answered() -> None:
    """HTTP-26, LIFE-11: its ping comes on the GET stream, the answer goes out by POST."""
    pinged = anyio.Event()

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "GET":
            await talk.stream(event({"jsonrpc": "2.0", "id": "p1", "method": "ping"}))
            await talk.gone()
        elif asked.message.get("id") == "p1":
            assert asked.message["result"] == {}
            await talk.answer(202)
            pinged.set()
        else:
            await legacy(asked, talk)

    async with scripted(script) as server, MCPClient.connect(target(server.url)):
        await pinged.wait()


async def test_a_modern_call_is_cancelled_by_closing_its_stream_alone() -> None:
    left = anyio.Event()

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.stream(b": hold\n\n")
        await talk.gone()
        left.set()

    async with scripted(answering(then, MODERN)) as server, MCPClient.connect(target(server.url)) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool("t", timeout=0.05)
        await left.wait()
        await wait_all_tasks_blocked()

    assert [asked.what for asked in server.asked] == ["server/discover", "tools/call"]


async def test_a_legacy_call_is_cancelled_by_a_notice_and_then_left() -> None:
    left = anyio.Event()

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.stream(b": hold\n\n")
        await talk.gone()
        left.set()

    async with scripted(answering(then)) as server:
        async with MCPClient.connect(target(server.url)) as client:
            with pytest.raises(RequestTimeout):
                await client.call_tool("t", timeout=0.05)
            await left.wait()
        cancelled = await server.until("notifications/cancelled")

    call = next(asked for asked in server.asked if asked.what == "tools/call")
    assert cancelled.message["params"]["requestId"] == call.message["id"]


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_any_success_will_do_for_a_notice(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """B089, HTTP-12."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "notifications/initialized":
            await talk.answer(status)
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    async with scripted(script) as server, MCPClient.connect(target(server.url)) as client:
        await client.call_tool("t")

    assert caplog.records == []


async def test_a_notice_that_is_refused_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """HTTP-13."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "notifications/initialized":
            await talk.answer(400, b"no")
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    async with scripted(script) as server, MCPClient.connect(target(server.url)) as client:
        await client.call_tool("t")

    assert "notifications/initialized did not arrive: [400]" in caplog.text


@pytest.mark.parametrize("status", [200, 204, 404, 405, 500])
async def test_closing_takes_any_answer_to_delete(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """B089, HTTP-46."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "DELETE":
            await talk.answer(status)
        else:
            await legacy(asked, talk)

    before = living_tasks()
    async with scripted(script) as server:
        client = await MCPClient.connect(target(server.url))
        await client.close()
        await client.close()
        assert server.count("DELETE") == 1
    await back_to(before)
    assert caplog.records == []


async def test_closing_does_not_wait_for_a_server_that_never_answers() -> None:
    """B040: nor for an open stream."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "DELETE":
            await talk.gone()
        elif asked.what == "GET":
            await talk.stream(b": hold\n\n")
            await talk.gone()
        else:
            await legacy(asked, talk)

    async with scripted(script) as server:
        client = await MCPClient.connect(target(server.url))
        await server.until("GET")
        with anyio.fail_after(20):
            await client.close()


async def test_closing_fails_open_calls() -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        await talk.gone()

    async with scripted(answering(then, MODERN)) as server:
        client = await MCPClient.connect(target(server.url))

        async def call() -> None:
            with pytest.raises(ConnectionLost, match="the client was closed"):
                await client.call_tool("t")

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await server.until("tools/call")
            await client.close()


@pytest.mark.parametrize(("session", "status", "told"), [(SESSION, 204, 0), (SESSION, 405, 2), (None, 405, 2)])
async def test_closing_cancels_open_calls_where_there_is_no_session_to_end(
    session: str | None, status: int, told: int
) -> None:
    """CANC-01: a server without sessions would go on with them for ever; one that is about to be told is told too."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "DELETE":
            await talk.answer(status)
        elif not await legacy(asked, talk, session=session):
            await talk.gone()

    async with scripted(script) as server:
        client = await MCPClient.connect(target(server.url))
        open_call = client.start(client.call_tool, "t")
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "t")
            await server.until("tools/call", 2)
            group.cancel_scope.cancel()  # its cancellation is under way when the connection ends
        await client.close()
        with pytest.raises(ConnectionLost):
            await open_call
        await wait_all_tasks_blocked()

    calls = {asked.message["id"] for asked in server.asked if asked.what == "tools/call"}
    cancelled = [asked for asked in server.asked if asked.what == "notifications/cancelled"]
    assert server.count("DELETE") == (session is not None)
    assert {asked.message["params"]["requestId"] for asked in cancelled} <= calls
    assert len({asked.message["params"]["requestId"] for asked in cancelled}) >= told
    assert {asked.headers.get("mcp-session-id") for asked in cancelled} <= {session}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_a_server_that_answers_initialize_on_a_stream_has_a_session_too(revision: str) -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "initialize":
            result = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
            await talk.stream(event(talk.reply(result)), mcp_session_id=SESSION)
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    async with scripted(script) as server:
        async with MCPClient.connect(target(server.url)) as client:
            await client.call_tool("t")
            assert client.revision == revision
        call = await server.until("tools/call")

    assert call.headers["mcp-session-id"] == SESSION
    assert call.headers.get("mcp-protocol-version") == (revision if revision == "2025-06-18" else None)


async def test_arguments_are_mirrored_by_the_schema_that_was_listed() -> None:
    """HTTP-61, HTTP-62, HTTP-68: a tool with a wrong annotation is not offered."""
    number = {"type": "integer", "x-mcp-header": "Number"}
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "n": number}}
    wrong = {"type": "object", "properties": {"list": {"type": "array", "x-mcp-header": "List"}}}
    tools = [{"name": "t", "inputSchema": schema}, {"name": "wrong", "inputSchema": wrong}]

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result({"resultType": "complete", "tools": tools, "content": []})

    async with scripted(answering(then, MODERN)) as server, MCPClient.connect(target(server.url)) as client:
        await client.call_tool("t", {"region": "eu"})
        assert [tool.name for tool in (await client.list_tools()).tools] == ["t"]
        await client.call_tool("t", {"region": "ü"})
        await client.call_tool("t", {"region": None})
        with pytest.raises(LocalProtocolError, match="cannot be sent over HTTP"):
            await client.call_tool("t", {"n": 2**60})

    calls = [asked.headers.get("mcp-param-region") for asked in server.asked if asked.what == "tools/call"]
    assert calls == [None, "=?base64?w7w=?=", None]


async def test_a_call_refused_for_its_mirrored_arguments_is_made_again_with_the_newest_schema() -> None:
    """HTTP-67: once."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.what == "tools/list":
            await talk.result({"resultType": "complete", "tools": [{"name": "t", "inputSchema": schema}]})
        elif asked.headers.get("mcp-param-region") == "eu":
            await talk.result({"resultType": "complete", "content": []})
        else:
            await talk.refuse(400, -32020, "header 'Mcp-Param-Region' is missing")

    async with scripted(answering(then, MODERN)) as server, MCPClient.connect(target(server.url)) as client:
        assert (await client.call_tool("t", {"region": "eu"})).content == []
        with pytest.raises(McpError, match="missing"):
            await client.call_tool("t", {"region": "us"})

    assert server.count("tools/list") == 2
    assert server.count("tools/call") == 4


def hears(told: Any) -> None:
    """A callback that cares for nothing."""


def answers(asked: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("handlers", "gets"),
    [
        ({}, 0),
        ({"resource_updated": hears}, 0),
        ({"logging": hears}, 1),
        ({"tools_list_changed": hears}, 1),
        ({"resources_list_changed": hears}, 1),
        ({"elicitation": answers}, 1),
        ({"sampling": answers}, 1),
        ({"roots": []}, 1),
    ],
)
async def test_a_stream_is_kept_open_where_somebody_listens(handlers: dict[str, Any], gets: int) -> None:
    """HTTP-26, B037: a server is not kept busy for nobody."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result(EMPTY)

    async with scripted(answering(then)) as server, MCPClient.connect(server.url, **handlers) as client:
        await client.call_tool("t")
        if gets:
            await server.until("GET")

    assert server.count("GET") == gets


async def test_the_first_subscription_opens_the_stream_before_it_is_sent() -> None:
    """HTTP-26."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result({})

    async with scripted(answering(then)) as server, MCPClient.connect(server.url) as client:
        await client.ping()
        for uri in ("r://a", "r://b"):
            await client.subscribe_resource(uri)
        await server.until("GET")

    assert server.count("GET") == 1


async def test_no_stream_is_kept_open_where_that_is_not_wanted() -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result({})

    async with scripted(answering(then)) as server:
        silent = target(server.url, listen=False)
        async with MCPClient.connect(silent, logging=hears) as client:
            await client.subscribe_resource("r://a")

    assert server.count("GET") == 0
