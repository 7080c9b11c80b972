"""Asking clients whether they are there, at once and regularly: on every transport that can."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import Limits, MCPClient, McpError, MCPServer, PingConfig, ServerConfig, Session, get_context, tool
from dedalus_mcp.errors import LocalProtocolError
from dedalus_mcp.server.heartbeat import Heartbeat, for_each
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE
from tests.transports import asgi

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
HEALTHY: dict[str, Any] = {"result": {}}
SHORT = 0.02
"""Seconds to wait for those who never answer."""


def make(**settings: Any) -> MCPServer:
    return MCPServer("test", config=ServerConfig(**settings))


async def answer_pings(raw: Raw, reply: dict[str, Any]) -> None:
    while True:
        message = await raw.hear_method("ping")
        await raw.say({"id": message["id"], **reply})


@asynccontextmanager
async def answering(server: MCPServer, reply: dict[str, Any] | None = None) -> AsyncGenerator[Raw]:
    """A client that answers pings, as `reply` says."""
    async with serving(server) as raw:
        await raw.open(LEGACY)
        async with anyio.create_task_group() as group:
            group.start_soon(answer_pings, raw, reply or HEALTHY)
            yield raw
            group.cancel_scope.cancel()


async def test_who_answers_is_there_and_who_does_not_is_not() -> None:
    """LIFE-13; with a timeout, too, the answer of a healthy client counts."""
    server = make(ping=PingConfig(timeout=SHORT))
    with anyio.fail_after(PATIENCE):
        async with answering(server), serving(server) as silent:
            await silent.open(LEGACY)
            one, other = server.active_sessions()
            assert await server.ping_client(one, timeout=PATIENCE)
            assert not await server.ping_client(other)
            assert await server.ping_clients() == {one: True, other: False}
            assert await server.ping_clients([one], timeout=PATIENCE, max_concurrency=1) == {one: True}
            await silent.barrier()

    assert "notifications/cancelled" in [message.get("method") for message in silent.heard]


async def test_an_error_is_an_answer_too() -> None:
    server = make()
    refusal = {"error": {"code": -32601, "message": "Method not found"}}
    with anyio.fail_after(PATIENCE):
        async with answering(server, refusal):
            assert list((await server.ping_clients(timeout=PATIENCE)).values()) == [True]
        async with answering(server, {"result": 7}):
            assert list((await server.ping_clients(timeout=PATIENCE)).values()) == [True]


async def test_who_leaves_meanwhile_is_not_there_and_nobody_waits() -> None:
    server = make()
    async with serving(server) as raw:
        await raw.open(LEGACY)
        (session,) = server.active_sessions()
        answers: list[bool] = []

        async def ask() -> None:
            answers.append(await server.ping_client(session, timeout=10 * PATIENCE))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                await raw.hear_method("ping")
                await raw.close()

    assert answers == [False]
    assert server.active_sessions() == ()


async def test_modern_clients_are_not_among_those_who_can_be_asked() -> None:
    refused: list[int] = []
    server = make()

    @tool
    async def ask() -> None:
        try:
            await server.ping_current_session()
        except McpError as error:
            refused.append(error.code)

    server.collect(ask)
    async with serving(server) as raw:
        await raw.open(MODERN)
        await raw.tool(1, "ask")
        assert server.active_sessions() == ()

    assert refused == [-32601]


async def test_the_client_whose_call_is_answered_can_be_asked() -> None:
    server = make()

    @tool
    async def ask() -> list[bool]:
        return [await server.ping_current_session(timeout=PATIENCE), get_context().client_info is not None]

    server.collect(ask)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=LEGACY) as client:
            assert (await client.call_tool("ask")).structuredContent == {"result": [True, True]}


async def test_outside_of_a_call_there_is_no_current_session() -> None:
    with pytest.raises(LookupError, match="No active context"):
        await make().ping_current_session()


async def test_bounds_of_asking_many() -> None:
    with pytest.raises(ValueError, match="max_concurrency must be at least 1, not 0"):
        await make().ping_clients(max_concurrency=0)
    working: list[int] = []
    most: list[int] = []

    async def work(item: int) -> None:
        working.append(item)
        most.append(len(working))
        await anyio.lowlevel.checkpoint()
        working.remove(item)

    await for_each(range(10), work, 3)
    assert len(most) == 10
    assert max(most) == 3


async def test_too_many_questions_of_our_own_are_not_the_clients_fault() -> None:
    told: list[Any] = []
    config = PingConfig(timeout=SHORT, failure_budget=1, on_down=told.append)
    server = make(limits=Limits(max_open=1), ping=config)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(LEGACY)
            (session,) = server.active_sessions()
            async with anyio.create_task_group() as group:
                group.start_soon(partial(session.ping, 10 * PATIENCE))
                await raw.hear_method("ping")
                with pytest.raises(LocalProtocolError):
                    await session.ping(SHORT)
                await Heartbeat(config, server.active_sessions).beat()
                group.cancel_scope.cancel()

    assert told == []


async def test_over_http_they_can_be_asked_while_their_stream_is_open() -> None:
    server = make()
    async with asgi.serving(server) as web:
        client = await web.open(LEGACY)
        (session,) = server.active_sessions()
        assert session.id == client.session
        assert client.session in repr(session)
        assert not session.reachable
        assert not await session.ping(SHORT)

        stream = client.send("GET", accept="text/event-stream")
        await stream.started()
        assert session.reachable
        answers: list[bool] = []

        async def ask() -> None:
            answers.append(await server.ping_client(session, timeout=PATIENCE))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await client.answer((await stream.message())["id"], {})
        assert answers == [True]

        assert (await client.send("DELETE").ended()).status == 204
        assert server.active_sessions() == ()


# The heartbeat.


class Told:
    """Callbacks that remember."""

    def __init__(self) -> None:
        self.suspects: list[Session] = []
        self.down: list[Session] = []

    def suspect(self, session: Session, phi: float) -> None:
        assert phi > 0
        self.suspects.append(session)

    def config(self, **settings: Any) -> PingConfig:
        return PingConfig(timeout=SHORT, on_suspect=self.suspect, on_down=self.down.append, **settings)


async def test_a_healthy_client_is_never_suspected_and_a_silent_one_is_suspect_and_then_down() -> None:
    told, clock = Told(), [0.0]
    server = make(ping=told.config())
    heartbeat = Heartbeat(server.config.ping, server.active_sessions, lambda: clock[0])
    seen: list[tuple[int, int]] = []
    with anyio.fail_after(PATIENCE):
        async with answering(server), serving(server) as silent:
            await silent.open(LEGACY)
            for _ in range(5):
                await heartbeat.beat()
                seen.append((len(told.suspects), len(told.down)))
                clock[0] += 5.0

    assert seen == [(0, 0), (0, 0), (1, 1), (1, 1), (1, 1)]
    assert told.suspects == told.down
    assert len({*told.suspects}) == 1


async def test_a_client_that_could_not_be_asked_for_a_while_begins_anew() -> None:
    told, clock = Told(), [0.0]
    server = make(ping=told.config(failure_budget=2))
    heartbeat = Heartbeat(server.config.ping, server.active_sessions, lambda: clock[0])
    async with asgi.serving(server) as web:
        client = await web.open(LEGACY)
        for _ in range(4):
            stream = client.send("GET", accept="text/event-stream")
            await stream.started()
            await heartbeat.beat()  # one miss
            stream.leave()
            await stream.done()
            await heartbeat.beat()
            clock[0] += 1000.0

    assert told.down == []


async def test_what_listens_may_fail_and_the_heart_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(session: Session) -> None:
        raise KeyError("secret")

    server = make(ping=PingConfig(timeout=SHORT, failure_budget=1, on_down=fail))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(LEGACY)
            await Heartbeat(server.config.ping, server.active_sessions).beat()

    assert "KeyError: 'secret'" in caplog.text


async def test_without_callbacks_a_silent_client_keeps_its_session() -> None:
    """B082: an answer that is missing is never fatal by itself."""
    server = make(ping=PingConfig(timeout=SHORT, failure_budget=1))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(LEGACY)
            await Heartbeat(server.config.ping, server.active_sessions).beat()
            assert "result" in await raw.call(1, "ping")


async def test_it_beats_as_long_as_its_task_group_lives_and_once_at_a_time() -> None:
    beats = anyio.Event()

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as group:
            server.start_ping_heartbeat(group, interval=0.001, jitter=0.0, timeout=PATIENCE)
            with pytest.raises(RuntimeError, match="Ping heartbeat already started"):
                server.start_ping_heartbeat(group)
            yield
            group.cancel_scope.cancel()

    server = MCPServer("test", lifespan=life)
    for _ in range(2):
        with anyio.fail_after(PATIENCE):
            async with serving(server) as raw:
                await raw.open(LEGACY)
                for _ in range(3):
                    ping = await raw.hear_method("ping")
                    await raw.say({"id": ping["id"], "result": {}})
                beats.set()
    assert beats.is_set()


async def test_one_that_could_not_be_started_is_not_running() -> None:
    server = MCPServer("test")
    async with anyio.create_task_group() as over:
        pass
    with pytest.raises(RuntimeError):
        server.start_ping_heartbeat(over)

    async with anyio.create_task_group() as group:
        server.start_ping_heartbeat(group)
        group.cancel_scope.cancel()


async def _async(*args: object) -> None: ...


@pytest.mark.parametrize("name", ["on_suspect", "on_down"])
@pytest.mark.parametrize("wrong", [_async, 5])
def test_what_is_told_is_a_plain_function(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} is a plain function"):
        PingConfig(**{name: wrong})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interval", 0),
        ("interval", float("inf")),
        ("timeout", -1),
        ("phi_threshold", 0),
        ("jitter", 1.5),
        ("failure_budget", 0),
        ("history", 1),
        ("max_concurrency", 0),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        PingConfig(**{name: value})


async def test_many_clients_come_and_go() -> None:
    server = make()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(serving(server)) for _ in range(5)]
        for raw in clients:
            await raw.open(LEGACY)
        assert len(server.active_sessions()) == 5
        await clients[2].close()
        await wait_all_tasks_blocked()
        assert len(server.active_sessions()) == 4
    assert server.active_sessions() == ()
