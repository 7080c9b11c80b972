"""Two ends in one process: frames pass as objects, nothing is copied.

    client, server = pair()

Each direction is bounded: `send` waits while the other side has too much unread.

Layer: L5; imports `transport` and anyio.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from dedalus_mcp.transport import Duplex, Oversized

__all__ = ("MAX_UNREAD_BYTES", "MAX_UNREAD_FRAMES", "pair")

MAX_UNREAD_BYTES = 1024 * 1024
"""Bytes waiting to be read above which `send` waits: a pipe's order of magnitude."""

MAX_UNREAD_FRAMES = 1024
"""Frames waiting to be read above which `send` waits: small frames cost more than their bytes."""


def pair() -> tuple[Duplex, Duplex]:
    """Make two ends that are joined: what one sends, the other receives."""
    there, back = _Way(), _Way()
    return _End(back, there), _End(there, back)


class _Way:
    """One direction.  Its methods change state in one go; whoever waits looks again."""

    __slots__ = ("bytes", "changed", "ended", "frames", "unwanted")

    def __init__(self) -> None:
        self.frames: list[bytes | Oversized] = []
        self.bytes = 0
        self.ended = False  # nothing more is sent
        self.unwanted = False  # nothing more is read
        self.changed: anyio.Event | None = None  # made by whoever waits

    @property
    def full(self) -> bool:
        return self.bytes > MAX_UNREAD_BYTES or len(self.frames) > MAX_UNREAD_FRAMES

    def put(self, frames: Sequence[bytes]) -> None:
        self.frames += frames
        self.bytes += sum(map(len, frames))
        self.wake()

    def take(self) -> list[bytes | Oversized]:
        frames, self.frames, self.bytes = self.frames, [], 0
        self.wake()
        return frames

    def wake(self) -> None:
        if self.changed is not None:
            self.changed.set()
            self.changed = None

    async def change(self) -> None:
        # A reader waits for frames, a writer for room: never both, so one event is enough.
        self.changed = self.changed or anyio.Event()
        await self.changed.wait()


class _End:
    """One end.  The other end has the same two ways, crossed."""

    __slots__ = ("_closed", "_in", "_out", "_receiving", "_sending")

    def __init__(self, inward: _Way, outward: _Way) -> None:
        self._in = inward
        self._out = outward
        self._closed = False
        self._receiving = anyio.ResourceGuard("receiving from")
        self._sending = anyio.ResourceGuard("sending to")

    async def receive(self) -> Sequence[bytes | Oversized]:
        with self._receiving:
            await checkpoint_if_cancelled()
            while not self._in.frames or self._closed:
                if self._closed:
                    raise anyio.ClosedResourceError("this end of the memory pair is closed")
                if self._in.ended:
                    raise anyio.EndOfStream("the other end of the memory pair was closed")
                await self._in.change()
            return self._in.take()

    async def send(self, frames: Sequence[bytes]) -> None:
        with self._sending:
            await checkpoint_if_cancelled()
            while True:
                if self._closed:
                    raise anyio.ClosedResourceError("this end of the memory pair is closed")
                if self._out.unwanted:
                    raise anyio.BrokenResourceError("the other end of the memory pair was closed")
                if not self._out.full:
                    self._out.put(frames)
                    return
                await self._out.change()

    async def aclose(self) -> None:
        self._closed = True
        self._in.unwanted = True
        self._in.frames.clear()
        self._out.ended = True
        self._in.wake()
        self._out.wake()
