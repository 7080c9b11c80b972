"""`HttpConnection`: what each call becomes on the wire, and what becomes of it when HTTP goes wrong."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import MCPClient, McpError, RequestTimeout
from dedalus_mcp.errors import (
    AuthRequiredError,
    BadRequestError,
    ConnectionLost,
    ForbiddenError,
    LocalProtocolError,
    MCPConnectionError,
    RemoteProtocolError,
    ServerError,
    SessionExpiredError,
    TransportError,
)
from dedalus_mcp_transports.http_client import StreamableHttp
from dedalus_mcp_transports.http_stream import Reconnect
from tests.client.counting import back_to, living_tasks
from tests.transports.scripted_http import SESSION, Asked, Script, Talk, event, legacy, scripted

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
EMPTY: dict[str, Any] = {"content": []}
SOON = Reconnect(attempts=2, first=0.01)


def answering(then: Script, revision: str = LEGACY) -> Script:
    """A server of one revision whose tool calls do what `then` says."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover" and revision == MODERN:
            await talk.result({"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}}})
        elif not await legacy(asked, talk, revision=revision):
            await then(asked, talk)

    return script


def target(url: str, **settings: Any) -> StreamableHttp:
    return StreamableHttp(url, reconnect=SOON, **settings)


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


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, MCPConnectionError),
        (400, BadRequestError),
        (401, AuthRequiredError),
        (402, MCPConnectionError),
        (403, ForbiddenError),
        (405, TransportError),
        (413, MCPConnectionError),
        (422, BadRequestError),
        (429, MCPConnectionError),
        (503, ServerError),
    ],
)
async def test_a_refused_call_fails_alone_with_what_the_server_said(
    status: int, kind: type[MCPConnectionError], revision: str
) -> None:
    """B154, HTTP-73."""

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.message["params"]["name"] == "good":
            await talk.result({**EMPTY, "resultType": "complete"})
        else:
            body = {"message": "Invalid parameter xyz"}
            await talk.answer(status, body, retry_after="7", www_authenticate='Bearer realm="x"')

    async with scripted(answering(then, revision)) as server, MCPClient.connect(target(server.url)) as client:
        with pytest.raises(MCPConnectionError) as raised:
            await client.call_tool("bad")
        await client.call_tool("good")

    error = raised.value
    assert type(error) is kind
    assert isinstance(error, ConnectionError)
    assert error.status_code == status
    assert error.retry_after == 7
    assert str(error).startswith(f"[{status}] ")
    assert "Invalid parameter xyz" in str(error)
    assert server.url in str(error)
    if isinstance(error, AuthRequiredError):
        assert error.www_authenticate == 'Bearer realm="x"'
    assert server.count("tools/call") == 2


@pytest.mark.parametrize("body", [b"<html>" + b"x" * (10 << 20), b"\xff\xfe\x00" * 9])
async def test_the_body_of_a_refusal_is_told_in_part(body: bytes) -> None:
    """B154."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.answer(400, body, content_type="text/html")

    async with scripted(answering(then)) as server, MCPClient.connect(target(server.url)) as client:
        with pytest.raises(BadRequestError) as raised:
            await client.call_tool("t")

    assert len(str(raised.value)) < 2000


async def test_a_refusal_whose_body_never_ends_fails_soon() -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        await talk.raw(b"HTTP/1.1 500 Oh\r\ncontent-length: 99\r\n\r\nsome")
        await talk.gone()

    async with scripted(answering(then)) as server, MCPClient.connect(target(server.url)) as client:
        with pytest.raises(ServerError, match=r"\[500\] Oh by .*: some"):
            await client.call_tool("t")


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_a_json_rpc_error_is_the_peers_whatever_its_status(status: int) -> None:
    """HTTP-60: its status is told by the cause."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.refuse(status, -32601, "no such method", {"a": 1})

    async with scripted(answering(then, MODERN)) as server, MCPClient.connect(target(server.url)) as client:
        with pytest.raises(McpError) as raised:
            await client.call_tool("t")

    assert (raised.value.code, raised.value.message, raised.value.data) == (-32601, "no such method", {"a": 1})
    cause = raised.value.__cause__
    if status == 200:
        assert cause is None
    else:
        assert isinstance(cause, MCPConnectionError)
        assert cause.status_code == status


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"{", "application/json"),
        (b"", "application/json"),
        (b"[]", "application/json"),
        (b"<html>", "text/html"),
        (b'{"jsonrpc":"2.0","id":999,"result":{}}', "application/json"),
        (b'{"jsonrpc":"2.0","method":"ping","id":2}', "application/json"),
        (b"\xff", "application/json"),
        (b"[" * 100_000, "application/json"),
    ],
    ids=range(8),
)
async def test_an_answer_without_the_reply_fails_its_call(body: bytes, media: str) -> None:
    """A 200 that is no MCP never hangs."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.answer(200, body, content_type=media)

    async with scripted(answering(then)) as server, MCPClient.connect(target(server.url), timeout=None) as client:
        with pytest.raises(TransportError, match=r"\[200\] no MCP in the answer of"):
            await client.call_tool("t")


@pytest.mark.parametrize("streams", [True, False])
async def test_a_reply_that_is_too_long_fails_its_call(streams: bool) -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        reply = talk.reply({"content": [{"type": "text", "text": "x" * 5000}]})
        if streams:
            await talk.stream(event(reply))
            await talk.gone()
        else:
            await talk.answer(200, reply)

    async with scripted(answering(then)) as server, MCPClient.connect(target(server.url, max_message=2000)) as client:
        with pytest.raises(RemoteProtocolError, match="longer than 2000 bytes"):
            await client.call_tool("t")


@BOTH
@pytest.mark.parametrize("how", ["comment", "garbage", "cut", "silent", "half a head"])
async def test_a_connection_that_ends_before_the_reply_fails_the_call(how: str, revision: str) -> None:
    """B035: without a timeout, at once, as one that may have run; AMB-30: and it is not sent again."""

    async def then(asked: Asked, talk: Talk) -> None:
        if how == "comment":
            await talk.stream(b": ping\n\n")
        elif how == "garbage":
            await talk.stream(b"data: {\n\n")
        elif how == "cut":
            await talk.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{")
        elif how == "half a head":
            await talk.raw(b"HTTP/1.1 200 O")

    async with (
        scripted(answering(then, revision)) as server,
        MCPClient.connect(target(server.url), timeout=None) as client,
    ):
        with pytest.raises(MCPConnectionError) as raised:
            await client.call_tool("t")

    assert raised.value.begun
    assert raised.value.status_code is None
    assert server.count("tools/call") == 1
    assert server.count("GET") <= 1


async def test_a_legacy_stream_that_breaks_is_resumed_where_it_broke() -> None:
    """HTTP-34, HTTP-38, HTTP-39: also twice, and the reply comes on the second."""
    calls: list[Asked] = []

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "GET" and "last-event-id" in asked.headers:
            if asked.headers["last-event-id"] == "a":
                await talk.stream(event(None, "b"))
            else:
                reply = {"jsonrpc": "2.0", "id": calls[0].message["id"], "result": EMPTY}
                await talk.stream(event(reply, "c"))
        elif not await legacy(asked, talk):
            calls.append(asked)
            await talk.stream(b"retry: 10\n", event(None, "a"))

    async with scripted(script) as server, MCPClient.connect(target(server.url), timeout=None) as client:
        assert (await client.call_tool("t")).content == []

    resumed = [asked for asked in server.asked if "last-event-id" in asked.headers]
    assert [asked.headers["last-event-id"] for asked in resumed] == ["a", "b"]
    assert {asked.headers["mcp-session-id"] for asked in resumed} == {SESSION}


@pytest.mark.parametrize(("status", "gets"), [(404, 1), (400, 1), (503, 2)])
async def test_a_stream_that_cannot_be_resumed_fails_its_call_after_bounded_attempts(status: int, gets: int) -> None:
    """B035."""

    async def script(asked: Asked, talk: Talk) -> None:
        if "last-event-id" in asked.headers:
            await talk.answer(status, b"gone")
        elif not await legacy(asked, talk):
            await talk.stream(b"retry: 10\n", event(None, "a"))

    async with scripted(script) as server, MCPClient.connect(target(server.url, listen=False), timeout=None) as client:
        with pytest.raises(MCPConnectionError) as raised:
            await client.call_tool("t")

    assert raised.value.status_code == status
    assert raised.value.begun
    assert isinstance(raised.value, SessionExpiredError) == (status == 404)
    assert server.count("GET") == gets
    assert server.count("tools/call") == 1


async def test_a_modern_stream_is_never_resumed() -> None:
    """AMB-30."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.stream(event(None, "a"))

    async with (
        scripted(answering(then, MODERN)) as server,
        MCPClient.connect(target(server.url), timeout=None) as client,
    ):
        with pytest.raises(MCPConnectionError, match="ended the stream before the reply"):
            await client.call_tool("t")

    assert server.count("GET") == 0


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_without_a_get_stream_is_asked_once(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """B037."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "GET":
            await talk.answer(status)
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    with caplog.at_level(logging.INFO, "dedalus_mcp"):
        async with scripted(script) as server, MCPClient.connect(target(server.url)) as client:
            await server.until("GET")
            await wait_all_tasks_blocked()
            await client.call_tool("t")

    assert server.count("GET") == 1
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


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


async def test_a_get_stream_that_ends_again_and_again_is_given_up() -> None:
    """B091: calls still work."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "GET":
            await talk.stream(b"retry: 10\n\n")
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    async with scripted(script) as server, MCPClient.connect(target(server.url)) as client:
        await server.until("GET", 1 + SOON.attempts)
        await wait_all_tasks_blocked()
        await client.call_tool("t")

    assert server.count("GET") == 1 + SOON.attempts


async def test_without_attempts_there_is_one_get() -> None:
    """B091."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "GET":
            await talk.stream()
        elif not await legacy(asked, talk):
            await talk.result(EMPTY)

    async with scripted(script) as server:
        reconnect = Reconnect(attempts=0)
        async with MCPClient.connect(StreamableHttp(server.url, reconnect=reconnect)) as client:
            await server.until("GET")
            await wait_all_tasks_blocked()
            await client.call_tool("t")

    assert server.count("GET") == 1


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
        with anyio.fail_after(3):
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


async def test_a_session_id_that_is_not_legal_fails_the_handshake() -> None:
    """HTTP-41."""

    async def script(asked: Asked, talk: Talk) -> None:
        await legacy(asked, talk, session="not legal")

    async with scripted(script) as server:
        with pytest.raises(RemoteProtocolError, match="Mcp-Session-Id is not legal"):
            await MCPClient.connect(target(server.url))


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
            await client.call_tool("\ud800")

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


async def test_responses_are_closed_on_every_path() -> None:
    """B088: two connections carry many calls, a tenth of them on streams with garbage."""
    import httpx  # noqa: PLC0415 - the one test that brings a client of its own

    count = 0

    async def then(asked: Asked, talk: Talk) -> None:
        nonlocal count
        count += 1
        if count % 10:
            await talk.result({**EMPTY, "resultType": "complete"})
        else:
            await talk.stream(b"data: {\n\n")

    limits = httpx.Limits(max_connections=2)
    good = bad = 0
    async with scripted(answering(then, MODERN)) as server, httpx.AsyncClient(limits=limits, trust_env=False) as http:
        async with MCPClient.connect(target(server.url, http_client=http)) as client:

            async def call() -> None:
                nonlocal good, bad
                try:
                    await client.call_tool("t")
                    good += 1
                except MCPConnectionError:
                    bad += 1

            async with anyio.create_task_group() as group:
                for _ in range(100):
                    group.start_soon(call)
        assert not http.is_closed
        assert server.most <= 2

    assert (good, bad) == (90, 10)
