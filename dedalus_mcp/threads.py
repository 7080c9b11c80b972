"""Worker threads for sync handlers: bounded, and given up when their call is cancelled.

A thread cannot be stopped.  So a cancelled call leaves at once, and its thread keeps the place
that it takes until it returns: cancelling calls in a row cannot pile threads up.  A thread that
waits, for a person to answer, lends its place to others meanwhile.

Layer: L3.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import anyio
from anyio import from_thread, lowlevel, to_thread

from dedalus_mcp.jsonrpc.loops import PerLoop

__all__ = ("MAX_WAITING", "Threads", "home", "wait")

T = TypeVar("T")

MAX_WAITING = 100
"""Threads of one pool that may wait without a place; one more keeps its own.  Each is 8 MiB of address space."""

_held: ContextVar[_Place] = ContextVar("dedalus_mcp.threads.held")
"""The place of the thread that runs a handler."""


class Threads:
    """A bounded number of worker threads, for each event loop.

    Args:
        size: How many may run at once, given-up ones included.
    """

    def __init__(self, size: int) -> None:
        self._pools = PerLoop(lambda: _Pool(size, lowlevel.current_token()))

    @property
    def busy(self) -> int:
        """How many run, given-up ones included."""
        return self._pools.here().busy

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run `work` in a thread, with the caller's context variables, and return what it returns."""
        return await self._pools.here().run(work)

    async def idle(self) -> None:
        """Return when none runs."""
        await self._pools.here().idle()


def wait(awaitable: Awaitable[T]) -> T:
    """Wait in a worker thread for what the event loop does, and return what comes of it.

    Raises:
        RuntimeError: This is no worker thread of a handler.
        asyncio.CancelledError: The caller has been cancelled, on whatever event loop.
    """
    place = _held.get(None)
    if place is None or place.thread != threading.get_ident():
        if isinstance(awaitable, Coroutine):
            awaitable.close()
        raise RuntimeError(
            "waiting here would stop the event loop, or is not in a handler's thread: `await` it, in an `async def`"
        )
    try:
        answer = from_thread.run(place.wait, awaitable)
    except concurrent.futures.CancelledError as error:  # how asyncio says it in threads, where any `except` takes it
        raise asyncio.CancelledError from error
    if not answer:
        raise asyncio.CancelledError("the call is cancelled")  # trio has no words for it in threads
    return answer[0]


def home() -> object | None:
    """Return the event loop that this thread runs a handler for, as `current_loop` does; None elsewhere."""
    place = _held.get(None)
    return None if place is None or place.thread != threading.get_ident() else place.loop


class _Pool:
    """The threads of one event loop."""

    def __init__(self, size: int, token: lowlevel.EventLoopToken) -> None:
        self.token = token
        self.busy = 0
        self.waiting = 0  # of them, those that have lent their places
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

    @asynccontextmanager
    async def lent(self, place: _Place) -> AsyncGenerator[None]:
        """Let others have the place meanwhile, unless too many have lent theirs."""
        if self.waiting >= MAX_WAITING:
            yield
            return
        self.waiting += 1
        place.is_lent = True
        self._places.release_on_behalf_of(place)
        try:
            yield
            await self._places.acquire_on_behalf_of(place)
            place.is_lent = False
        finally:
            self.waiting -= 1

    def free(self, place: _Place) -> None:
        if not place.is_lent:  # one that was cancelled while it waited never got it back
            self._places.release_on_behalf_of(place)
        self.busy -= 1
        if not self.busy and self._idle is not None:
            self._idle.set()
            self._idle = None


class _Place:
    """One place in the pool, freed when both the caller and the thread have left it."""

    def __init__(self, pool: _Pool) -> None:
        self.is_lent = False
        self.loop: object = pool.token.native_token
        self.thread: int | None = None
        self._pool = pool
        self._lock = threading.Lock()
        self._working = False
        self._left = False
        self._waiting: anyio.CancelScope | None = None

    def hold(self, work: Callable[[], Any]) -> tuple[Any]:
        """Do the work; called in the thread.  What it returns is packed: trio refuses bare coroutines."""
        with self._lock:
            if self._left:  # cancelled before the thread began
                return (None,)
            self._working = True
        self.thread = threading.get_ident()
        _held.set(self)  # in a copy of the caller's context
        try:
            return (work(),)
        finally:
            self._done()

    async def wait(self, awaitable: Awaitable[T]) -> tuple[T] | tuple[()]:
        """Wait for it, called in the event loop, without the place; nothing comes back if the caller leaves."""
        with anyio.CancelScope() as self._waiting:  # trio would let it go on without its caller
            if self._left:
                self._waiting.cancel()
            async with self._pool.lent(self):
                return (await awaitable,)
        return ()

    def leave(self) -> None:
        """Let the caller go; called in the event loop."""
        if self._waiting is not None:
            self._waiting.cancel()
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
