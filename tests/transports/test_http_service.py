"""What has sessions: legacy calls, batches, both eras at once, and the end of sessions."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.interaction.server import Story, make
from tests.transports.asgi import Exchange, refusal, serving
from tests.transports.skew import Skew

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ALL = (*LEGACY, MODERN)

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""


ECHO = {"name": "echo", "arguments": {"text": "hi"}}


# Legacy.


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_legacy_session_from_its_beginning_to_its_end(revision: str) -> None:
    """HTTP-12, HTTP-14, HTTP-40, HTTP-44."""
    async with serving(make()) as web:
        client = await web.open(revision)

        assert await client.use(1, "echo", text="é\u2028") == "é\u2028"
        assert (await client.notify("notifications/unknown")).status == 202
        ended = await client.delete()
        assert (ended.status, "content-length" in ended.headers) == (204, False)  # RFC 9110, 8.6
        gone = await client.begin(2, "ping").ended()
        assert refusal(gone) == (404, -32600, 2)
        assert (await client.delete()).status == 404
        assert (await client.get()).status == 404


@once
@pytest.mark.parametrize(("asked", "agreed"), [("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")])
async def test_initialize_negotiates_among_the_legacy_revisions(asked: str, agreed: str) -> None:
    async with serving(make()) as web:
        exchange = await web.client().initialize(asked)

    assert exchange.messages[0]["result"]["protocolVersion"] == agreed


async def test_initialize_begins_a_new_session_whatever_session_it_names() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        again = await client.initialize("2025-11-25")

        assert again.headers["mcp-session-id"] != client.session
        assert await client.use(1, "echo", text="old") == "old"


async def test_a_handshake_that_fails_begins_no_session() -> None:
    async with serving(make()) as web:
        exchange = await web.client().say({"id": 1, "method": "initialize", "params": {}}).ended()

    assert (exchange.status, exchange.messages[0]["error"]["code"]) == (200, -32602)
    assert "mcp-session-id" not in exchange.headers


async def test_session_ids_are_visible_ascii_and_never_the_same() -> None:
    """HTTP-41, SEC-02."""
    async with serving(make()) as web:
        ids = {(await web.open("2025-11-25")).session for _ in range(20)}

    assert len(ids) == 20
    assert all(len(id) >= 32 and all(0x21 <= ord(each) <= 0x7E for each in id) for id in ids)


async def test_a_session_is_its_owners_alone() -> None:
    """SEC-01, SEC-02."""
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        service = web.app._service()
        session = service._legacy._sessions.get(client.session, None, anyio.current_time())
        client.headers["mcp-session-id"] = service._legacy._sessions.add(session, "alice", anyio.current_time())

        assert (await client.begin(1, "ping").ended()).status == 404
        assert (await client.get()).status == 404
        assert (await client.delete()).status == 404


@once
@pytest.mark.parametrize("message", [{"id": 1, "method": "ping"}, {"method": "notifications/initialized"}], ids=str)
async def test_a_legacy_message_without_a_session_is_refused(message: dict[str, Any]) -> None:
    """HTTP-43."""
    async with serving(make()) as web:
        exchange = await web.client().say(message).ended()

    assert refusal(exchange) == (400, -32600, message.get("id"))
    assert "Mcp-Session-Id" in exchange.messages[0]["error"]["message"]


@once
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
async def test_two_sessions_in_one_request_are_refused(verb: str) -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
        exchange = Exchange(verb, "/mcp", client.headers, [body])
        exchange.scope["headers"].append((b"mcp-session-id", b"other"))
        await exchange.run(web.app)

    assert refusal(exchange)[:2] == (400, -32600)


@once
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_session_speaks_the_revision_that_it_agreed_on(revision: str) -> None:
    """HTTP-48, HTTP-49."""
    other = "2025-06-18" if revision != "2025-06-18" else "2025-03-26"
    async with serving(make()) as web:
        client = await web.open(revision)
        ping = {"id": 1, "method": "ping"}

        assert (await client.say(ping, without=["mcp-protocol-version"]).ended()).status == 200
        assert (await client.say(ping, mcp_protocol_version=revision).ended()).status == 200
        assert refusal(await client.say(ping, mcp_protocol_version=other).ended()) == (400, -32600, None)
        assert (await client.get(mcp_protocol_version=other)).status == 400
        assert (await client.delete(mcp_protocol_version=other)).status == 400


@once
@pytest.mark.parametrize(
    ("id", "method", "params", "code"),
    [
        (1, "nothing/known", {}, -32601),
        ("1", "resources/list", {}, -32601),
        (2**53, "tools/call", {"name": "none"}, -32602),
        ("é", "tools/call", {"name": "fail", "arguments": {"how": "protocol"}}, -32050),
        (0, "server/discover", {}, -32601),
    ],
)
async def test_a_legacy_error_has_status_200(id: Any, method: str, params: dict[str, Any], code: int) -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")

        assert refusal(await client.begin(id, method, params).ended()) == (200, code, id)


@once
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
async def test_a_call_may_come_right_after_the_reply_to_initialize(revision: str) -> None:
    """B077."""
    async with serving(make()) as web:
        client = web.client()
        client.headers["mcp-session-id"] = (await client.initialize(revision)).headers["mcp-session-id"]

        assert await client.call(1, "ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await client.use(2, "echo", text="early") == "early"


async def test_the_second_call_with_a_running_id_is_refused_and_the_first_goes_on() -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-11-25")
        first = client.tool(1, "hold", key="a")
        await story.until("a began")

        assert refusal(await client.begin(1, "ping").ended()) == (200, -32600, 1)
        story.tell("release a")
        assert (await first.reply())["result"]["content"][0]["text"] == "a"


# Batches.


async def test_a_batch_is_answered_by_an_array() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-03-26")
        calls = [{"id": n, "method": "tools/call", "params": {**ECHO, "name": "echo"}} for n in (1, "2")]
        exchange = await client.say([*calls, {"method": "notifications/x"}, {"id": 3, "method": "ping"}]).ended()

        assert exchange.status == 200
        assert {reply["id"] for reply in exchange.messages[0]} == {1, "2", 3}


async def test_a_batch_without_calls_is_taken() -> None:
    """HTTP-12."""
    async with serving(make()) as web:
        client = await web.open("2025-03-26")
        exchange = await client.say([{"method": "notifications/x"}, {"id": 9, "result": {}}]).ended()

        assert (exchange.status, exchange.body) == (202, b"")


@once
@pytest.mark.parametrize("bad", [b"[1]", b'[{"jsonrpc":"2.0","id":1},1]', b'[{"jsonrpc":"2.0","method":"x"},{}]'])
async def test_what_is_no_message_in_a_batch_is_answered_on_its_own_response(bad: bytes) -> None:
    async with serving(make()) as web:
        client = await web.open("2025-03-26")
        exchange = await client.say(bad).ended()

        assert exchange.status == 200
        assert {reply["error"]["code"] for reply in exchange.messages[0]} == {-32600}


@once
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_later_revisions_have_no_batches(revision: str) -> None:
    async with serving(make()) as web:
        client = await web.open(revision)

        assert refusal(await client.say([{"id": 1, "method": "ping"}]).ended()) == (400, -32600, None)


async def test_initialize_in_a_batch_needs_a_session_and_gets_none() -> None:
    async with serving(make()) as web:
        exchange = await web.client().say([{"id": 1, "method": "initialize", "params": {}}]).ended()

        assert refusal(exchange)[:2] == (400, -32600)


# Both eras.


async def test_every_revision_is_served_at_once_and_ids_do_not_meet() -> None:
    """Calls with the same id, of clients of every revision, while each other's run."""
    story = Story()
    async with serving(make(story=story)) as web:
        clients = [await web.open(revision) for revision in (*ALL, *ALL)]
        running = [client.tool(1, "hold", key=f"k{n}") for n, client in enumerate(clients)]
        for n in range(len(clients)):
            await story.until(f"k{n} began")
        for n in reversed(range(len(clients))):
            story.tell(f"release k{n}")
            reply = await running[n].reply()

            assert (reply["id"], reply["result"]["content"][0]["text"]) == (1, f"k{n}")
            assert ("resultType" in reply["result"]) == (clients[n].revision == MODERN)


async def test_what_belongs_to_sessions_is_ignored_by_modern_calls() -> None:
    """HTTP-74."""
    async with serving(make()) as web:
        client = await web.open(MODERN)
        client.headers |= {"mcp-session-id": "gone", "last-event-id": "1_1"}
        exchange = await client.tool(1, "echo", text="hi").ended()

        assert exchange.status == 200
        assert "mcp-session-id" not in exchange.headers


@once
@pytest.mark.parametrize("verb", ["GET", "DELETE"])
@pytest.mark.parametrize("headers", [{}, {"mcp_protocol_version": MODERN, "mcp_session_id": "x"}], ids=str)
async def test_modern_has_neither_get_nor_delete(verb: str, headers: dict[str, Any]) -> None:
    """HTTP-27, HTTP-74."""
    async with serving(make()) as web:
        exchange = await web.client().send(verb, **headers).ended()

    assert (exchange.status, exchange.headers["allow"]) == (405, "POST")


# Sessions.


async def test_a_session_that_nobody_uses_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """B068."""
    skew = Skew(monkeypatch)
    async with serving(make(), session_idle_seconds=100.0) as web:
        client = await web.open("2025-11-25")
        skew.seconds += 60
        assert await client.use(1, "echo", text="used") == "used"
        skew.seconds += 60
        assert await client.use(2, "echo", text="again") == "again"
        skew.seconds += 120

        assert (await client.begin(3, "ping").ended()).status == 404
        await web.open("2025-11-25")
        assert len(web.app._service()._legacy._sessions) == 1


@pytest.mark.parametrize("held_by", ["call", "stream"])
async def test_an_open_request_keeps_its_session(monkeypatch: pytest.MonkeyPatch, held_by: str) -> None:
    """B068."""
    skew, story = Skew(monkeypatch), Story()
    async with serving(make(story=story), session_idle_seconds=100.0) as web:
        client = await web.open("2025-11-25")
        if held_by == "call":
            client.tool(1, "hold", key="a")
            await story.until("a began")
        else:
            await client.get()
        skew.seconds += 1000
        await web.open("2025-11-25")

        assert await client.use(2, "echo", text="here") == "here"


async def test_one_session_too_many_is_refused_until_one_ends() -> None:
    """B068."""
    async with serving(make(), max_sessions=2) as web:
        first, _ = [await web.open("2025-11-25") for _ in range(2)]
        full = await web.client().initialize("2025-11-25")

        assert refusal(full) == (503, -32603, "init")
        assert "mcp-session-id" not in full.headers
        assert await (await web.open(MODERN)).use(1, "echo", text="modern") == "modern"
        await first.delete()
        await web.open("2025-11-25")


async def test_a_thousand_sessions_leave_nothing_behind(anyio_backend: str) -> None:
    """B068."""
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        service = web.app._service()
        for _ in range(1000 if anyio_backend == "asyncio" else 50):
            client.headers["mcp-session-id"] = (await client.initialize("2025-11-25")).headers["mcp-session-id"]
            assert (await client.delete()).status == 204

        modern, legacy = service._modern, service._legacy
        assert len(legacy._sessions) == 1
        assert (len(modern._running), len(legacy._tasks), len(legacy._pulse._read)) == (0, 0, 0)


@pytest.mark.parametrize("ends", ["delete", "cancel", "close"])
@pytest.mark.parametrize("begun", [False, True], ids=["silent", "streaming"])
async def test_a_response_ends_when_no_reply_will_come(ends: str, begun: bool) -> None:
    """HTTP-16; a call that was cancelled gets no reply, but its response must not stay open."""
    story = Story()
    async with serving(make(story=story), always_stream=begun, keep_alive_seconds=0.01 if begun else 15) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        if begun:
            await call.started()
        if ends == "delete":
            await client.delete()
        elif ends == "cancel":
            assert (await client.notify("notifications/cancelled", requestId=1)).status == 202
        else:
            await web.app.aclose()
        await call.ended()
        await story.until("a cancelled")

        assert call.messages == []
        assert call.status == (200 if begun else {"delete": 410, "cancel": 202, "close": 503}[ends])


async def test_cancelling_one_call_of_a_batch_leaves_the_others() -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-03-26")
        hold = [{"id": k, "method": "tools/call", "params": {"name": "hold", "arguments": {"key": k}}} for k in "ab"]
        batch, other = client.say(hold), client.say([dict(hold[0], id="c"), dict(hold[0], id="d")])
        await story.until("b began")
        await client.notify("notifications/cancelled", requestId="a")
        story.tell("release b")

        assert [each["id"] for each in await batch.reply()] == ["b"]
        await client.say([{"method": "notifications/cancelled", "params": {"requestId": k}} for k in "cdx"]).ended()
        assert (await other.ended()).status == 202


@once
@pytest.mark.parametrize(
    "params", [None, {}, {"requestId": None}, {"requestId": 1.5}, {"requestId": "none"}, {"requestId": []}], ids=str
)
async def test_a_cancellation_of_nothing_has_no_effect(params: Any) -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        notice = {"method": "notifications/cancelled", **({} if params is None else {"params": params})}

        assert (await client.say(notice).ended()).status == 202
        story.tell("release a")
        assert (await call.reply())["id"] == 1
