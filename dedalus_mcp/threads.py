"""Worker threads for sync handlers: bounded, and given up when their call is cancelled.

A thread cannot be stopped.  So a cancelled call leaves at once, and its thread keeps the place
that it takes until it returns: cancelling calls in a row cannot pile threads up.

Layer: L3.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from anyio import lowlevel, to_thread

__all__ = ("Threads",)


class Threads:
    """A bounded number of worker threads, for each event loop.

    Args:
        size: How many may run at once, given-up ones included.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        # A server may outlive an event loop, as in tests; what waits in one is of no use to another.
        self._pools: WeakKeyDictionary[object, _Pool] = WeakKeyDictionary()

    @property
    def busy(self) -> int:
        """How many run, given-up ones included."""
        return self._pool().busy

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run `work` in a thread, with the caller's context variables, and return what it returns."""
        return await self._pool().run(work)

    async def idle(self) -> None:
        """Return when none runs."""
        await self._pool().idle()

    def _pool(self) -> _Pool:
        token = lowlevel.current_token()
        pool = self._pools.get(token.native_token)
        if pool is None:
            pool = self._pools[token.native_token] = _Pool(self._size, token)
        return pool


class _Pool:
    """The threads of one event loop."""

    def __init__(self, size: int, token: lowlevel.EventLoopToken) -> None:
        self.token = token
        self.busy = 0
        self._places = anyio.CapacityLimiter(size)
        self._unlimited = anyio.CapacityLimiter(math.inf)  # the places are what limits
        self._idle: anyio.Event | None = None

    async def run(self, work: Callable[[], Any]) -> Any:
        place = _Place(self)
        await self._places.acquire_on_behalf_of(place)
        self.busy += 1
        try:
            kept = await to_thread.run_sync(place.hold, work, abandon_on_cancel=True, limiter=self._unlimited)
            return kept[0]
        finally:
            place.leave()

    async def idle(self) -> None:
        while self.busy:
            if self._idle is None:
                self._idle = anyio.Event()
            await self._idle.wait()

    def free(self, place: _Place) -> None:
        self._places.release_on_behalf_of(place)
        self.busy -= 1
        if not self.busy and self._idle is not None:
            self._idle.set()
            self._idle = None


class _Place:
    """One place in the pool, freed when both the caller and the thread have left it."""

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._working = False
        self._left = False

    def hold(self, work: Callable[[], Any]) -> tuple[Any]:
        """Do the work; called in the thread.  What it returns is packed: trio refuses bare coroutines."""
        with self._lock:
            if self._left:  # cancelled before the thread began
                return (None,)
            self._working = True
        try:
            return (work(),)
        finally:
            self._done()

    def leave(self) -> None:
        """Let the caller go; called in the event loop."""
        with self._lock:
            self._left = True
            if self._working:
                return
        self._pool.free(self)

    def _done(self) -> None:
        with self._lock:
            self._working = False
            if not self._left:
                return
        native: Any = self._pool.token.native_token
        # Told, not asked: a loop that is over would never answer, and the thread never end.
        soon = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon
        try:
            soon(self._pool.free, self)
        except RuntimeError:  # the event loop is closed, and the pool with it
            return
