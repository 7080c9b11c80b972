"""Worker threads for sync handlers: bounded, and given up when their call is cancelled.

A thread cannot be stopped.  So a cancelled call leaves at once, and its thread keeps the place
that it takes until it returns: cancelling calls in a row cannot pile threads up.

Layer: L4.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import anyio
from anyio import from_thread, lowlevel, to_thread

__all__ = ("Threads",)


class Threads:
    """A bounded number of worker threads.

    Args:
        size: How many may run at once, given-up ones included.
    """

    def __init__(self, size: int) -> None:
        self._places = anyio.CapacityLimiter(size)
        self._unlimited = anyio.CapacityLimiter(math.inf)  # the places are what limits

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run `work` in a thread, with the caller's context variables, and return what it returns."""
        place = _Place(self._places, lowlevel.current_token())
        await self._places.acquire_on_behalf_of(place)
        try:
            return await to_thread.run_sync(
                place.held_during, work, abandon_on_cancel=True, limiter=self._unlimited
            )
        finally:
            place.leave()


class _Place:
    """One place in the pool, freed when both the caller and the thread have left it."""

    def __init__(self, places: anyio.CapacityLimiter, token: lowlevel.EventLoopToken) -> None:
        self._places = places
        self._token = token
        self._lock = threading.Lock()
        self._working = False
        self._left = False

    def held_during(self, work: Callable[[], Any]) -> Any:
        with self._lock:
            if self._left:  # cancelled before the thread began
                return None
            self._working = True
        try:
            return work()
        finally:
            self._done()

    def leave(self) -> None:
        """The caller is gone; called in the event loop."""
        with self._lock:
            self._left = True
            if self._working:
                return
        self._places.release_on_behalf_of(self)

    def _done(self) -> None:
        with self._lock:
            self._working = False
            if not self._left:
                return
        try:
            from_thread.run_sync(self._places.release_on_behalf_of, self, token=self._token)
        except RuntimeError:  # the event loop is over, and the pool with it
            return
