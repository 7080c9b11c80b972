"""A soak: visits to one place, and what its processes hold before and after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import anyio

from tests.soak.places import PLACES, Place
from tests.soak.server import ROUND_SECONDS
from tests.soak.visits import Visits
from tests.soak.vitals import Vitals, grown

__all__ = ("LEAST", "STANDING_TASKS", "Soaked", "soak")

LEAST = 60
"""Objects of one type that may be more: caches that a rare operation filled, and what else the process is about."""
STANDING_TASKS = 3
"""Tasks that a server has for a while once it was used: for silent streams, idle sessions and slow bodies, one each."""
SETTLING = 12
"""Looks in vain, at most, for a process that has come to rest."""
PAUSE = 0.5
"""Seconds between two of them: what goes by time goes within a few."""


@dataclass(frozen=True, slots=True)
class Soaked:
    """What came of it.

    Attributes:
        name: The place.
        calls: Calls between the two looks.
        visits: Visits between them.
        seconds: How long those took.
        before: What each process held, by what it is.
        after: The same afterwards.
    """

    name: str
    calls: int
    visits: int
    seconds: float
    before: dict[str, Vitals]
    after: dict[str, Vitals]

    @property
    def left(self) -> list[str]:
        """What is left behind, in words; empty if nothing is."""
        return [f"{who}: {what}" for who, vitals in self.before.items() for what in _left(vitals, self.after[who])]

    def lines(self) -> Iterator[str]:
        """The figures, a line for each process."""
        each = self.seconds / self.calls * 1e6
        yield f"{self.name}: {self.calls:,} calls in {self.visits:,} visits, {self.seconds:.0f} s ({each:.0f} us each)"
        for who, before in self.before.items():
            after = self.after[who]
            fields = ("tasks", "threads", "descriptors", "counted", "blocks", "rss")
            pairs = ((name, getattr(before, name), getattr(after, name)) for name in fields)
            yield f"  {who:6} " + "; ".join(
                f"{name} {b:,} -> {a:,} ({(a - b) / b:+.2%})" if b else f"{name} {b:,} -> {a:,}" for name, b, a in pairs
            )
        yield from (f"  LEFT BEHIND: {each}" for each in self.left)


def _left(before: Vitals, after: Vitals) -> Iterator[str]:
    if after.tasks > before.tasks + STANDING_TASKS:
        yield f"{after.tasks - before.tasks} tasks"
    if after.descriptors > before.descriptors:
        yield f"{after.descriptors - before.descriptors} descriptors"
    for kind, (was, now) in grown(before, after, LEAST).items():
        yield f"{now - was} objects of {kind}"
    if after.counted > before.counted * 1.01:
        yield f"{after.counted - before.counted} objects"


async def soak(
    name: str, warm: int, calls: int, each: int, told: Callable[[int], None] | None = None, *, leaves: bool = False
) -> Soaked:
    """Make calls at a place, after enough of them that all is there that stays.

    Args:
        name: The place.
        warm: Calls before the first look, at least.
        calls: Calls between the two.
        each: Calls in one visit.
        told: Hears now and then how many were made.
        leaves: See `Visits`.
    """
    patience = ROUND_SECONDS + 1 if leaves else 0.0
    opening, revision = PLACES[name]
    async with opening(revision) as place:
        visits = Visits(place, each, leaves=leaves)
        await visits.warm_up(warm, patience)
        await anyio.sleep(patience)
        before = await _at_rest(place)
        made, visited, began = visits.calls, visits.visits, time.monotonic()
        await visits.make(calls, told)
        seconds = time.monotonic() - began
        await anyio.sleep(patience)
        after = await _at_rest(place, before)
        return Soaked(name, visits.calls - made, visits.visits - visited, seconds, before, after)


async def _at_rest(place: Place, like: dict[str, Vitals] | None = None) -> dict[str, Vitals]:
    """Look until nothing changes any more, or until all is as it was."""
    last = await place.vitals()
    for _ in range(SETTLING):
        await anyio.sleep(PAUSE)
        now = await place.vitals()
        if like is not None:
            if not any(any(_left(like[who], now[who])) for who in now):
                return now
        elif all(_same(last[who], now[who]) for who in now):
            return now
        last = now
    return last


def _same(one: Vitals, other: Vitals) -> bool:
    return (one.tasks, one.descriptors, one.counted) == (other.tasks, other.descriptors, other.counted)
