"""One timer for all that have a deadline in an event loop.

Nearly all deadlines are never reached.  A timer for each would be made and cancelled for every call, and
what is cancelled stays in the event loop's queue for a while; here a deadline is an entry in a table.

Layer: L3.
"""

from __future__ import annotations

from math import inf
from typing import Protocol

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.jsonrpc.tasks import Timer, call_at, now

__all__ = ("Alarm", "Sleeper", "alarms")


class Sleeper(Protocol):
    """Whoever has a deadline."""

    def expire(self) -> None:
        """It is reached.  It must not raise."""
        ...


class Alarm:
    """Tells sleepers of their deadlines.

    Its timer is set for the soonest that there was, as long as there is any: where that one does not need it
    any more, it rings for nobody, and is set anew.

    Attributes:
        timer: That; None while there are no sleepers.
    """

    def __init__(self) -> None:
        self._deadlines: dict[Sleeper, float] = {}
        self._rings_at = inf
        self.timer: Timer | None = None

    def __len__(self) -> int:
        """How many sleepers there are."""
        return len(self._deadlines)

    def set(self, sleeper: Sleeper, deadline: float) -> None:
        """Tell a sleeper at that time of the event loop's clock, and at no other any more; `inf` for never."""
        if deadline == inf:
            self.clear(sleeper)
            return
        self._deadlines[sleeper] = deadline
        if deadline < self._rings_at:
            self._ring_at(deadline)

    def clear(self, sleeper: Sleeper) -> None:
        """Do not tell it.  Idempotent."""
        if self._deadlines.pop(sleeper, None) is not None and not self._deadlines:
            self._stop()

    def _ring_at(self, time: float) -> None:
        self._stop()
        self._rings_at = time
        self.timer = call_at(time, self._ring)

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self._rings_at = None, inf

    def _ring(self) -> None:
        self.timer, self._rings_at = None, inf
        time = now()
        due = [sleeper for sleeper, deadline in self._deadlines.items() if deadline <= time]
        for sleeper in due:
            del self._deadlines[sleeper]
        if self._deadlines:
            self._ring_at(min(self._deadlines.values()))
        for sleeper in due:
            sleeper.expire()


alarms = PerLoop(Alarm)
