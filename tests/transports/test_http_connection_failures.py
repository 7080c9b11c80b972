"""`HttpConnection` when HTTP goes wrong: one call fails, soon and typed, and all others go on."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import MCPClient, McpError
from dedalus_mcp.errors import (
    AuthRequiredError,
    BadRequestError,
    ForbiddenError,
    MCPConnectionError,
    RemoteProtocolError,
    ServerError,
    SessionExpiredError,
    TransportError,
)
from dedalus_mcp_transports.http_client import StreamableHttp
from dedalus_mcp_transports.http_stream import Reconnect
from tests.transports.scripted_http import SESSION, Asked, Talk, answering, event, legacy, scripted

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
EMPTY: dict[str, Any] = {"content": []}
SOON = Reconnect(attempts=2, first=0.01)


def target(url: str, **settings: Any) -> StreamableHttp:
    given: dict[str, Any] = {"reconnect": SOON, "listen": True, **settings}
    return StreamableHttp(url, **given)


BOTH = pytest.mark.parametrize("revision", [LEGACY, MODERN])


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
        async with MCPClient.connect(target(server.url, reconnect=reconnect)) as client:
            await server.until("GET")
            await wait_all_tasks_blocked()
            await client.call_tool("t")

    assert server.count("GET") == 1


async def test_a_session_id_that_is_not_legal_fails_the_handshake() -> None:
    """HTTP-41."""

    async def script(asked: Asked, talk: Talk) -> None:
        await legacy(asked, talk, session="not legal")

    async with scripted(script) as server:
        with pytest.raises(RemoteProtocolError, match="Mcp-Session-Id is not legal"):
            await MCPClient.connect(target(server.url))


async def garbage(talk: Talk, number: int) -> None:
    """Answer a call with anything but its reply."""
    match number % 5:
        case 0:
            await talk.stream(b"data: {\n\n")
        case 1:
            await talk.answer(200, b"{", content_type="application/json")
        case 2:
            await talk.answer(200)
        case 3:
            await talk.answer(501, b"x" * 100_000)
        case _:
            await talk.stream(b": nothing\n\n")


@BOTH
async def test_responses_are_closed_on_every_path(revision: str) -> None:
    """B088: two connections carry many calls and notices, a tenth of them with garbage for an answer."""
    import httpx  # noqa: PLC0415 - the one test that brings a client of its own

    count = 0

    async def then(asked: Asked, talk: Talk) -> None:
        nonlocal count
        if asked.what.startswith("notifications/"):
            await talk.answer(202, b"a body that nobody needs")
            return
        count += 1
        if count % 10:
            await talk.result({**EMPTY, "resultType": "complete"})
        else:
            await garbage(talk, count // 10)

    limits = httpx.Limits(max_connections=2)
    good = bad = 0
    async with scripted(answering(then, revision)) as server, httpx.AsyncClient(limits=limits, trust_env=False) as http:
        own = target(server.url, http_client=http, listen=False)
        async with MCPClient.connect(own, revision=revision, roots=[]) as client:

            async def call() -> None:
                nonlocal good, bad
                await client.notify_roots_list_changed()
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
