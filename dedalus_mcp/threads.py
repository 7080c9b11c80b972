"""Worker threads for sync handlers: bounded, and given up when their call is cancelled.

    run() ──▶ queue ──▶ worker: as many calls as wait, one after the other ──▶ all that is done, at once

A thread that wakes costs more than most handlers do, and one that has work goes on with the next at no
cost.  So at most one worker is on its way at any time: when it comes and there is more than it can do at
once, it asks for another.  Handlers that block get a thread each; short ones share one.

A thread cannot be stopped.  So a cancelled call leaves at once, and its worker keeps the place that it
takes until the call returns: cancelling calls in a row cannot pile threads up.  A thread that waits, for
a person to answer, lends its place to others meanwhile, and has one again before it goes on; only where
its call is cancelled it goes on without, and counts as one that waits.

Layer: L3.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar
from weakref import ref

import anyio
from anyio import from_thread, lowlevel, to_thread

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.jsonrpc.tasks import Tasks, signal, soon_in

__all__ = ("MAX_WAITING", "Threads", "home", "wait")

T = TypeVar("T")

MAX_WAITING = 100
"""Threads of one pool that may be without a place; one more keeps its own.  Each is 8 MiB of address space."""

_mine: ContextVar[_Job] = ContextVar("dedalus_mcp.threads.job")
"""The job that a thread does."""


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

    @property
    def queued(self) -> int:
        """How many wait for a thread."""
        return self._pools.here().queued

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
    job = _job_here()
    if job is None:
        if isinstance(awaitable, Coroutine):
            awaitable.close()
        raise RuntimeError(
            "waiting here would stop the event loop, or is not in a handler's thread: `await` it, in an `async def`"
        )
    try:
        answer = from_thread.run(job.wait, awaitable)
    except concurrent.futures.CancelledError as error:  # how asyncio says it in threads, where any `except` takes it
        raise asyncio.CancelledError from error
    if not answer:
        raise asyncio.CancelledError("the call is cancelled")  # trio has no words for it in threads
    return answer[0]


def home() -> object | None:
    """Return the event loop that this thread runs a handler for, as `current_loop` does; None elsewhere."""
    job = _job_here()
    return None if job is None else job.pool.loop


def _job_here() -> _Job | None:
    job = _mine.get(None)
    return job if job is not None and job.thread == threading.get_ident() else None


class _Pool:
    """The threads of one event loop; what is not told to be a worker's is called in that loop."""

    def __init__(self, size: int, token: lowlevel.EventLoopToken) -> None:
        self.busy = 0  # jobs that are being done, and whose callers do not know yet that they are
        self.waiting = 0  # workers that have lent their places, and do not have them back
        self._wanted = 0  # places that are wanted back: workers leave theirs, or they would for ever have more to do
        self._loop = ref(token.native_token)  # there is one pool for each, and it goes with the loop
        self._places = anyio.CapacityLimiter(size)
        self._unlimited = anyio.CapacityLimiter(math.inf)  # the places are what limits
        self._tasks = Tasks()
        self._idle: anyio.Event | None = None
        self._lock = threading.Lock()  # for what follows
        self._queue: deque[_Job] = deque()
        self._done: list[_Job] = []
        self._coming = False  # a worker is, and has not looked at the queue yet
        self._asked = False  # the event loop is to look whether one more is needed
        self._told = False  # the event loop is to look at what is done
        self._closed = False  # the event loop is

    @property
    def loop(self) -> object | None:
        return self._loop()

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def run(self, work: Callable[[], Any]) -> Any:
        job = _Job(self, work)
        with self._lock:
            self._queue.append(job)
        self._want_worker()
        try:
            await job.over.wait()
        finally:
            self._leave(job)
        return job.result()

    async def idle(self) -> None:
        while self.busy:
            if self._idle is None:
                self._idle = anyio.Event()
            await self._idle.wait()

    @asynccontextmanager
    async def lent(self, worker: _Worker) -> AsyncGenerator[None]:
        """Let others have the place meanwhile, unless too many have lent theirs."""
        if not worker.has_place or self.waiting >= MAX_WAITING:
            yield
            return
        self.waiting += 1
        worker.has_place, worker.is_lent = False, True
        self._places.release_on_behalf_of(worker)
        yield
        self._wanted += 1
        try:
            await self._places.acquire_on_behalf_of(worker)
        finally:
            self._wanted -= 1
        worker.has_place, worker.is_lent = True, False
        self.waiting -= 1

    def take(self, worker: _Worker) -> _Job | None:
        """Take the next job; None if there is none, or no place to do it in.  A worker's."""
        with self._lock:
            self._arrived(worker)
            if self._closed or self._wanted or not (self._queue and worker.has_place):
                return None
            job = self._queue.popleft()
            job.worker = worker
            self.busy += 1
            ask = bool(self._queue) and not (self._coming or self._asked)
            self._asked = self._asked or ask
        if ask:
            self._tell(self._look)
        return job

    def give_back(self, job: _Job) -> None:
        """A job is done.  A worker's."""
        with self._lock:
            self._done.append(job)
            tell, self._told = not self._told, True
        if tell:
            self._tell(self._deliver)

    def _leave(self, job: _Job) -> None:
        """The caller has what it waited for, or waits no more."""
        with self._lock:
            if job.worker is None and not job.over.is_set():
                self._queue.remove(job)
        job.leave()

    def _tell(self, what: Callable[[], None]) -> None:
        # Told, not asked: a loop that is over would never answer, and the thread never end.
        loop = self._loop()
        if loop is None or not soon_in(loop, what):
            self._closed = True

    def _look(self) -> None:
        with self._lock:
            self._asked = False
        self._want_worker()

    def _arrived(self, worker: _Worker) -> None:
        if worker.is_new:
            worker.is_new = self._coming = False

    def _want_worker(self) -> None:
        with self._lock:
            if self._coming or not self._queue:
                return
            self._coming = True
        self._tasks.start(partial(self._serve, _Worker(self)), detached=True)

    async def _serve(self, worker: _Worker) -> None:
        try:
            await self._places.acquire_on_behalf_of(worker)
            worker.has_place = True
            await to_thread.run_sync(worker.work, abandon_on_cancel=True, limiter=self._unlimited)
        except Exception as error:  # noqa: BLE001 - there is no thread to be had: whoever waits longest is told
            job = self.take(worker)
            if job is not None:
                job.error = error
                self.give_back(job)
        finally:
            self._gone(worker)

    def _gone(self, worker: _Worker) -> None:
        """A worker does no more: there was nothing to do, or its task was ended by force."""
        with self._lock:
            self._arrived(worker)
            had, worker.has_place = worker.has_place, False
        if worker.is_lent:
            self.waiting -= 1
        elif had:
            self._places.release_on_behalf_of(worker)
        self._want_worker()

    def _deliver(self) -> None:
        with self._lock:
            done, self._done = self._done, []
            self._told = False
            self.busy -= len(done)
        for job in done:
            job.over.set()
        if not self.busy and self._idle is not None:
            self._idle.set()
            self._idle = None


class _Worker:
    """A thread that does jobs, as long as there are any.

    Attributes:
        has_place: Whether it has one of the places that are there.
        is_lent: Whether it has lent that.
        is_new: Whether it has not looked at the queue yet.
    """

    def __init__(self, pool: _Pool) -> None:
        self.has_place = False
        self.is_lent = False
        self.is_new = True
        self._pool = pool

    def work(self) -> None:
        """Do them; called in the thread."""
        while (job := self._pool.take(self)) is not None:
            job.run()
            self._pool.give_back(job)
            del job


class _Job:
    """What one caller wants to be done.

    Attributes:
        pool: Where.
        over: Set when it is done.
        worker: Who does it; None before it has begun.
        thread: Which thread that is.
        error: What it raised.
    """

    def __init__(self, pool: _Pool, work: Callable[[], Any]) -> None:
        self.pool = pool
        self.over = signal()
        self.worker: _Worker | None = None
        self.thread: int | None = None
        self.error: BaseException | None = None
        self._value: Any = None
        self._work: Callable[[], Any] | None = work
        self._context: Context | None = copy_context()
        self._left = False
        self._waiting: anyio.CancelScope | None = None

    def run(self) -> None:
        """Do it, in the context variables of its caller; called in the thread."""
        work, context = self._work, self._context
        self._work = self._context = None  # which knows the job, in its turn
        assert work is not None
        assert context is not None
        context.run(self._do, work)

    def _do(self, work: Callable[[], Any]) -> None:
        self.thread = threading.get_ident()
        _mine.set(self)
        _no_event_loop_here()
        try:
            value = work()
            if not self._left:
                self._value = value
        except BaseException as error:  # noqa: BLE001 - the caller's
            if not self._left:
                self.error = error

    def result(self) -> Any:
        """Return what it returned, once.

        Raises:
            BaseException: What it raised.
        """
        value, error = self._value, self.error
        self._value = self.error = None
        if error is None:
            return value
        try:
            raise error
        finally:
            del error  # a cycle with its own traceback

    async def wait(self, awaitable: Awaitable[T]) -> tuple[T] | tuple[()]:
        """Wait for it, called in the event loop, without a place; nothing comes back if the caller leaves."""
        assert self.worker is not None
        with anyio.CancelScope() as self._waiting:  # trio would let it go on without its caller
            if self._left:
                self._waiting.cancel()
            async with self.pool.lent(self.worker):
                return (await awaitable,)
        return ()

    def leave(self) -> None:
        """Nobody waits for it any more."""
        self._left = True
        if self._waiting is not None:
            self._waiting.cancel()


def _no_event_loop_here() -> None:
    """Undo what the caller's context says of its thread: code that asks would take this one for that."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        sniffio.current_async_library_cvar.set(None)
