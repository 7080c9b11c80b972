"""When a call has been waited for long enough, without reading any clock.

    running ──progressed()──▶ starts anew, never beyond the total
       │ ▲
    stop() start()            a person is being asked: that time does not count

Every method takes the present time and sets `deadline`, in seconds of one monotonic clock.

Layer: L2; imports nothing of this package.
"""

from __future__ import annotations

import sys
from math import inf

__all__ = ("Clock", "Timeout")


class Timeout:
    """How long to wait for the reply to a call.

    Args:
        seconds: The time to wait, in seconds.
        reset_on_progress: Whether each progress notice of the call starts that time anew.
        total: The longest time to wait however much progress there is, in seconds; None for
            no such limit.

    Attributes:
        first: How long if there is no progress, in seconds.

    Raises:
        TypeError: A time is no `int` or `float`.
        ValueError: It is negative, not a number, or more than a `float` holds.

    Source: MCP 2025-11-25, basic/lifecycle, "Timeouts"; CANC-13 and CANC-14 in short.
    """

    __slots__ = ("first", "reset_on_progress", "seconds", "total")

    def __init__(self, seconds: float, *, reset_on_progress: bool = False, total: float | None = None) -> None:
        for name, value in (("seconds", seconds), ("total", total)):
            if value is not None:
                _check(name, value)
        self.seconds = seconds
        self.reset_on_progress = reset_on_progress
        self.total = total
        self.first = seconds if total is None else min(seconds, total)

    def __repr__(self) -> str:
        return f"Timeout({self.seconds!r}, reset_on_progress={self.reset_on_progress!r}, total={self.total!r})"


def _check(name: str, value: float) -> None:
    if not isinstance(value, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]  # from untyped code
        raise TypeError(f"timeout: {name} is a number of seconds, an int or a float, not {value!r:.80}")
    if not 0 <= value <= sys.float_info.max and value != inf:
        raise ValueError(f"timeout: {name} is a number of seconds >= 0, not {_shown(value)}")


def _shown(value: float) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python writes no integer that is too long
        return "one of thousands of digits"


class Clock:
    """The deadline of one call.

    Args:
        timeout: How long the call may take.
        now: The present time.

    Attributes:
        deadline: When the wait is over; `math.inf` while the clock is stopped.
    """

    __slots__ = ("_end", "_last", "_stopped_at", "_timeout", "deadline")

    def __init__(self, timeout: Timeout, now: float) -> None:
        self._timeout = timeout
        self._end = now + timeout.seconds
        self._last = inf if timeout.total is None else now + timeout.total
        self._stopped_at: float | None = None
        self.deadline = now + timeout.first

    def progressed(self, now: float) -> None:
        """The peer showed a sign of life."""
        if self._timeout.reset_on_progress:
            begin = now if self._stopped_at is None else self._stopped_at
            self._end = begin + self._timeout.seconds
            self._set()

    def stop(self, now: float) -> None:
        """Time does not count from now on.  Idempotent."""
        if self._stopped_at is None:
            self._stopped_at = now
            self.deadline = inf

    def start(self, now: float) -> None:
        """Time counts again, from where it stopped.  Idempotent."""
        if self._stopped_at is not None:
            pause = now - self._stopped_at
            self._stopped_at = None
            self._end += pause
            self._last += pause
            self._set()

    def _set(self) -> None:
        if self._stopped_at is None:
            self.deadline = min(self._end, self._last)
