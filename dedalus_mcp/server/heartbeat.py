"""Asks every client again and again whether it is there, and tells the author of those that seem to be gone.

Nothing else happens to them: what a silence means is the author's to say.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio

from dedalus_mcp.errors import LocalProtocolError
from dedalus_mcp.server.config import PingConfig
from dedalus_mcp.server.sessions import Session
from dedalus_mcp.server.suspicion import Suspicion, Verdict, Watch

__all__ = ("Heartbeat", "for_each")

logger = logging.getLogger("dedalus_mcp")

T = TypeVar("T")


class Heartbeat:
    """Pings all clients that can be asked, at intervals.

    Args:
        config: How.
        sessions: Returns who there is.
        clock: Tells the time, in seconds.
    """

    def __init__(
        self,
        config: PingConfig,
        sessions: Callable[[], Iterable[Session]],
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._config = config
        self._sessions = sessions
        self._clock = clock
        self._watches: WeakKeyDictionary[Session, Watch] = WeakKeyDictionary()

    async def run(self) -> None:
        """Beat until cancelled."""
        from random import uniform  # noqa: PLC0415 - loads much, and most programs never get here

        config = self._config
        while True:
            # Jitter: many servers that start at one time should not ask at one time for ever.
            await anyio.sleep(config.interval * (1 + config.jitter * uniform(-1, 1)))
            await self.beat()

    async def beat(self) -> None:
        """Ask everybody once."""
        there = [session for session in self._sessions() if session.reachable]
        known, now = self._watches, self._clock()
        self._watches = WeakKeyDictionary()
        for session in there:  # who could not be asked meanwhile begins anew: its silence was none
            self._watches[session] = known.get(session) or self._watch(now)
        await for_each(there, self._ask, self._config.max_concurrency)

    def _watch(self, now: float) -> Watch:
        config = self._config
        return Watch(Suspicion(config.interval, now, config.history), config.phi_threshold, config.failure_budget)

    async def _ask(self, session: Session) -> None:
        try:
            answered = await session.ping(self._config.timeout)
        except LocalProtocolError:  # too many of our own questions are open: that is not its fault
            return
        watch = self._watches.get(session)
        if watch is None:
            return
        if answered:
            watch.heard(self._clock())
        elif session.reachable:
            phi, verdicts = watch.missed(self._clock())
            for verdict in verdicts:
                self._tell(verdict, session, phi)

    def _tell(self, verdict: Verdict, session: Session, phi: float) -> None:
        logger.info("%r %s (phi %.1f)", session, verdict.value, phi)
        try:
            if verdict is Verdict.DOWN:
                if self._config.on_down is not None:
                    self._config.on_down(session)
            elif self._config.on_suspect is not None:
                self._config.on_suspect(session, phi)
        except Exception:
            logger.exception("what was to be told of %r failed", session)


async def for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]], limit: int) -> None:
    """Work on all items, at most `limit` at a time."""
    waiting = list(items)
    todo = iter(waiting)
    async with anyio.create_task_group() as group:
        for _ in range(min(limit, len(waiting))):
            group.start_soon(_work_on, todo, work)


async def _work_on(todo: Iterator[T], work: Callable[[T], Awaitable[None]]) -> None:
    for item in todo:
        await work(item)
