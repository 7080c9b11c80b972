"""Tasks that outlive the code that starts them, on asyncio and trio alike.

A handler's task belongs to its conversation, not to the loop that read its call, and must start
from plain synchronous code.  So it is a native task of the event loop, kept here until it ends.
anyio's task groups would need an owner task for every conversation, and cost twice as much.

Nothing may leave such a task but cancellation: on trio it would end the program.

Layer: L3; transports use it too.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeAlias

import anyio

__all__ = (
    "Run",
    "Signal",
    "Tasks",
    "Timer",
    "being_cancelled",
    "call_at",
    "current_loop",
    "ends_the_task",
    "is_foreign",
    "now",
    "one_step",
    "runs_trio",
    "signal",
    "soon_in",
)

logger = logging.getLogger("dedalus_mcp")

Run: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Tasks:
    """A set of running tasks.  Starting is synchronous; waiting for the end is not."""

    __slots__ = ("_idle", "_running")

    def __init__(self) -> None:
        self._running: dict[object, Callable[[], None] | None] = {}  # and what is called at the end
        self._idle: anyio.Event | None = None

    def __len__(self) -> int:
        return len(self._running)

    def start(self, run: Run, ended: Callable[[], None] | None = None, *, detached: bool = False) -> None:
        """Start `run()` in a task of its own.

        Args:
            run: Raises nothing but cancellation.
            ended: Called when the task is over, also when it was cancelled before its first step; None
                where nothing is left to be done then.
            detached: Whether the task starts with an empty context instead of the caller's,
                which it would otherwise keep alive.
        """
        context = contextvars.Context() if detached else None
        if _in_trio():
            self._start_on_trio(run, ended, contextvars.copy_context() if context is None else context)
        else:
            task = asyncio.get_running_loop().create_task(run(), context=context)
            self._running[task] = ended
            task.add_done_callback(self._done)

    def hold(self, key: object) -> None:
        """Count what runs in a task of somebody else's as one of these, until `let_go`."""
        self._running[key] = None

    def let_go(self, key: object) -> None:
        """It is over: see `hold`."""
        self._done(key)

    async def wait(self) -> None:
        """Return when no task is left."""
        while self._running:
            if self._idle is None:
                self._idle = anyio.Event()
            await self._idle.wait()

    def _start_on_trio(self, run: Run, ended: Callable[[], None] | None, context: contextvars.Context) -> None:
        import trio  # noqa: PLC0415 - only ever reached where it is running

        key = object()

        async def main() -> None:
            try:
                await run()
            except GeneratorExit:  # raised by a handler; asyncio logs it, trio would end the program
                logger.exception("a task ended itself")
            finally:
                self._done(key)

        self._running[key] = ended
        trio.lowlevel.spawn_system_task(main, context=context)

    def _done(self, task: object) -> None:
        ended = self._running.pop(task)
        if ended is not None:
            ended()
        if not self._running and self._idle is not None:
            self._idle.set()
            self._idle = None


def one_step() -> Awaitable[None]:
    """Let tasks that were just started take their first step (on trio: maybe)."""
    if _in_trio():
        import trio  # noqa: PLC0415 - only ever reached where it is running

        return trio.lowlevel.cancel_shielded_checkpoint()  # noqa: ASYNC105 - the caller awaits it
    return asyncio.sleep(0)


class Signal(Protocol):
    """Set once, by whoever others wait for."""

    def is_set(self) -> bool:
        """Whether it is set."""
        ...

    def set(self) -> object:
        """Wake those who wait."""
        ...

    async def wait(self) -> object:
        """Return once it is set."""
        ...


def signal() -> Signal:
    """Return a signal of the event loop that runs: anyio's own events take six times as long to make."""
    if _in_trio():
        import trio  # noqa: PLC0415 - only ever reached where it is running

        return trio.Event()
    return _AsyncioSignal()


class _AsyncioSignal:
    """As asyncio's own event, which makes a queue for those who wait and takes a lock: here mostly one waits."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        if self._is_set:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting += (future,)
        try:
            await future
        except BaseException:  # whoever waits for long may come again and again
            self._waiting = tuple(each for each in self._waiting if each is not future)
            raise


class Timer(Protocol):
    """Something that is done later."""

    def cancel(self) -> object:
        """Do not do it, if it is not done yet."""
        ...


def now() -> float:
    """Return the time of the event loop's clock, in seconds: see `call_at`."""
    if _in_trio():
        import trio  # noqa: PLC0415 - only ever reached where it is running

        return trio.current_time()
    return asyncio.get_running_loop().time()


def call_at(when: float, run: Callable[[], object]) -> Timer:
    """Call `run` at a time of the event loop's clock, unless that is cancelled: a scope costs five times as much.

    Args:
        when: As `now` tells it, in seconds.
        run: It must not block or raise.
    """
    if not _in_trio():
        return asyncio.get_running_loop().call_at(when, run)
    import trio  # noqa: PLC0415 - only ever reached where it is running

    scope = trio.CancelScope()

    async def main() -> None:
        with scope:
            await trio.sleep_until(when)
            run()

    trio.lowlevel.spawn_system_task(main)
    return scope


def soon_in(loop: Any, run: Callable[[], object]) -> bool:
    """Have an event loop call `run` soon; from any thread.  It must not block or raise.

    Args:
        loop: As `current_loop` returns it.
        run: What to call.

    Returns:
        Whether it will; False if that loop is over.
    """
    soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
    try:
        soon(run)
    except RuntimeError:
        return False
    return True


def current_loop() -> object:
    """Return what stands for the event loop that runs: one key for whatever belongs to it."""
    if _in_trio():
        import trio  # noqa: PLC0415 - only ever reached where it is running

        return trio.lowlevel.current_trio_token()
    return asyncio.get_running_loop()


def _in_trio() -> bool:
    says = getattr(sys.modules.get("trio.lowlevel"), "in_trio_task", None)  # None too while a thread imports it
    return says is not None and bool(says())


def runs_trio() -> bool:
    """Whether trio runs in this thread, be it in a task or not."""
    says = getattr(sys.modules.get("trio.lowlevel"), "in_trio_run", None)
    return says is not None and bool(says())


def being_cancelled() -> bool:
    """Whether the current task is on its way out, also by the event loop's own shutdown.

    That kind of cancellation is delivered once, and no cancel scope knows of it: a task that
    then waits for something new in its cleanup would keep the loop from ending.
    """
    if _in_trio():
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_foreign(cancellation: BaseException) -> bool:
    """Whether it is not the current task that was cancelled, but something that it waited for.

    On asyncio both raise the same error; trio has none that could wander.
    """
    return isinstance(cancellation, asyncio.CancelledError) and not being_cancelled()


def ends_the_task(error: BaseException) -> bool:
    """Whether what user code has raised must leave the task that runs it: its own cancellation, or an interrupt.

    Anything else, `SystemExit` too, is one more failure of that code: it would end the whole program.
    """
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return True
    return isinstance(error, anyio.get_cancelled_exc_class()) and not is_foreign(error)
