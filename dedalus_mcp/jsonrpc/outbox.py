"""What waits to go out on one duplex connection: the bounded channel of the engine.

    handlers ──send(frame)──▶ [frames] ──take()──▶ the write loop ──▶ duplex

`send` never waits, so a reply never waits behind a slow reader.  Those who produce a lot ask
`full` first and await `ready()`.  What arrives while one batch is written leaves as the next.

Layer: L3.
"""

from __future__ import annotations

from collections.abc import Callable

from dedalus_mcp.jsonrpc.tasks import Signal, signal
from dedalus_mcp.transport import Reply

__all__ = ("Outbox",)

# One large pipe buffer: beyond it, the other side is not keeping up.
HIGH_WATER = 1 << 20
# Frames of up to 64 MiB must fit beside others; a peer that leaves more unread is as good as gone.
MAX_PENDING = 256 << 20


class Outbox:
    """A `Channel` that a write loop drains.

    Args:
        overflowed: Called once when more than `max_pending` bytes wait: the peer does not read.
        high_water: From how many waiting bytes on the outbox is `full`.
        max_pending: How many bytes may wait at most.
    """

    def __init__(
        self, overflowed: Callable[[], None], *, high_water: int = HIGH_WATER, max_pending: int = MAX_PENDING
    ) -> None:
        self._overflowed = overflowed
        self._high_water = high_water
        self._max_pending = max_pending
        self._frames: list[bytes] = []
        self._pending = 0  # bytes that wait or are being written
        self._taken = 0  # the part of them that is being written
        self._closed = False
        self._filled: Signal | None = None  # the write loop waits for frames
        self._drained: Signal | None = None  # somebody waits for room

    @property
    def carrier(self) -> None:
        """None: no request carries the messages of a duplex."""
        return None

    @property
    def takes_calls(self) -> bool:
        """Always: a duplex goes both ways."""
        return True

    @property
    def full(self) -> bool:
        """Whether more is waiting to go out than should be."""
        return self._pending > self._high_water and not self._closed

    def send(self, frame: bytes) -> None:
        """Queue one frame; dropped after `close`."""
        if self._closed:
            return
        self._frames.append(frame)
        self._pending += len(frame)
        if self._filled is not None:
            self._filled.set()
            self._filled = None
        if self._pending > self._max_pending:
            self.close()
            self._overflowed()

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply of a call; dropped after `close`."""
        if reply is not None:
            self.send(reply.frame)

    @property
    def unsent(self) -> bool:
        """Never: the write loop sends."""
        return False

    async def flush(self) -> None:
        """Do nothing: see `unsent`."""

    async def ready(self) -> None:
        """Return when the outbox is not `full` any more."""
        while self.full:
            await self._wait_drained()

    async def flushed(self) -> None:
        """Return when everything queued has been written."""
        while self._pending and not self._closed:
            await self._wait_drained()

    async def take(self) -> list[bytes]:
        """Wait for frames and take all there are; the call also says that the last batch is written."""
        self._pending -= self._taken
        self._taken = 0
        self._wake_waiting()
        while not self._frames:
            self._filled = signal()
            await self._filled.wait()
        batch, self._frames = self._frames, []
        self._taken = self._pending
        return batch

    def close(self) -> None:
        """Drop what waits and everything that follows.  Idempotent."""
        self._closed = True
        self._frames.clear()
        self._wake_waiting()

    async def _wait_drained(self) -> None:
        if self._drained is None:
            self._drained = signal()
        await self._drained.wait()

    def _wake_waiting(self) -> None:
        if self._drained is not None:
            self._drained.set()
            self._drained = None
