"""When a round goes out: once nothing more has been asked for a few turns of the event loop.

Siblings in a task group ask in the same moment, and belong into one round.  One task counts the
turns of all calls that ask, and only while there are any: whoever asks is not woken for them.

Layer: L4.
"""

from __future__ import annotations

import logging
from typing import Protocol

from dedalus_mcp.jsonrpc.tasks import Tasks, one_step

__all__ = ("Quiet",)

logger = logging.getLogger("dedalus_mcp")

# Task groups, locks and `started()` need up to three turns until all siblings have asked; real
# I/O needs any number, and what comes later goes into the next round.
QUIET_TURNS = 3
MAX_TURNS = 50


class _Asks(Protocol):
    def round_is_due(self) -> None: ...


class _Turns:
    """What a call that asks has waited for.

    Attributes:
        quiet: Turns since its last question; the one that it was asked in does not count.
        all: Turns since its first one.
    """

    __slots__ = ("all", "quiet")

    def __init__(self) -> None:
        self.quiet = -1
        self.all = -1


class Quiet:
    """Tells calls that they have asked nothing for a while.

    Args:
        tasks: Where the turns are counted.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._waiting: dict[_Asks, _Turns] = {}

    def await_for(self, call: _Asks) -> None:
        """A call has just asked something: tell it when it is quiet."""
        turns = self._waiting.get(call)
        if turns is not None:
            turns.quiet = -1
            return
        if not self._waiting:
            self._tasks.start(self._count, detached=True)
        self._waiting[call] = _Turns()

    async def _count(self) -> None:
        while self._waiting:
            await one_step()
            for call, turns in list(self._waiting.items()):
                turns.quiet += 1
                turns.all += 1
                if turns.quiet == QUIET_TURNS or turns.all == MAX_TURNS:
                    del self._waiting[call]
                    call.round_is_due()
