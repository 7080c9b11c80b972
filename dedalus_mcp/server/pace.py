"""How long one call of a tool may take, and how many may run at once.

    waits for a place ──▶ runs ──asks──▶ suspended ──answered──▶ waits for a place ──▶ runs
                       time counts      no place, no time                          time counts

Layer: L4.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio

from dedalus_mcp.jsonrpc.loops import PerLoop

if TYPE_CHECKING:
    from dedalus_mcp.server.specs import ToolSpec

__all__ = ("OutOfTime", "Pace", "Turn", "count_of", "seconds_of", "turn")


class OutOfTime(Exception):
    """A call took longer than it may."""


class Pace:
    """The bounds of one tool, for all who call it.

    Args:
        timeout: How long one call may run, in seconds; None for no limit.
        max_concurrent: How many calls may run at once; None for no limit.  The others wait.
    """

    __slots__ = ("_limiters", "timeout")

    def __init__(self, timeout: float | None, max_concurrent: int | None) -> None:
        self.timeout = math.inf if timeout is None else timeout
        self._limiters = None if max_concurrent is None else PerLoop(lambda: anyio.CapacityLimiter(max_concurrent))

    @classmethod
    def of(cls, spec: ToolSpec) -> Pace | None:
        """Return the bounds of a tool; None if it has none."""
        bounded = spec.timeout is not None or spec.max_concurrent is not None
        return cls(spec.timeout, spec.max_concurrent) if bounded else None

    async def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do the work of one call, and return what it returns.

        Raises:
            OutOfTime: It took longer than it may, and is cancelled.
            Exception: What the work raised.
        """
        own = Turn(None if self._limiters is None else self._limiters.here(), self.timeout)
        token = turn.set(own)
        try:
            await own.begin()
            with own.scope:
                return await work()
        finally:
            turn.reset(token)
            own.finish()
        raise OutOfTime(f"timed out after {self.timeout:g} s")


class Turn:
    """One call that has begun.

    Args:
        limiter: Has the places; None for no limit.
        seconds: How long it may run; infinite for no limit.

    Attributes:
        scope: What it runs in; cancelled when its time is over.
    """

    __slots__ = ("_asking", "_has_place", "_left", "_limiter", "_over", "_taking", "scope")

    def __init__(self, limiter: anyio.CapacityLimiter | None, seconds: float) -> None:
        self.scope = anyio.CancelScope()
        self._limiter = limiter
        self._left = seconds
        self._asking = 0
        self._has_place = False
        self._over = False
        self._taking = anyio.Lock()

    async def begin(self) -> None:
        """Wait for a place, and let the time count from then on."""
        try:
            if self._limiter is not None:
                async with self._taking:  # tasks of one call may all be answered at once
                    await self._take(self._limiter)
        finally:
            self.scope.deadline = anyio.current_time() + self._left

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """Let others have the place, and no time count, while any question of the call is open.

        Where the wait for an answer is cancelled, and the call is not, it goes on even if there is no place.
        """
        if not self._asking and not self._over:
            self._left = self.scope.deadline - anyio.current_time()
            self.scope.deadline = math.inf
            self._give_back()
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking and not self._over:
                await self.begin()

    def finish(self) -> None:
        """The call is over; what it has left running counts no more."""
        self._over = True
        self._give_back()

    async def _take(self, limiter: anyio.CapacityLimiter) -> None:
        if not self._has_place:
            await limiter.acquire_on_behalf_of(self)
            self._has_place = True
        if self._over:
            self._give_back()

    def _give_back(self) -> None:
        if self._limiter is not None and self._has_place:
            self._has_place = False
            self._limiter.release_on_behalf_of(self)


turn: ContextVar[Turn | None] = ContextVar("dedalus_mcp.turn", default=None)
"""The call that runs here, if it is bounded."""


def seconds_of(timeout: object) -> float | None:
    """Return a limit of time as given.

    Raises:
        TypeError: It is no number.
        ValueError: It leaves no time.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r:.80}")
    if not timeout > 0:
        raise ValueError(f"timeout must be more than 0 seconds, not {timeout!r:.80}")
    return timeout


def count_of(max_concurrent: object) -> int | None:
    """Return a limit of calls at once as given.

    Raises:
        TypeError: It is no whole number.
        ValueError: It leaves no call.
    """
    if max_concurrent is None:
        return None
    if isinstance(max_concurrent, bool) or not isinstance(max_concurrent, int):
        raise TypeError(f"max_concurrent is a number of calls, not {max_concurrent!r:.80}")
    if max_concurrent < 1:
        raise ValueError(f"max_concurrent must be at least 1, not {max_concurrent!r:.80}")
    return max_concurrent
