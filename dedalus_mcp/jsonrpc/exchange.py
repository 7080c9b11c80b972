"""Who waits for what: correlation in both directions, for one conversation, without I/O.

`Exchange` does no I/O, starts no task and reads no clock.  Its methods never await, so no
other code sees half a change, and every interleaving is a plain unit test.  What waits for a
call of ours (a *waiter*) and what answers a call of theirs (a *run*) are the caller's own
objects: the exchange keeps them and hands them back.

    ours:    open() ──▶ open ──settle(reply)──▶ settled, exactly once
                          ├────abandon()──────▶ abandoned; its late reply is known as such
                          └────close()────────▶ settled, without a reply
    theirs:  accept() ─▶ running ──finish()───▶ finished; only now its id is free again
                          ├────cancel()───────▶ ending: the id is free, the run still counts
                          └────close()────────▶ ending

Layer: L2; imports `errors` and `messages` only.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Generic, TypeVar

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ConnectionLost, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.messages import RequestId

__all__ = ("Exchange", "Stray")

Waiter = TypeVar("Waiter")
Run = TypeVar("Run")

# Enough abandoned ids to recognise every late reply of a peer that is not hopelessly behind.
MAX_REMEMBERED = 1024

_NONE: frozenset[Any] = frozenset()


class Stray(Enum):
    """A reply that settles nothing, and why.  None of them harms the conversation."""

    LATE = "its call was abandoned"
    DUPLICATE = "its call is settled already"
    UNKNOWN = "no such call was ever made"


class Exchange(Generic[Waiter, Run]):
    """The open calls of both sides.

    Args:
        max_open: How many calls of ours may be open at once (a count).
        max_running: How many calls of theirs may run at once, those still ending included.
        mark: What the ids of our calls begin with.  Where the replies to many conversations come in
            together it tells them apart, and a random one makes the ids hard to guess.

    Attributes:
        lasting: The calls of theirs that go on until they are ended: see `release`.
    """

    __slots__ = (
        "_abandoned",
        "_busy",
        "_closed",
        "_last_id",
        "_mark",
        "_max_open",
        "_max_running",
        "_open",
        "_running",
        "lasting",
    )

    def __init__(self, *, max_open: int, max_running: int, mark: str = "") -> None:
        self._max_open = max_open
        self._max_running = max_running
        self._mark = mark
        self._last_id = 0  # ids are 1, 2, 3...: some peers take 0 for null
        self._open: dict[int, Waiter] = {}
        self._abandoned: dict[int, None] = {}  # in order of abandonment
        self._running: dict[RequestId, Run] = {}  # 1 and "1" are different ids, and different keys
        self._busy: dict[Run, None] = {}  # a set takes thrice the room, and most conversations are idle
        self.lasting: frozenset[Run] = _NONE  # few if any, and most conversations have none
        self._closed: str | None = None

    @property
    def busy(self) -> int:
        """How many calls of theirs run, those still ending included."""
        return len(self._busy)

    @property
    def waiters(self) -> list[Waiter]:
        """The waiters of our open calls, oldest first."""
        return list(self._open.values())

    def open(self, waiter: Waiter) -> RequestId:
        """Open a call of ours and return its id.

        Raises:
            LocalProtocolError: `max_open` calls are open already.
            ConnectionLost: The exchange is closed.
        """
        if self._closed is not None:
            raise ConnectionLost(self._closed)
        if len(self._open) >= self._max_open:
            raise LocalProtocolError(f"too many calls: {self._max_open} are open already, which is the limit")
        self._last_id += 1
        self._open[self._last_id] = waiter
        return f"{self._mark}{self._last_id}" if self._mark else self._last_id

    def settle(self, id: RequestId | None) -> Waiter | Stray:
        """Take a reply to the call `id`: whoever waits for it, or why nobody does.

        An id of ours that comes back as its decimal string is accepted: some peers do that.
        """
        number = self._number(id)
        if number is None or not 0 < number <= self._last_id:
            return Stray.UNKNOWN
        if number in self._open:
            return self._open.pop(number)
        if number in self._abandoned:
            del self._abandoned[number]
            return Stray.LATE
        return Stray.DUPLICATE

    def abandon(self, id: RequestId) -> bool:
        """Stop waiting for our call `id`; True if it was open, so the peer is worth telling."""
        number = self._number(id)
        if number is None or self._open.pop(number, None) is None:
            return False
        self._abandoned[number] = None
        if len(self._abandoned) > MAX_REMEMBERED:
            del self._abandoned[next(iter(self._abandoned))]
        return True

    @property
    def full(self) -> bool:
        """Whether as many calls of theirs run as may."""
        return len(self._busy) - len(self.lasting) >= self._max_running

    def accept(self, id: RequestId, run: Run, *, beyond: bool = False) -> None:
        """Begin to answer a call of theirs.

        Args:
            id: Its id.
            run: What answers it.
            beyond: Whether it may run beyond the bound, up to twice that: one that others wait for.

        Raises:
            McpError: The reply to give instead: `id` is that of a running call (which goes on
                undisturbed), or `max_running` calls run already.
            ConnectionLost: The exchange is closed.
        """
        if self._closed is not None:
            raise ConnectionLost(self._closed)
        if id in self._running:
            raise McpError(INVALID_REQUEST, f"Invalid request: a call with id {_short(id)} is still running")
        if len(self._busy) - len(self.lasting) >= self._max_running * (2 if beyond else 1):
            raise McpError(INTERNAL_ERROR, f"Too many calls: {self._max_running} are running, which is the limit")
        self._running[id] = run
        self._busy[run] = None

    def release(self, run: Run) -> None:
        """Let a run last: its id stays taken, but it has no part in `max_running` any more."""
        self.lasting |= {run}

    def runs(self, id: RequestId) -> bool:
        """Whether a call with this id is under way, whoever made it."""
        return id in self._running or self._number(id) in self._open

    def cancel(self, id: RequestId | None) -> Run | None:
        """Free the id of their running call and return the run to be ended; None if there is none."""
        return None if id is None else self._running.pop(id, None)

    def cancel_all(self) -> list[Run]:
        """Free the ids of all their running calls and return the runs to be ended."""
        runs = list(self._running.values())
        self._running.clear()
        return runs

    def finish(self, id: RequestId, run: Run) -> bool:
        """The run is over, however it ended; True the first time."""
        if run not in self._busy:
            return False
        del self._busy[run]
        if self.lasting:
            self.lasting -= {run}
        if self._running.get(id) is run:
            del self._running[id]
        return True

    def lose(self, reason: str) -> list[Waiter]:
        """No reply can come any more: refuse new calls both ways, and settle ours.  Idempotent."""
        if self._closed is None:
            self._closed = reason
        waiters = list(self._open.values())
        self._open.clear()
        return waiters

    def close(self, reason: str) -> tuple[list[Waiter], list[Run]]:
        """End everything: the waiters to be told, and the runs to be ended.  Idempotent."""
        return self.lose(reason), self.cancel_all()

    def _number(self, id: RequestId | None) -> int | None:
        """The number of a call of ours, if `id` can be that of one at all."""
        if not self._mark:
            return _ours(id)
        return _ours(id.removeprefix(self._mark)) if isinstance(id, str) and id.startswith(self._mark) else None


def _ours(id: RequestId | None) -> int | None:
    """The number that `id` stands for, if it can be one of ours at all."""
    if isinstance(id, int):
        return id
    # 18 digits: beyond any id of ours, and short enough to be cheap.
    if id is None or len(id) > 18 or not id.isascii() or not id.isdigit() or (id[0] == "0"):
        return None
    return int(id)


def _short(id: RequestId) -> str:
    text = repr(id)
    return text if len(text) <= 80 else text[:77] + "..."
