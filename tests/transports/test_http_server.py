"""The endpoint as a whole: which requests it takes, both eras at once, sessions, and its end.

Each row of the tables that say how one endpoint serves every revision is a case here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_security import TransportSecuritySettings
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.raw import envelope
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, serving

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ALL = (*LEGACY, MODERN)

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""


def refusal(exchange: Exchange) -> tuple[int | None, int, Any]:
    """The status, the code, and the id of what was refused."""
    (message,) = exchange.messages
    return exchange.status, message["error"]["code"], message.get("id")


# Before the body is read.


@once
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost:1"}, 200),
        ({"host": "127.0.0.1:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "mcp.example.com"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
    ids=str,
)
async def test_only_pages_and_names_of_this_machine_get_in(headers: dict[str, Any], status: int) -> None:
    """HTTP-01, HTTP-02, B080."""
    async with serving(make()) as web:
        exchange = await web.client().initialize("2025-11-25", **headers)

    assert exchange.status == status
    if status != 200:
        assert refusal(exchange) == (status, -32600, None)
        assert "allowed_" in exchange.messages[0]["error"]["message"]


@once
@pytest.mark.parametrize("host", ["mcp.example.com", "mcp.example.com:443"])
async def test_the_hosts_that_are_allowed_get_in_by_any_port(host: str) -> None:
    """B080."""
    security = TransportSecuritySettings(allowed_hosts=["mcp.example.com"])
    async with serving(make(), security=security) as web:
        assert (await web.client().initialize("2025-11-25", host=host)).status == 200
        assert (await web.client().initialize("2025-11-25", host="localhost")).status == 421


async def test_a_request_without_host_is_refused() -> None:
    """HTTP-01."""
    async with serving(make()) as web:
        assert (await web.client().send("POST", b"{}", without=["host"]).ended()).status == 421


@once
@pytest.mark.parametrize("verb", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"])
async def test_other_verbs_are_refused_with_those_that_work(verb: str) -> None:
    async with serving(make()) as web:
        exchange = await web.client().send(verb).ended()

    assert (exchange.status, exchange.headers["allow"]) == (405, "GET, POST, DELETE")


@once
@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
        ("text/plain; x=application/json", 415),
        ("application/jsonx", 415),
        ("", 415),
    ],
)
async def test_the_media_type_of_the_body_is_read_as_one(kind: str, status: int) -> None:
    """B079."""
    async with serving(make()) as web:
        client = web.client()
        exchange = await client.send("POST", _initialize(), content_type=kind).ended()

        assert exchange.status == status
    if status == 415:
        assert refusal(exchange)[1] == -32600


@once
@pytest.mark.parametrize(
    ("accept", "status"),
    [("*/*", 200), ("application/json", 200), ("text/event-stream", 200), ("", 200), ("text/html", 406)],
)
async def test_a_client_that_reads_neither_kind_of_answer_is_told(accept: str, status: int) -> None:
    async with serving(make()) as web:
        assert (await web.client().initialize("2025-11-25", accept=accept)).status == status


@once
@pytest.mark.parametrize("cut", [1, 7, 1000], ids=str)
async def test_a_body_may_come_in_pieces(cut: int) -> None:
    body = _initialize()
    async with serving(make()) as web:
        pieces = [body[at : at + cut] for at in range(0, len(body), cut)]

        assert (await web.client().send("POST", *pieces).ended()).status == 200


@pytest.mark.parametrize("pieces", [1, 5], ids=str)
async def test_a_body_that_is_too_long_is_refused(pieces: int) -> None:
    async with serving(make(), max_body=100) as web:
        exchange = await web.client().send("POST", *[b" " * (500 // pieces)] * pieces).ended()

    assert refusal(exchange) == (413, -32600, None)
    assert "100 bytes" in exchange.messages[0]["error"]["message"]


async def test_a_client_that_leaves_within_its_body_is_forgotten() -> None:
    async with serving(make()) as web:
        exchange = web.client().send("POST", b"{", whole=False)
        exchange.leave()
        await exchange.done()

        assert exchange.status is None
        assert (await web.client().initialize("2025-11-25")).status == 200


# What a body is.


@once
@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"[" * 5000, -32700, None),
        (b"[]", -32600, None),
        (b"1", -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'{"id":"a","method":"ping"}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":1}', -32600, 7),
    ],
)
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_what_is_no_message_is_refused_with_the_id_that_could_be_read(
    revision: str, body: bytes, code: int, id: Any
) -> None:
    """HTTP-13."""
    async with serving(make()) as web:
        client = await web.open(revision)

        assert refusal(await client.say(body).ended()) == (400, code, id)
        assert await client.use(1, "echo", text="still here") == "still here"


@once
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 404, -32601),
        ({"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        ({"mcp_method": "tools/list"}, 400, -32020),
        ({"mcp_method": " initialize "}, 404, -32601),
    ],
    ids=str,
)
async def test_initialize_in_a_modern_envelope_takes_the_modern_ladder(
    headers: dict[str, Any], status: int, code: int
) -> None:
    """HTTP-57, HTTP-59."""
    async with serving(make()) as web:
        client = await web.open(MODERN)
        headers = {"mcp_method": "initialize", **headers}
        message = {"id": 5, "method": "initialize", "params": {"_meta": envelope()}}
        exchange = await client.say(message, **headers).ended()

    assert refusal(exchange) == (status, code, 5)
    assert "mcp-session-id" not in exchange.headers


async def test_initialize_with_nothing_modern_but_its_header_names_what_is_spoken() -> None:
    """VER-08."""
    async with serving(make()) as web:
        exchange = await web.client().initialize("2025-11-25", mcp_protocol_version=MODERN)

    assert refusal(exchange) == (400, -32602, "init")
    assert MODERN in exchange.messages[0]["error"]["message"]


ECHO = {"name": "echo", "arguments": {"text": "hi"}}
GOOD = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": "echo"}
NO_META: dict[str, Any] = {}


def stamped(meta: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return {**ECHO, **members, "_meta": envelope() if meta is None else meta}


@once
@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("tools/call", [], {}, 400, -32600),
        ("tools/call", ECHO, {}, 400, -32602),
        ("tools/call", stamped({"io.modelcontextprotocol/protocolVersion": MODERN}), {}, 400, -32602),
        ("tools/call", stamped({**envelope(), "io.modelcontextprotocol/protocolVersion": 1}), {}, 400, -32602),
        ("tools/call", stamped({**envelope(), "io.modelcontextprotocol/clientCapabilities": []}), {}, 400, -32602),
        ("tools/call", stamped(), {"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        ("tools/call", stamped(envelope("2025-11-25")), {}, 400, -32020),
        ("tools/call", stamped(envelope("2027-01-01")), {"mcp_protocol_version": "2027-01-01"}, 400, -32022),
        ("tools/call", stamped(), {"mcp_method": "tools/list"}, 400, -32020),
        ("tools/call", stamped(), {"mcp_method": "TOOLS/CALL"}, 400, -32020),
        ("tools/call", stamped(), {"mcp_name": "pair"}, 400, -32020),
        ("tools/call", stamped(), {"mcp_name": "=?base64?!?="}, 400, -32020),
        ("nothing/known", {"_meta": envelope()}, {"mcp_method": "nothing/known"}, 404, -32601),
        ("resources/list", {"_meta": envelope()}, {"mcp_method": "resources/list"}, 404, -32601),
        ("ping", {"_meta": envelope()}, {"mcp_method": "ping"}, 404, -32601),
        ("tools/call", stamped(arguments=1), {}, 400, -32602),
        ("tools/call", stamped(name="none"), {"mcp_name": "none"}, 400, -32602),
        ("tools/call", stamped(name="fail", arguments={"how": "protocol"}), {"mcp_name": "fail"}, 200, -32050),
    ],
)
async def test_the_modern_ladder_refuses_by_its_first_step_that_fails(
    method: str, params: Any, headers: dict[str, Any], status: int, code: int
) -> None:
    """HTTP-51, HTTP-57, HTTP-60, HTTP-75; AMB-04."""
    async with serving(make()) as web:
        message = {"id": "x", "method": method, "params": params}
        exchange = await web.client().say(message, **{**GOOD, **headers}).ended()

    assert refusal(exchange) == (status, code, "x")


@once
@pytest.mark.parametrize("header", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_modern_call_that_lacks_a_header_is_refused(header: str) -> None:
    """HTTP-57; a missing version header makes it no legacy call either."""
    async with serving(make()) as web:
        message = {"id": 1, "method": "tools/call", "params": stamped()}
        exchange = await web.client().say(message, without=[header], **GOOD).ended()

    assert refusal(exchange) == (400, -32020, 1)


async def test_a_missing_capability_that_a_handler_finds_is_named() -> None:
    """HTTP-75."""
    async with serving(make()) as web:
        exchange = await (await web.open(MODERN)).tool(1, "ask", message="?").ended()

    assert refusal(exchange) == (400, -32021, 1)


async def test_a_modern_name_may_be_encoded() -> None:
    """HTTP-56."""
    async with serving(make()) as web:
        message = {"id": 1, "method": "tools/call", "params": stamped()}
        exchange = await web.client().say(message, **{**GOOD, "mcp_name": "=?base64?ZWNobw==?="}).ended()

    assert exchange.messages[0]["result"]["content"][0]["text"] == "hi"


@once
@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"method": "notifications/cancelled", "params": {"requestId": 1}}, 202),
        ({"method": "notifications/unknown"}, 202),
        ({"method": "notifications/unknown", "params": {"_meta": envelope("2027-01-01")}}, 400),
        ({"id": 1, "result": {}}, 400),
        ({"id": 1, "error": {"code": 1, "message": "x"}}, 400),
    ],
    ids=str,
)
async def test_a_modern_message_that_is_no_call(message: dict[str, Any], status: int) -> None:
    """HTTP-12, HTTP-13."""
    async with serving(make()) as web:
        exchange = await web.client().say(message, mcp_protocol_version=MODERN).ended()

    assert exchange.status == status
    assert bool(exchange.body) == (status != 202)


@once
@pytest.mark.parametrize(
    ("items", "headers"),
    [
        ([{"id": 1, "method": "ping"}], {"mcp_protocol_version": MODERN}),
        ([{"id": 1, "method": "ping"}, {"id": 2, "method": "ping", "params": {"_meta": envelope()}}], {}),
    ],
)
async def test_modern_has_no_batches(items: list[Any], headers: dict[str, Any]) -> None:
    async with serving(make()) as web:
        client = await web.open("2025-03-26")

        assert refusal(await client.say(items, **headers).ended()) == (400, -32600, None)


# Legacy.


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_legacy_session_from_its_beginning_to_its_end(revision: str) -> None:
    """HTTP-12, HTTP-14, HTTP-40, HTTP-44."""
    async with serving(make()) as web:
        client = await web.open(revision)

        assert await client.use(1, "echo", text="é\u2028") == "é\u2028"
        assert (await client.notify("notifications/unknown")).status == 202
        assert (await client.delete()).status == 204
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
        session = service._sessions.get(client.session, None, anyio.current_time())
        client.headers["mcp-session-id"] = service._sessions.add(session, "alice", anyio.current_time())

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


class Skew:
    """Moves the clock that sessions are measured by."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        real = anyio.current_time
        monkeypatch.setattr(anyio, "current_time", lambda: real() + self.seconds)


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
        assert len(web.app._service()._sessions) == 1


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

        assert len(service._sessions) == 1
        assert (len(service._alone), len(service._tasks), len(service._pulse._read)) == (0, 0, 0)


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
        assert call.status == (200 if begun else {"delete": 404, "cancel": 202, "close": 503}[ends])


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


# Headers of the request.


async def test_each_call_sees_the_headers_of_its_own_request() -> None:
    """B137."""
    server = MCPServer("headers")
    gate = anyio.Event()
    inside = anyio.Semaphore(0)

    @tool
    async def whose() -> str:
        inside.release()
        await gate.wait()
        return _seen()

    @tool
    def whose_sync() -> str:
        return _seen()

    server.collect(whose, whose_sync)
    async with serving(server) as web:
        for revision in ("2025-11-25", MODERN):
            client = await web.open(revision)
            calls: list[Exchange] = []
            for n, who in enumerate(["A", "B", "A"]):
                client.headers["authorization"] = who
                calls.append(client.tool(n, "whose"))
                await inside.acquire()
            gate.set()
            seen = [(await call.reply())["result"]["content"][0]["text"] for call in calls]

            session = client.headers.get("mcp-session-id")
            assert seen == [f"{who} {session}" for who in "ABA"]
            client.headers["authorization"] = "C"
            assert await client.use(9, "whose_sync") == f"C {session}"


def _seen() -> str:
    context = get_context()
    return f"{context.headers['authorization']} {context.session_id}"


# Its place, its life, and its end.


@once
@pytest.mark.parametrize(
    ("root", "path", "status"),
    [
        ("", "/mcp", 200),
        ("", "/mcp/", 200),
        ("", "/", 404),
        ("", "/mcp/x", 404),
        ("", "/other", 404),
        ("/x", "/x/mcp", 200),
        ("/x", "/x", 200),
        ("/x", "/x/", 200),
        ("/x", "/mcp", 200),
        ("/x", "/x/y", 404),
    ],
)
async def test_it_is_found_at_its_path_and_where_it_is_mounted(root: str, path: str, status: int) -> None:
    """B070."""
    async with serving(make()) as web:
        client = web.client()
        exchange = Exchange("POST", path, client.headers, [_initialize()])
        exchange.scope["root_path"] = root
        await exchange.run(web.app)

    assert exchange.status == status


@once
@pytest.mark.parametrize("path", ["/", "/a/b", "/mcp/"])
async def test_its_path_can_be_any(path: str) -> None:
    async with serving(make(), path=path) as web:
        assert (await web.client().send("POST", _initialize(), path=path).ended()).status == 200
        assert (await web.client().send("POST", _initialize(), path="/not/there").ended()).status == 404


def _counting(counted: list[str], *failures: Exception) -> MCPServer:
    faults = list(failures)

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[str]:
        if faults:
            raise faults.pop(0)
        counted.append("begin")
        yield "up"
        counted.append("end")

    server = MCPServer("life", lifespan=lifespan)

    @tool
    async def alive() -> str:
        return str(server.lifespan_value)

    server.collect(alive)
    return server


async def test_the_lifespan_is_entered_once_before_the_first_request_and_left_at_the_end() -> None:
    """B071."""
    counted: list[str] = []
    async with serving(_counting(counted)) as web:
        assert counted == []
        for revision in ALL:
            client = await web.open(revision)
            for id in range(3):
                assert await client.use(id, "alive") == "up"
        assert counted == ["begin"]

    assert counted == ["begin", "end"]


async def test_a_lifespan_that_fails_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    counted: list[str] = []
    async with serving(_counting(counted, ValueError("no database at secret"))) as web:
        failed = await web.client().initialize("2025-11-25")

        assert refusal(failed) == (500, -32603, None)
        assert b"secret" not in failed.body
        assert len(caplog.records) == 1
        assert "secret" in caplog.text
        assert await (await web.open("2025-11-25")).use(1, "alive") == "up"


async def test_a_server_of_asgi_that_offers_a_lifespan_ends_what_is_served_with_it() -> None:
    counted: list[str] = []
    app = HttpApp(Hosted(_counting(counted)))
    sent: list[str] = []
    begun, stop = anyio.Event(), anyio.Event()

    async def receive() -> dict[str, Any]:
        if not sent:
            return {"type": "lifespan.startup"}
        begun.set()
        await stop.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with anyio.create_task_group() as group:
        group.start_soon(app, {"type": "lifespan"}, receive, send)
        await begun.wait()
        client = Client(app, group, "/mcp")
        await client.open("2025-11-25")
        stop.set()

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert counted == ["begin", "end"]


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_running_call_is_finished_while_the_server_drains_and_new_ones_are_refused(revision: str) -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        client, other = await web.open(revision), await web.open("2025-11-25")
        call, stream = client.tool(1, "hold", key="a"), await other.get()
        late = web.client().send("POST", b"{", whole=False)
        await story.until("a began")
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await stream.ended()
            late.finish(b"}")
            refused = await web.client().initialize("2025-11-25")
            assert (refused.status, refused.headers["connection"]) == (503, "close")
            story.tell("release a")

        assert (await call.reply())["result"]["content"][0]["text"] == "a"
        assert (await late.ended()).status == 503


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize("key", ["a", "stubborn"])
async def test_a_call_that_goes_on_for_too_long_is_ended(revision: str, key: str) -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        call = (await web.open(revision)).tool(1, "hold", key=key)
        await story.until(f"{key} began")
        await web.app.aclose(drain=0.01)

        assert f"{key} cancelled" in story.told
        assert (await call.ended()).status == 503


async def test_a_reader_that_reads_nothing_does_not_keep_the_server_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dedalus_mcp_transports.http_service.CLOSING_SECONDS", 0.05)
    story = Story()
    async with serving(make(story=story), always_stream=True, keep_alive_seconds=0.01) as web:
        client = await web.open("2025-11-25")
        stalled, stream = client.tool(1, "hold", key="a"), await client.get()
        await stalled.started()
        stalled.stall()
        stream.stall()
        await web.app.aclose()

        assert "a cancelled" in story.told
        assert (await web.client().initialize("2025-11-25")).status == 200


def test_json_only_and_always_stream_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        HttpApp(Hosted(make()), HttpSettings(json_only=True, always_stream=True))


def test_one_application_serves_under_one_event_loop_after_the_other() -> None:
    app = HttpApp(Hosted(make()))

    async def use(anything: Callable[[], None] | None = None) -> None:
        async with anyio.create_task_group() as group:
            client = Client(app, group, "/mcp")
            await client.open("2025-11-25")
            assert await client.use(1, "echo", text="x") == "x"
            await app.aclose()

    anyio.run(use)
    anyio.run(use, backend="trio")
    anyio.run(use)


def _initialize() -> bytes:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}).encode()
