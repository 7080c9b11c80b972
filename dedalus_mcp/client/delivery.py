"""Hands what the read loop hears to one callback: in order, bounded, and never in the read loop.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from dedalus_mcp.jsonrpc.tasks import Tasks

__all__ = ("Delivery",)

logger = logging.getLogger("dedalus_mcp")

T = TypeVar("T")

# A callback that is this far behind will not catch up; the newest are worth more than the oldest.
MAX_WAITING = 1024


class Delivery(Generic[T]):
    """The way to one callback.

    Args:
        callback: Sync (then it must not block) or async.  What it raises is logged.
        tasks: Where it runs.
    """

    def __init__(self, callback: Callable[[T], Any], tasks: Tasks) -> None:
        self._callback = callback
        self._tasks = tasks
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
            self._tasks.start(self._deliver, lambda: None)

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
        except Exception:
            logger.warning("%s failed", _name(self._callback), exc_info=True)


def _name(callback: Any) -> str:
    return str(getattr(callback, "__qualname__", repr(callback)))
