"""How likely it is that somebody who is silent is gone: the phi accrual failure detector, without I/O or clock.

    heard ──▶ silence ──missed──▶ phi >= threshold: SUSPECT ──missed──▶ as often as may be: DOWN
      ▲                                   │                                 │
      └───────────── heard ───────────────┴─────────────────────────────────┘

The intervals between signs of life are taken for normally distributed, with the mean m and the
standard deviation s of the last ones.  After t seconds of silence, then,

    phi(t) = -log10 Q((t - m) / s)        Q(z) = erfc(z / sqrt 2) / 2, the upper tail

so phi is 1 where one silence in ten is as long as this, 3 where one in a thousand is.

Layer: L4; no I/O.
Source: Hayashibara et al., "The phi accrual failure detector", 2004.
"""

from __future__ import annotations

import math
from collections import deque
from enum import Enum

__all__ = ("Suspicion", "Verdict", "Watch")

_ASYMPTOTIC = 30.0
"""From here on the tail is computed by its asymptote: `erfc` becomes 0 a little later."""
_SPREAD = 0.25
"""Before anything is known, intervals are expected to vary by a quarter."""
_FLOOR = 0.05
"""The deviation is never taken for less than this part of what is expected: clocks and queues have some."""


class Verdict(Enum):
    """What is to be told of somebody."""

    SUSPECT = "silent for longer than is likely"
    DOWN = "has not answered as often as may be"


class Suspicion:
    """How suspicious a silence is.

    Args:
        expected: The interval that signs of life should come in, in seconds.
        now: The present time, in seconds of any clock that never goes back.
        history: How many intervals are remembered; at least 2.
    """

    __slots__ = ("_floor", "_heard", "_intervals")

    def __init__(self, expected: float, now: float, history: int) -> None:
        spread = _SPREAD * expected
        self._intervals = deque([expected - spread, expected + spread], maxlen=history)
        self._floor = _FLOOR * expected
        self._heard = now

    def heard(self, now: float, *, usual: bool = True) -> None:
        """There was a sign of life.

        Args:
            now: When.
            usual: Whether the interval says anything of those to come; one that ends an outage does not.
        """
        if usual:
            self._intervals.append(now - self._heard)
        self._heard = now

    def phi(self, now: float) -> float:
        """Return how suspicious the silence is by now; it rises with time."""
        count = len(self._intervals)
        mean = sum(self._intervals) / count
        variance = sum((each - mean) ** 2 for each in self._intervals) / count
        return -_log10_of_tail((now - self._heard - mean) / max(math.sqrt(variance), self._floor))


class Watch:
    """What is known of one who should answer regularly.

    Args:
        suspicion: Of the silence.
        threshold: The phi from which on it is suspect.
        budget: How many questions in a row may go without an answer; the last of them makes it down.
    """

    __slots__ = ("_budget", "_missed", "_suspected", "_suspicion", "_threshold")

    def __init__(self, suspicion: Suspicion, threshold: float, budget: int) -> None:
        self._suspicion = suspicion
        self._threshold = threshold
        self._budget = budget
        self._missed = 0
        self._suspected = False

    def heard(self, now: float) -> None:
        """It has answered: whatever was thought of it is forgotten."""
        self._suspicion.heard(now, usual=self._missed == 0)
        self._missed = 0
        self._suspected = False

    def missed(self, now: float) -> tuple[float, list[Verdict]]:
        """It has not answered; return phi, and what is to be told now: each verdict once, the milder first.

        Who answers is never suspected, however late we asked.
        """
        self._missed += 1
        phi, verdicts = self._suspicion.phi(now), list[Verdict]()
        down = self._missed == self._budget
        if not self._suspected and (down or phi >= self._threshold):
            self._suspected = True
            verdicts.append(Verdict.SUSPECT)
        if down:
            verdicts.append(Verdict.DOWN)
        return phi, verdicts


def _log10_of_tail(z: float) -> float:
    if z < _ASYMPTOTIC:
        return math.log10(math.erfc(z / math.sqrt(2)) / 2)
    return -(z * z / 2 + math.log((z + 1 / z) * math.sqrt(2 * math.pi))) / math.log(10)
