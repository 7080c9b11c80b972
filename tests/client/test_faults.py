"""What the caller of a client sees when the other side fails: at once, with what is known, and the client lives on."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, RequestTimeout
from dedalus_mcp.client.delivery import MAX_WAITING
from dedalus_mcp.errors import (
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
    ServerError,
    SessionExpiredError,
    TransportError,
)
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import opened, text
from tests.transports.scripted_http import Asked, Script, Talk, answering, event, scripted

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
BOTH = pytest.mark.parametrize("revision", [LEGACY, MODERN])
PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def works(talk: Talk) -> Any:
    return talk.result({"content": [], "resultType": "complete"})


@asynccontextmanager
async def failing_once(fail: Script, revision: str, **settings: Any) -> AsyncGenerator[MCPClient]:
    """A client of a server whose first call of a tool fails so, and whose others work."""
    failed = False

    async def then(asked: Asked, talk: Talk) -> None:
        nonlocal failed
        if failed:
            await works(talk)
        else:
            failed = True
            await fail(asked, talk)

    given: Any = {"timeout": None, **settings}
    async with scripted(answering(then, revision)) as server, MCPClient.connect(server.url, **given) as client:
        yield client


@BOTH
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (409, MCPConnectionError),
        (413, MCPConnectionError),
        (418, MCPConnectionError),
        (429, MCPConnectionError),
        (500, ServerError),
        (502, ServerError),
        (503, ServerError),
    ],
)
async def test_a_status_with_a_page_of_html_is_an_error_that_says_both(
    status: int, error: type[MCPConnectionError], revision: str
) -> None:
    """B041: and no timeout; whether a tool ran nobody knows, so it is not called again."""
    calls = 0

    async def fail(asked: Asked, talk: Talk) -> None:
        nonlocal calls
        calls += 1
        await talk.answer(status, PAGE, content_type="text/html", retry_after="7")

    async with failing_once(fail, revision) as client:
        with pytest.raises(error, match="nginx") as raised:
            await client.call_tool("t")
        assert (raised.value.status_code, raised.value.retry_after, raised.value.begun) == (status, 7, False)
        assert not isinstance(raised.value, RequestTimeout | ConnectionLost)
        assert str(status) in str(raised.value)
        assert (await client.call_tool("t")).content == []
    assert calls == 1


async def test_a_404_is_a_lost_session_where_there_is_one_and_no_endpoint_where_there_is_none() -> None:
    """B041."""

    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.answer(404, PAGE, content_type="text/html")

    async with failing_once(fail, MODERN) as client:
        with pytest.raises(TransportError, match="nginx") as raised:
            await client.call_tool("t")
        assert not isinstance(raised.value, SessionExpiredError)
        assert (await client.call_tool("t")).content == []
    async with failing_once(fail, LEGACY) as client:
        assert (await client.call_tool("t")).content == []  # in a new session


JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
CUTS = {
    "before the head": b"",
    "in the head": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "in a json body": JSON + b'{"jsonrpc": "2.0", ',
    "in an event": STREAM + b'data: {"jsonrpc": "2.0", ',
    "after a comment": STREAM + b": soon\n\n",
}


@BOTH
@pytest.mark.parametrize("cut", CUTS)
async def test_a_connection_that_is_cut_anywhere_fails_its_call_at_once(cut: str, revision: str) -> None:
    """B035: without a timeout."""

    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.raw(CUTS[cut])

    async with failing_once(fail, revision) as client:
        with pytest.raises(MCPConnectionError, match=r"127\.0\.0\.1"):
            await client.call_tool("t")
        assert (await client.call_tool("t")).content == []


GARBAGE: dict[str, tuple[bytes, str, type[Exception]]] = {
    "a page": (PAGE, "text/html", TransportError),
    "no json": (b"{not json", "application/json", TransportError),
    "json that is no message": (b'{"ok": true}', "application/json", TransportError),
    "a list": (b"[1, 2]", "application/json", TransportError),
    "another call's reply": (b'{"jsonrpc":"2.0","id":"x","result":{}}', "application/json", TransportError),
    "bytes": (b"\xff\xfe\x00", "application/octet-stream", TransportError),
    "nothing": (b"", "application/json", TransportError),
}


@BOTH
@pytest.mark.parametrize("what", GARBAGE)
async def test_an_answer_that_is_garbage_fails_its_call_at_once(what: str, revision: str) -> None:
    body, media, error = GARBAGE[what]

    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.answer(200, body, content_type=media)

    async with failing_once(fail, revision) as client:
        with pytest.raises(error):
            await client.call_tool("t")
        assert (await client.call_tool("t")).content == []


@BOTH
async def test_events_that_are_garbage_are_skipped_and_the_reply_behind_them_is_taken(revision: str) -> None:
    """B086: comments, pings, empty data and what is no message."""

    async def fail(asked: Asked, talk: Talk) -> None:
        rubbish = [b": x\n\n", b"event: ping\ndata: x\n\n", b"data:\n\n", b"data: {not json\n\n", b"retry: x\n\n"]
        await talk.stream(*rubbish, event(talk.reply({"content": [], "resultType": "complete"})))

    async with failing_once(fail, revision) as client:
        assert (await client.call_tool("t")).content == []


@BOTH
async def test_a_result_of_another_shape_is_the_servers_fault(revision: str) -> None:
    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": 7, "resultType": "complete"})

    async with failing_once(fail, revision) as client:
        with pytest.raises(RemoteProtocolError, match="the result of 'tools/call' is not legal"):
            await client.call_tool("t")
        assert (await client.call_tool("t")).content == []


@BOTH
async def test_a_server_that_never_answers_runs_out_of_time_and_is_told(revision: str) -> None:
    """CANC-13: a legacy one by a notice, a modern one by the end of the request."""

    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.gone()

    async with failing_once(fail, revision) as client:
        with pytest.raises(RequestTimeout, match=r"no answer to 'tools/call' within "):
            await client.call_tool("t", timeout=0.05)
        assert (await client.call_tool("t")).content == []


async def test_nobody_behind_the_address_is_said_so() -> None:
    with anyio.fail_after(20), pytest.raises(MCPConnectionError, match=r"cannot reach .*127\.0\.0\.1:1"):
        await MCPClient.connect("http://127.0.0.1:1/mcp")


@BOTH
async def test_a_flood_of_notices_costs_no_reply_and_so_much_memory_at_most(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The callback is slow, or stuck: the newest are worth more than the oldest, and the log says so once."""
    stuck, levels = anyio.Event(), Heard[str]()

    async def hear(message: Any) -> None:
        await stuck.wait()
        levels(message.data)

    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        message = await raw.hear()
        flood = [
            {"method": "notifications/message", "params": {"level": "info", "data": str(number)}}
            for number in range(5 * MAX_WAITING)
        ]
        await raw.say(*flood, {"id": message["id"], "result": text(revision, "done")})
        await raw.hear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            target = Scripted(group, script)
            async with MCPClient.connect(target, revision=revision, logging=hear) as client:
                assert (await client.call_tool("t")).text == "done"
                stuck.set()
                await levels.wait(MAX_WAITING)
            group.cancel_scope.cancel()

    assert levels.values[-1] == str(5 * MAX_WAITING - 1)
    assert len(levels.values) <= MAX_WAITING + 1
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


@BOTH
async def test_a_flood_of_notices_that_nobody_hears_costs_nothing(revision: str) -> None:
    async def fail(asked: Asked, talk: Talk) -> None:
        notice = event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
        await talk.stream(*[notice] * 5000, event(talk.reply({"content": [], "resultType": "complete"})))

    async with failing_once(fail, revision) as client:
        assert (await client.call_tool("t")).content == []


@BOTH
async def test_messages_that_are_none_are_skipped_on_a_pipe_too(revision: str) -> None:
    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        message = await raw.hear()
        await raw.say(b"{not json", b"\xff", b"[]", b"7", b'{"jsonrpc":"2.0","id":99,"result":{}}', b"null")
        await raw.say({"id": message["id"], "result": text(revision, "done")})
        await raw.hear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, script), revision=revision) as client:
                assert (await client.call_tool("t")).text == "done"
            group.cancel_scope.cancel()


@BOTH
async def test_a_pipe_that_ends_in_a_call_fails_it_and_all_after_it_at_once(revision: str) -> None:
    """B034."""

    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        await raw.hear()  # and leaves

    with anyio.fail_after(20):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, script), revision=revision, timeout=None) as client,
        ):
            for _ in range(2):
                with pytest.raises(ConnectionLost):
                    await client.call_tool("t")
            assert client.ended is not None


@BOTH
async def test_an_error_of_the_servers_own_keeps_its_code_message_and_data(revision: str) -> None:
    async def fail(asked: Asked, talk: Talk) -> None:
        await talk.refuse(500, -32050, "no seats", {"left": 0})

    async with failing_once(fail, revision) as client:
        with pytest.raises(McpError, match="no seats") as raised:
            await client.call_tool("t")
        assert (raised.value.code, raised.value.data) == (-32050, {"left": 0})
        cause = raised.value.__cause__
        assert isinstance(cause, ServerError)
        assert cause.status_code == 500
    assert json.dumps(raised.value.data) == '{"left": 0}'
