"""The endpoint as a whole: which requests it takes, both eras at once, sessions, and its end.

Each row of the tables that say how one endpoint serves every revision is a case here.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dedalus_mcp import MCPServer
from dedalus_mcp_transports.http_security import TransportSecuritySettings
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.raw import envelope
from tests.interaction.server import make
from tests.transports.asgi import initialize, refusal, serving

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ALL = (*LEGACY, MODERN)

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""


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
        exchange = await client.send("POST", initialize(), content_type=kind).ended()

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
    body = initialize()
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


# Heads that are too large, and pages of other origins.


@once
@pytest.mark.parametrize(
    "headers",
    [{"x": "a" * 2000}, {f"x_{n}": "" for n in range(30)}, {"x" * 2000: ""}],
    ids=["long value", "many", "long name"],
)
async def test_headers_beyond_the_limits_are_refused_without_being_repeated(headers: dict[str, Any]) -> None:
    async with serving(make(), max_head=1000, max_headers=30) as web:
        exchange = await web.client().initialize("2025-11-25", **headers)
        assert (await web.client().initialize("2025-11-25", x="a" * 200)).status == 200

    assert refusal(exchange) == (431, -32600, None)
    assert exchange.messages[0]["error"]["message"].endswith("the limits are 30 headers and 1000 bytes")


@once
async def test_a_target_is_part_of_what_is_limited() -> None:
    async with serving(make(), max_head=1000) as web:
        exchange = web.client()
        begun = exchange.send("POST", initialize())
        begun.scope["query_string"] = b"x" * 1000

        assert (await begun.ended()).status == 431


@once
@pytest.mark.parametrize("name", ["host", "origin"])
async def test_a_header_of_the_guard_that_came_twice_is_refused(name: str) -> None:
    async with serving(make(), cors_origins=["http://localhost"]) as web:
        begun = web.client().send("POST", initialize(), origin="http://localhost")
        begun.scope["headers"].append((name.encode(), b"evil.example"))
        exchange = await begun.ended()

    assert refusal(exchange)[0] == 400
    assert "evil" not in exchange.body.decode()


PAGE = "https://app.example.com"


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_page_that_may_call_reads_every_answer(revision: str) -> None:
    """HTTP-01, HTTP-02."""
    async with serving(make(), cors_origins=[PAGE]) as web:
        client = web.client()
        client.headers["origin"] = PAGE
        await client.open(revision)
        stream = client.tool(1, "progress", meta={"progressToken": 1}, steps=2)
        await stream.ended()
        answers = [
            stream,
            await client.tool(2, "echo", text="x").ended(),
            await client.send("POST", b"{", content_type="application/json").ended(),
            await client.send("POST", b"{}", content_type="text/plain").ended(),
            await client.send("PUT").ended(),
            await client.send("POST", b"{}", path="/elsewhere").ended(),
            await client.send("POST", b"{}", host="evil.example").ended(),
        ]

    assert [each.status for each in answers] == [200, 200, 400, 415, 405, 404, 421]
    assert {each.headers["access-control-allow-origin"] for each in answers} == {PAGE}
    assert {each.headers["vary"] for each in answers} == {"Origin"}
    assert all("Mcp-Session-Id" in each.headers["access-control-expose-headers"] for each in answers)


@once
async def test_other_pages_are_refused_as_ever_and_others_than_pages_served() -> None:
    """HTTP-02."""
    async with serving(make(), cors_origins=[PAGE]) as web:
        evil = await web.client().initialize("2025-11-25", origin="https://evil.example")
        asked = (
            await web.client()
            .send("OPTIONS", origin="https://evil.example", access_control_request_method="POST")
            .ended()
        )
        local = await web.client().initialize("2025-11-25", origin="http://localhost:3000")
        program = await web.client().initialize("2025-11-25")

    assert [each.status for each in (evil, asked, local, program)] == [403, 403, 200, 200]
    assert not [each for each in (evil, asked, local, program) if "access-control-allow-origin" in each.headers]


@once
async def test_a_browser_that_asks_first_is_answered_before_anything_is_set_up() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        log.append("in")
        yield

    asks: dict[str, Any] = {"origin": PAGE, "access_control_request_method": "POST"}
    async with serving(MCPServer("test", lifespan=life), cors_origins=["*"]) as web:
        answer = await web.client().send("OPTIONS", without=["content-type", "accept"], **asks).ended()
        elsewhere = await web.client().send("OPTIONS", path="/elsewhere", **asks).ended()
        rebound = await web.client().send("OPTIONS", **asks, host="evil.example").ended()
        assert log == []
        plain = await web.client().send("OPTIONS", origin=PAGE).ended()

    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "last-event-id" in answer.headers["access-control-allow-headers"]
    assert [each.status for each in (elsewhere, rebound, plain)] == [404, 421, 405]


@once
async def test_without_being_asked_to_nothing_is_said_to_browsers() -> None:
    async with serving(make()) as web:
        answer = await web.client().initialize("2025-11-25", origin="http://localhost")
        asked = (
            await web.client().send("OPTIONS", origin="http://localhost", access_control_request_method="POST").ended()
        )

    assert not [name for name in answer.headers if name.startswith("access-control") or name == "vary"]
    assert asked.status == 405


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", "mcp"),
        ("max_body", 0),
        ("max_head", -1),
        ("max_headers", 0),
        ("body_seconds", 0),
        ("max_sessions", 0),
        ("session_idle_seconds", -5),
        ("session_idle_seconds", None),
        ("keep_alive_seconds", 0),
        ("keep_alive_seconds", math.nan),
        ("retry_milliseconds", -1),
        ("retry_milliseconds", 0.5),
        ("cors_origins", "*"),
    ],
)
def test_a_setting_that_is_not_legal_is_told_by_name(name: str, value: object) -> None:
    settings: Any = {name: value}
    with pytest.raises(ValueError, match=rf"^{name}"):
        HttpSettings(**settings)


@once
async def test_a_websocket_is_refused() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with serving(make()) as web:
        await web.app({"type": "websocket", "path": "/mcp", "headers": []}, receive, send)

    assert sent == ["websocket.close"]


def test_a_principal_that_nobody_tells_is_refused_at_once() -> None:
    wrong: Any = "alice"
    with pytest.raises(ValueError, match="principal is a function of ASGI's scope, not 'alice'"):
        HttpSettings(principal=wrong)
