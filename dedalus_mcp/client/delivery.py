"""Hands what the read loop hears to callbacks: each in order, bounded, and never in the read loop.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

import anyio
import msgspec
from msgspec import Raw, UnsetType

from dedalus_mcp.complaints import Complaints
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.tasks import Tasks, ends_the_task
from dedalus_mcp.types.method import NotificationMethod

__all__ = ("Deliveries", "Delivery", "check_callback", "hearing")

logger = logging.getLogger("dedalus_mcp")

T = TypeVar("T")

# A callback that is this far behind will not catch up; the newest are worth more than the oldest.
MAX_WAITING = 1024
# How long callbacks may take to clean up once their client is closed.
CLOSING_SECONDS = 1.0


class Deliveries:
    """What runs now on behalf of one client, or of one group: callbacks, and what was begun in the background.

    It ends with that client: nothing of it keeps it from closing.
    """

    def __init__(self) -> None:
        self._tasks = Tasks()
        self._running: set[_Running] = set()

    def __len__(self) -> int:
        return len(self._running)

    def start(self, deliver: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `deliver()` in a task of its own."""
        running = _Running()
        self._running.add(running)
        self._tasks.start(lambda: running.run(deliver), lambda: self._over(running))

    async def close(self) -> None:
        """Cancel all but the caller, which may be one of them, and wait for their end for a second."""
        me = anyio.get_current_task().id
        others = [running for running in self._running if running.task != me]
        for running in others:
            running.scope.cancel()
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            for running in others:
                await running.over.wait()

    def _over(self, running: _Running) -> None:
        self._running.discard(running)
        running.over.set()


class _Running:
    """One task of `Deliveries`."""

    __slots__ = ("over", "scope", "task")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()
        self.task: int | None = None  # its id, once it has begun

    async def run(self, deliver: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.task = anyio.get_current_task().id
        with self.scope:
            await deliver()


class Delivery(Generic[T]):
    """The way to one callback.

    Args:
        callback: Sync (then it must not block) or async.  What it raises is logged.
        deliveries: Where it runs.
    """

    def __init__(self, callback: Callable[[T], Any], deliveries: Deliveries) -> None:
        self._callback = callback
        self._deliveries = deliveries
        self._waiting: deque[T] = deque()
        self._running = False
        self._dropped = 0

    def put(self, value: T) -> None:
        """Deliver `value` after all before it.  Never waits."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self._dropped += 1
            if self._dropped == 1:
                logger.warning("%s is too slow: dropping the oldest of what waits for it", _name(self._callback))
        self._waiting.append(value)
        if not self._running:
            self._running = True
            self._deliveries.start(self._deliver)

    async def _deliver(self) -> None:
        try:
            while self._waiting:
                await self._call(self._waiting.popleft())
        finally:
            self._running = False  # here, with nothing awaited since the last look: no value is left behind

    async def _call(self, value: T) -> None:
        try:
            returned = self._callback(value)
            if inspect.isawaitable(returned):
                await returned
        except BaseException as error:
            if ends_the_task(error):
                raise
            logger.warning("%s failed", _name(self._callback), exc_info=error)


def check_callback(callback: Any) -> None:
    """Refuse, where it is given, what could not be called when there is something to tell.

    Raises:
        TypeError: It is no function, or does not take one argument.
    """
    if callback is None:
        return
    if not callable(callback):
        raise TypeError(f"a handler is a function, not {callback!r}")
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # some written in C have none that could be read
        return
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(
            "a handler takes one argument, the params of what it answers or hears, "
            f"as {_name(callback)}{signature!s:.80} does not"
        ) from None


def hearing(method: NotificationMethod[T], delivery: Delivery[T]) -> Callable[[Raw | UnsetType], None]:
    """Return what decodes the params of a notice and delivers them; a bad notice is none, and never answered."""
    complaints = Complaints()

    def hear(params: Raw | UnsetType) -> None:
        try:
            delivery.put(method.decode_params(params))
        except (msgspec.DecodeError, RecursionError) as error:
            complaints.tell("dropped a bad %s: %s", method.name, excerpt(error))

    return hear


def _name(callback: Any) -> str:
    return str(getattr(callback, "__qualname__", repr(callback)))
