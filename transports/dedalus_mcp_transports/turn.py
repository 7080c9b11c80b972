"""Whose turn it is to send, at no cost as long as nobody has to wait.

Layer: L5.
"""

from __future__ import annotations

import anyio
import msgspec

__all__ = ("Turn",)


class Turn(msgspec.Struct, eq=False, gc=False):  # of every response, and no part of a cycle
    """Held by one task at a time, with `async with`; whoever has it does not take it again.

    A task that waits may be cancelled: nothing is lost by that.

    Attributes:
        taken: Whether a task has it.
    """

    taken: bool = False
    _given_back: anyio.Event | None = None  # made by the first who waits

    async def __aenter__(self) -> Turn:
        if not self.take():
            await self.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.give_back()

    def take(self) -> bool:
        """Take it if nobody has it, and tell whether that was so."""
        before, self.taken = self.taken, True
        return not before

    async def wait(self) -> None:
        """Take it once nobody has it."""
        while not self.take():
            if self._given_back is None:
                self._given_back = anyio.Event()
            await self._given_back.wait()

    def give_back(self) -> None:
        """Let another have it."""
        self.taken = False
        if self._given_back is not None:
            self._given_back.set()
            self._given_back = None
