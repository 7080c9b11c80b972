"""Whose turn it is to send on a connection, at no cost as long as nobody has to wait.

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
        begun: Whether the response on this connection has begun.
    """

    taken: bool = False
    begun: bool = False
    _changed: anyio.Event | None = None  # made by the first who waits

    async def __aenter__(self) -> Turn:
        while not self.take():
            await self.change()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.give_back()

    def take(self) -> bool:
        """Take it if nobody has it, and tell whether that was so."""
        before, self.taken = self.taken, True
        return not before

    async def change(self) -> None:
        """Return when it was given back, or when `wake` was called."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def give_back(self) -> None:
        """Let another have it."""
        self.taken = False
        self.wake()

    def wake(self) -> None:
        """Let those who wait look whether it is still this one that they wait for."""
        if self._changed is not None:
            self._changed.set()
            self._changed = None
