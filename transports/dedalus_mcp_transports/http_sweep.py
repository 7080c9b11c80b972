"""Frees sessions when they expire: one task for all of them, only while there are any.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp_transports.http_session import Sessions

__all__ = ("Sweep",)

T = TypeVar("T")

# Sessions that expire within so many seconds of each other are freed at once.
PAUSE_SECONDS = 1.0


class Sweep(Generic[T]):
    """Ends the sessions that nobody has used for too long.

    Args:
        sessions: The sessions.
        end: Ends one of them.
    """

    def __init__(self, sessions: Sessions[T], end: Callable[[T], object]) -> None:
        self._sessions = sessions
        self._end = end
        self._tasks = Tasks()
        self._scope: anyio.CancelScope | None = None

    def start(self) -> None:
        """Let no session that is there outlive its time; nothing happens if that is so already."""
        if self._scope is None:
            scope = self._scope = anyio.CancelScope()
            self._tasks.start(lambda: self._run(scope), lambda: self._over(scope), detached=True)

    def stop(self) -> None:
        """There are no more sessions."""
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None

    def now(self) -> None:
        """End those that have expired."""
        for expired in self._sessions.expire(anyio.current_time()):
            self._end(expired)

    async def idle(self) -> None:
        """Return when there is nothing left to wait for."""
        await self._tasks.wait()

    async def _run(self, scope: anyio.CancelScope) -> None:
        seconds = self._sessions.idle_seconds
        with scope:
            while len(self._sessions):
                now = anyio.current_time()
                due = self._sessions.next_expiry()  # none of those that are held expires sooner than that
                pause = seconds if due is None else due - now
                await anyio.sleep(max(pause, min(PAUSE_SECONDS, seconds)))
                self.now()
        self._over(scope)  # now: a session may begin before the task has ended

    def _over(self, scope: anyio.CancelScope) -> None:
        if self._scope is scope:
            self._scope = None
