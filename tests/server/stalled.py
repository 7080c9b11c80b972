"""A channel that nobody reads from, for a while."""

from __future__ import annotations

import anyio
import pytest

from dedalus_mcp.transport import Carrier, Reply

__all__ = ("Stalled",)


class Stalled:
    """A channel that has no room until it is let go."""

    carrier: Carrier | None = None
    takes_calls = True
    unsent = False

    def __init__(self) -> None:
        self.full = True
        self.sent: list[bytes] = []
        self._room = anyio.Event()

    def send(self, frame: bytes) -> None:
        self.sent.append(frame)

    def reply(self, reply: Reply | None) -> None:
        pytest.fail("the handler replies to nothing by itself")

    async def ready(self) -> None:
        await self._room.wait()

    async def flush(self) -> None: ...

    def let_go(self) -> None:
        self.full = False
        self._room.set()
