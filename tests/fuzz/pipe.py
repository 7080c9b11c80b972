"""A pipe of which one end is held by a fuzzer, without a process."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from dedalus_mcp.transport import Oversized

__all__ = ("Pipe",)


class Pipe:
    """A duplex of which the far end is held here.

    Attributes:
        heard: The frames that came out of it.
    """

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._frames: list[bytes | Oversized] = []
        self._changed = anyio.Event()
        self._ended = False

    def say(self, frames: Sequence[bytes | Oversized]) -> None:
        """Have frames received."""
        self._frames += frames
        self._changed.set()

    def end(self) -> None:
        """Go away."""
        self._ended = True
        self._changed.set()

    async def receive(self) -> Sequence[bytes | Oversized]:
        """See `Duplex`."""
        while not self._frames:
            if self._ended:
                raise anyio.EndOfStream
            self._changed = anyio.Event()
            await self._changed.wait()
        frames, self._frames = self._frames, []
        return frames

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Duplex`."""
        await anyio.lowlevel.checkpoint()
        self.heard += frames

    async def aclose(self) -> None:
        """See `Duplex`."""
        self.end()
