"""Middleware over HTTP: the handshake that takes its time, and requests that come and go."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import CallNext, Incoming, McpError, MCPServer, get_context, tool
from tests.interaction.test_rounds import ABLE, answering, ask, text
from tests.transports.asgi import Client, initialize, serving

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

sessions = pytest.mark.parametrize(
    "settings", [{}, {"stateless": True, "state_keys": [b"k" * 32]}], ids=["sessions", "stateless"]
)


@tool
async def echo(text: str) -> str:
    return text


@tool
async def add() -> str:
    return str(await ask("a"))


def offering(**settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(echo, add)
    return server


class Gate:
    """A middleware that lets a method pass when it may, and knows how that ended."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.there = anyio.Event()
        self.may_pass = anyio.Event()
        self.ended = anyio.Event()

    async def __call__(self, incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method != self.method:
            return await call_next()
        self.there.set()
        try:
            await self.may_pass.wait()
            return await call_next()
        finally:
            self.ended.set()


@sessions
async def test_a_handshake_that_takes_its_time_begins_a_session_all_the_same(settings: dict[str, Any]) -> None:
    gate = Gate("initialize")
    server = offering(middleware=[gate])
    async with serving(server, **settings) as web:
        client = web.client()
        opening = client.send("POST", initialize())
        await gate.there.wait()
        await wait_all_tasks_blocked()
        assert opening.status is None
        gate.may_pass.set()
        client.headers["mcp-session-id"] = (await opening.ended()).headers["mcp-session-id"]
        client.headers["mcp-protocol-version"] = opening.messages[0]["result"]["protocolVersion"]

        assert await client.use(1, "echo", text="hi") == "hi"


@sessions
async def test_a_handshake_that_is_refused_begins_none(settings: dict[str, Any]) -> None:
    async def guard(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "initialize" and "authorization" not in incoming.context.headers:
            raise McpError(-32001, "who are you?")
        return await call_next()

    async with serving(offering(middleware=[guard]), **settings) as web:
        client = web.client()
        refused = await client.initialize(LEGACY)
        assert refused.messages[0]["error"] == {"code": -32001, "message": "who are you?"}
        assert "mcp-session-id" not in refused.headers
        client.headers["authorization"] = "me"
        assert await (await client.open(LEGACY)).use(1, "echo", text="hi") == "hi"


@sessions
async def test_a_client_that_leaves_during_its_handshake_ends_it(settings: dict[str, Any]) -> None:
    gate = Gate("initialize")
    server = offering(middleware=[gate])
    async with serving(server, **settings) as web:
        opening = web.client().send("POST", initialize())
        await gate.there.wait()
        opening.leave()
        await gate.ended.wait()
        await opening.done()
        assert server.active_sessions() == ()


@sessions
async def test_a_server_that_ends_ends_handshakes_that_take_their_time(settings: dict[str, Any]) -> None:
    gate = Gate("initialize")
    async with serving(offering(middleware=[gate]), **settings) as web:
        opening = web.client().send("POST", initialize())
        await gate.there.wait()
        await web.app.aclose()

        assert (await opening.ended()).status == 503
        assert gate.ended.is_set()


@sessions
async def test_a_drain_lets_a_handshake_come_to_its_end(settings: dict[str, Any]) -> None:
    gate = Gate("initialize")
    server = offering(middleware=[gate])
    async with serving(server, **settings) as web:
        opening = web.client().send("POST", initialize())
        await gate.there.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await wait_all_tasks_blocked()
            gate.may_pass.set()

        assert (await opening.ended()).status == 200
        assert server.active_sessions() == ()


async def test_each_request_of_a_call_shows_its_own_headers() -> None:
    seen: list[tuple[str, str]] = []

    async def look(incoming: Incoming, call_next: CallNext) -> Any:
        seen.append((incoming.method, incoming.context.headers.get("authorization", "")))
        return await call_next()

    async with serving(offering(request_middleware=[look])) as web:
        client = await web.open(MODERN, ABLE)
        client.headers["authorization"] = "one"
        first = await client.tool(1, "add").reply()
        client.headers["authorization"] = "two"
        last = await _retry(client, 2, first)

    assert text(last) == "7"
    assert seen == [("tools/call", "one"), ("tools/call", "two")]


async def _retry(client: Client, id: int, asked: dict[str, Any]) -> Any:
    return await client.begin(id, "tools/call", name="add", arguments={}, **answering(asked, a=7)).reply()


async def test_a_client_that_leaves_ends_the_handler_that_runs_apart() -> None:
    inside, ended = anyio.Event(), anyio.Event()

    @tool
    async def work() -> None:
        inside.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def nothing(incoming: Incoming, call_next: CallNext) -> Any:
        return await call_next()

    server = offering(request_middleware=[nothing])
    server.collect(work)
    async with serving(server) as web:
        client = await web.open(MODERN)
        call = client.tool(1, "work")
        await inside.wait()
        call.leave()
        await ended.wait()
        await call.done()


async def test_what_is_parked_apart_ends_with_the_server() -> None:
    reasons: list[str | None] = []

    @tool
    async def wait() -> None:
        try:
            await ask("a")
        finally:
            reasons.append(get_context().cancel_reason)

    async def nothing(incoming: Incoming, call_next: CallNext) -> Any:
        return await call_next()

    server = offering(request_middleware=[nothing])
    server.collect(wait)
    async with serving(server) as web:
        client = await web.open(MODERN, ABLE)
        assert (await client.tool(1, "wait").reply())["result"]["resultType"] == "input_required"
        await web.app.aclose()

        assert reasons == ["the server is shutting down"]


async def test_sessions_beyond_the_limit_are_refused_and_leave_nothing() -> None:
    async def nothing(incoming: Incoming, call_next: CallNext) -> Any:
        return await call_next()

    server = offering(middleware=[nothing])
    async with serving(server, max_sessions=1) as web:
        await web.open(LEGACY)
        assert (await web.client().initialize(LEGACY)).status == 503
        assert len(server.active_sessions()) == 1
