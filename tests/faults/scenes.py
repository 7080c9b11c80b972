"""Where a conversation is held: over pipes or over HTTP, with a `Line` between client and server.

A scene plays one conversation with one fault, and says what is wrong afterwards: nothing, if all is well.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio

from dedalus_mcp import ConnectionLost, DedalusError, HttpServer, MCPClient, MCPConnectionError, StreamableHttp
from dedalus_mcp.client.connecting import Connecting
from dedalus_mcp.run import Hosted, serve_duplex
from dedalus_mcp.server.parking import Parking
from dedalus_mcp_transports.http_service import Service
from dedalus_mcp_transports.http_sockets import listening
from dedalus_mcp_transports.http_stateful import Stateful
from dedalus_mcp_transports.http_stream import Reconnect
from tests.faults.conversation import EXPECTED, Ledger, Outcome, Person, converse, make
from tests.faults.line import Line, Shuffle
from tests.faults.pipes import joined
from tests.faults.proxy import through
from tests.interaction.reach import PATIENCE

__all__ = ("HttpScene", "Scene", "StdioScene", "left_on", "until")

LOST = (ConnectionLost, MCPConnectionError)
"""What a call may raise whose connection was cut."""

FAR_FUTURE = 1e6
"""Seconds after which nothing waits any more."""

SOON = 2.0
"""Seconds in which a server notices that a client has gone."""

# What serves all clients alike, and ends by itself when there is nothing left for it to do.
SHARED = frozenset({"Bodies._watch", "Pulse._beat", "Sweep._run", "_Reaper._reap"})


class Scene(Protocol):
    """Plays conversations."""

    async def record(self, line: Line) -> None:
        """Hold one conversation, and no more."""
        ...

    async def play(self, line: Line) -> list[str]:
        """Hold a conversation over a line, and look at what is left; return what is wrong."""
        ...


class StdioScene:
    """Pipes; each conversation has a server of its own, as a client of stdio has.

    Args:
        revision: What is spoken.
    """

    def __init__(self, revision: str) -> None:
        self._revision = revision

    async def record(self, line: Line) -> None:
        """See `Scene`."""
        async with joined(line) as (near, far), anyio.create_task_group() as group:
            group.start_soon(serve_duplex, make(Ledger()), far)
            async with MCPClient.connect(near, revision=self._revision, elicitation=Person()) as client:
                await converse(client, "first")

    async def play(self, line: Line) -> list[str]:
        """See `Scene`."""
        ledger, person = Ledger(), Person()
        server = make(ledger)
        wrong: list[str] = []
        with anyio.move_on_after(PATIENCE) as bound:
            async with joined(line) as (near, far), anyio.create_task_group() as group:
                group.start_soon(serve_duplex, server, far)
                connecting = MCPClient.connect(near, revision=self._revision, elicitation=person)
                wrong += await held(connecting, line, only_one=True)
                await near.aclose()
        return [
            *wrong,
            *(["it hangs"] if bound.cancelled_caught else []),
            *left_in(ledger),
            *(["a parked call"] * len(server.parkings.here())),
            *twice(ledger, person),
        ]


class HttpScene:
    """One HTTP server, on which one conversation after the other is held.

    Args:
        revision: What is spoken.
        port: The server's.
        service: What serves there.
        ledger: What it has done.
        parking: What it keeps between rounds.
    """

    def __init__(self, revision: str, port: int, service: Service, ledger: Ledger, parking: Parking) -> None:
        self._revision = revision
        self._port = port
        self._service = service
        self._ledger = ledger
        self._parking = parking
        self.shuffle: Shuffle | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, revision: str) -> AsyncGenerator[HttpScene]:
        """Serve meanwhile."""
        ledger = Ledger()
        server = make(ledger)
        host = HttpServer(port=0, drain_seconds=0).serving(Hosted(server))
        with listening("127.0.0.1", 0) as sockets:
            async with anyio.create_task_group() as group:
                group.start_soon(host.serve, sockets)
                await until(lambda: host.started)
                port = int(sockets[0].getsockname()[1])
                yield cls(revision, port, host._app._service(), ledger, server.parkings.here())
                host.should_exit = True

    async def record(self, line: Line) -> None:
        """See `Scene`."""
        async with through(self._port, line) as proxy, self._connect(proxy.port, Person()) as client:
            await converse(client, "first")

    async def play(self, line: Line) -> list[str]:
        """See `Scene`."""
        self._ledger.effects.clear()
        person = Person()
        before = asyncio.all_tasks()
        wrong: list[str] = []
        with anyio.move_on_after(PATIENCE) as bound:
            async with through(self._port, line, self.shuffle) as proxy:
                wrong += await held(self._connect(proxy.port, person), line)
                line.mend()
                async with self._connect(proxy.port, person) as client:
                    wrong += unlike(await converse(client, "new"), "a new client")
        wrong += ["it hangs"] if bound.cancelled_caught else []
        wrong += await left_on(self._service, self._parking)

        def still() -> list[str]:
            tasks = asyncio.all_tasks() - before
            return [*left_in(self._ledger), *(f"a task: {each!r:.200}" for each in tasks if not _is_shared(each))]

        await until(lambda: not still(), SOON)
        return [*wrong, *still(), *twice(self._ledger, person)]

    def _connect(self, port: int, person: Person) -> Connecting[MCPClient]:
        reconnect = Reconnect(first=0.01, longest=0.05)
        target = StreamableHttp(f"http://127.0.0.1:{port}/mcp", reconnect=reconnect)
        return MCPClient.connect(target, revision=self._revision, elicitation=person)


async def left_on(service: Service, parking: Parking) -> list[str]:
    """Let the time pass after which nothing waits any more, and return what is left all the same.

    Args:
        service: Serves the clients that have gone.
        parking: What their calls wait in.
    """
    legacy, modern = service._legacy, service._modern
    assert isinstance(legacy, Stateful)
    sessions = legacy._sessions
    await until(lambda: not (sessions._held or modern._running), SOON)
    for session in sessions.expire(anyio.current_time() + FAR_FUTURE):
        session.close("it expired")
    parking.expire(anyio.current_time() + FAR_FUTURE)
    await until(lambda: not (len(sessions) or modern._running or len(parking)), SOON)
    return [
        *(f"a session: {each}" for each in (*sessions._held, *sessions._idle)),
        *(f"a request: {each}" for each in modern._running),
        *(["a parked call"] * len(parking)),
    ]


def _is_shared(task: asyncio.Task[Any]) -> bool:
    return getattr(task.get_coro(), "__qualname__", "") in SHARED


async def held(connecting: Connecting[MCPClient], line: Line, *, only_one: bool = False) -> list[str]:
    """Hold a conversation, and another with the same client where it is still of use; return what is wrong.

    Args:
        connecting: Makes the client.
        line: What goes wrong.
        only_one: Whether there is but one connection, so that the client ends with it.
    """
    try:
        client = await connecting
    except LOST:
        return []
    except DedalusError as error:
        return [f"connecting: {error!r}"]
    try:
        first = await converse(client, "first")
        wrong = [f"{what}: {outcome!r}" for what, outcome in first.items() if not _is_legal(what, outcome)]
        if client.ended is None and not (line.is_cut and only_one):
            line.mend()
            wrong += unlike(await converse(client, "next"), "the same client")
    finally:
        await client.close()
    return wrong


def _is_legal(what: str, outcome: Outcome) -> bool:
    # A server that hears no more may still be heard: its handler fails, and says why.
    return outcome == EXPECTED[what] or isinstance(outcome, LOST) or "the client is gone" in str(outcome)


def unlike(outcomes: dict[str, Outcome], who: str) -> list[str]:
    """Say what of a conversation without faults is not as it should be."""
    return [f"{who} {what}: {outcome!r}" for what, outcome in outcomes.items() if outcome != EXPECTED[what]]


def left_in(ledger: Ledger) -> list[str]:
    """Say which handlers a server has not let go."""
    return [f"still runs: {each}" for each in ledger.running]


def twice(ledger: Ledger, person: Person) -> list[str]:
    """Say what happened more than once."""
    asked = [question for question, count in person.asked.items() if count > 1]
    return [f"twice: {each}" for each in (*ledger.twice, *asked)]


async def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for what nobody tells of, within bounds; whoever calls looks whether it has happened."""
    with anyio.move_on_after(seconds):
        while not condition():  # noqa: ASYNC110 - see above
            await anyio.sleep(0.005)
