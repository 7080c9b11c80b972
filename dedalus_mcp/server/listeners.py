"""Who hears of changes on a server: its legacy sessions and its listen streams, as they come and go.

    change ──hear()──▶ the event loops that somebody listens in ──▶ gathered for a moment ──▶ tell()

What changes again while it is gathered is told once.  Where nobody listens, nothing is done.

Layer: L4.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks, current_loop, soon_in
from dedalus_mcp.server.changes import Change

__all__ = ("Listener", "Listeners", "Watcher")


class Listener(Protocol):
    """Somebody who wants to hear of changes."""

    def tell(self, change: Change) -> None:
        """Take a change.  Called in the event loop that it joined in; it must not wait, and not raise."""
        ...


class Watcher(Protocol):
    """Whoever needs to know what is listened for; both are called in the event loop that this happens in."""

    def want(self, change: Change) -> None:
        """Somebody listens for a change now, and nobody did before."""
        ...

    def leave(self, change: Change) -> None:
        """Nobody listens for it any more."""
        ...


class Listeners:
    """All who listen, by what they want to hear of.

    Args:
        delay: How long changes are gathered before they are told, in seconds.
        watcher: Told what is listened for; None if nobody needs to know.

    Attributes:
        streams: The listen streams that are open, of all event loops.
    """

    def __init__(self, delay: float, watcher: Watcher | None = None) -> None:
        self.streams: set[Listener] = set()
        self._delay = delay
        self._watcher = watcher
        # A server may be served in several event loops, and no loop may touch what is another's.
        # There is a room for a loop as long as somebody is in it.
        self._rooms: dict[Any, _Room] = {}

    def __len__(self) -> int:
        """How many there are in this event loop, each counted once for each change that it waits for."""
        room = self._rooms.get(_loop())
        return 0 if room is None else sum(map(len, room.waiting.values()))

    def hear(self, change: Change) -> None:
        """Take a change, from any thread."""
        if not self._rooms:
            return
        here = _loop()
        for loop, room in self._rooms.copy().items():
            if loop is here:
                room.hear(change)
            elif not soon_in(loop, partial(room.hear, change)):
                self._rooms.pop(loop, None)

    def join(self, listener: Listener, change: Change) -> None:
        """Let a listener hear of a change, in this event loop, from now on."""
        loop = _loop()
        room = self._rooms.get(loop)
        if room is None:
            room = self._rooms[loop] = _Room(self._delay)
        if self._watcher is not None and change not in room.waiting:
            self._watcher.want(change)
        room.waiting.setdefault(change, {})[listener] = None

    def leave(self, listener: Listener, change: Change) -> None:
        """Undo `join`; nothing happens where there was none."""
        room = self._rooms.get(loop := _loop())
        if room is None or change not in room.waiting:
            return
        room.waiting[change].pop(listener, None)
        if not room.waiting[change]:
            del room.waiting[change]
            if self._watcher is not None:
                self._watcher.leave(change)
            if not room.waiting:
                del self._rooms[loop]


class _Room:
    """Those who listen in one event loop."""

    def __init__(self, delay: float) -> None:
        self.waiting: dict[Change, dict[Listener, None]] = {}
        self._delay = delay
        self._gathered: dict[Change, None] = {}
        self._tasks = Tasks()

    def hear(self, change: Change) -> None:
        if change not in self.waiting:
            return
        if not self._gathered:  # cleared again also if the task is cancelled before it tells
            self._tasks.start(self._tell, self._gathered.clear, detached=True)
        self._gathered[change] = None

    async def _tell(self) -> None:
        await anyio.sleep(self._delay)
        gathered, self._gathered = self._gathered, {}
        for change in gathered:
            for listener in tuple(self.waiting.get(change, ())):
                listener.tell(change)


def _loop() -> Any:
    """The event loop of this thread; None where there is none."""
    try:
        return current_loop()
    except RuntimeError:
        return None
