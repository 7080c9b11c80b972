"""When to stop asking somebody who fails, and when to try again: a circuit breaker, without I/O or clock.

    closed ──threshold failures in a row──▶ open ──cooldown──▶ one attempt is let through
      ▲                                       ▲                   │              │
      │                                       └──────failed───────┘              │
      └─────────────────────────────────succeeded────────────────────────────────┘

Several attempts may run at once.  What one that began before the breaker opened comes to still
counts if it is a success: then somebody is there.

Layer: L4; no I/O.
Source: Nygard, "Release It!", 2007, "Circuit Breaker".
"""

from __future__ import annotations

__all__ = ("Breaker",)


class Breaker:
    """Whether somebody may be asked.

    Every attempt that was begun ends in one of `succeeded`, `failed` and `abandoned`.

    Args:
        threshold: How many failures in a row open it; at least 1.
        cooldown: How long it stays open, in seconds of any clock that never goes back.
    """

    __slots__ = ("_begun", "_cooldown", "_failures", "_threshold", "_trial", "_until")

    def __init__(self, threshold: int, cooldown: float) -> None:
        self._threshold = threshold
        self._cooldown = cooldown
        self._failures = 0  # in a row
        self._until = 0.0  # open, if it is
        self._begun = 0  # attempts
        self._trial: int | None = None  # the one attempt that is let through

    def refusal(self, now: float) -> str | None:
        """Return why nothing may be attempted now; None if it may."""
        if self._failures < self._threshold:
            return None
        why = f"{self._failures} in a row have failed"
        if self._trial is not None:
            return f"{why}, and one more is being tried"
        return f"{why}; the next is tried in {self._until - now:.3g} s" if now < self._until else None

    def begin(self) -> int:
        """Attempt something that is not refused, and return the number of the attempt."""
        self._begun += 1
        if self._failures >= self._threshold:
            self._trial = self._begun
        return self._begun

    def succeeded(self) -> None:
        """One has succeeded."""
        self._failures = 0
        self._trial = None

    def failed(self, number: int, now: float) -> None:
        """One has failed."""
        self._failures += 1
        if self._failures == self._threshold or number == self._trial:
            self._trial = None
            self._until = now + self._cooldown

    def abandoned(self, number: int) -> None:
        """One came to nothing, and nobody is to blame."""
        if number == self._trial:
            self._trial = None
