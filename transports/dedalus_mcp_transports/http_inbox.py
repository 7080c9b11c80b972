"""What has arrived over all the streams of one connection and waits for the engine.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from dedalus_mcp.transport import Asking, Received

__all__ = ("Inbox",)

# The engine takes all there is at once, so only one that is stuck ever sees these.
MAX_WAITING = 1024
MAX_WAITING_BYTES = 1 << 20


class Inbox:
    """A queue of many writers and one reader.

    Writers ask `full` and await `ready()` before they read more from the network; `put` itself
    never waits, so what is read already is never lost.
    """

    def __init__(self) -> None:
        self._items: list[Received] = []
        self._bytes = 0
        self._closed = False
        self._ended: str | None = None
        self._filled: anyio.Event | None = None
        self._drained: anyio.Event | None = None

    @property
    def full(self) -> bool:
        """Whether more waits than should."""
        return (len(self._items) >= MAX_WAITING or self._bytes >= MAX_WAITING_BYTES) and not self._closed

    def put(self, items: Sequence[Received]) -> None:
        """Add items; after `close`, they are dropped."""
        if not items or self._closed:
            return
        self._items += items
        self._bytes += sum(len(item) for item in items if isinstance(item, bytes))
        if self._filled is not None:
            self._filled.set()

    @contextmanager
    def asking(self) -> Generator[None]:
        """Say that a person is asked meanwhile."""
        self.put([Asking(begins=True)])
        try:
            yield
        finally:
            self.put([Asking(begins=False)])

    async def ready(self) -> None:
        """Return when the inbox is not `full` any more."""
        while self.full:
            self._drained = self._drained or anyio.Event()
            await self._drained.wait()

    async def take(self) -> Sequence[Received]:
        """Wait for items and take all there are.

        Raises:
            anyio.ClosedResourceError: The inbox was closed.
            anyio.BrokenResourceError: It has ended, and everything is taken.
        """
        await checkpoint_if_cancelled()
        while not self._items and not self._closed and self._ended is None:
            self._filled = anyio.Event()
            await self._filled.wait()
        if self._closed:
            raise anyio.ClosedResourceError("the HTTP connection is closed")
        if not self._items:
            raise anyio.BrokenResourceError(self._ended)
        items, self._items, self._bytes = self._items, [], 0
        self._wake()
        return items

    def end(self, reason: str) -> None:
        """Nothing more comes, and that is why; what waits is still to be taken."""
        self._ended = reason
        if self._filled is not None:
            self._filled.set()

    def close(self) -> None:
        """Drop what waits and everything that follows.  Idempotent."""
        self._closed = True
        self._items.clear()
        if self._filled is not None:
            self._filled.set()
        self._wake()

    def _wake(self) -> None:
        if self._drained is not None:
            self._drained.set()
            self._drained = None
