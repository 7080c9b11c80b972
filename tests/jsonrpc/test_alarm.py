"""Deadlines: each is told when it is reached, and nothing is left when there are none."""

from __future__ import annotations

from math import inf

import anyio
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.jsonrpc.alarm import Alarm
from dedalus_mcp.jsonrpc.tasks import now


class Clerk:
    """A sleeper that says when it was told."""

    def __init__(self) -> None:
        self.told: list[float] = []
        self.once = anyio.Event()

    def expire(self) -> None:
        self.told.append(now())
        self.once.set()


async def test_each_is_told_at_its_time_and_once() -> None:
    alarm, begun = Alarm(), now()
    late, soon, middle = Clerk(), Clerk(), Clerk()
    for sleeper, seconds in ((late, 0.03), (soon, 0.01), (middle, 0.02)):
        alarm.set(sleeper, begun + seconds)

    with anyio.fail_after(20):
        await late.once.wait()

    assert [len(each.told) for each in (soon, middle, late)] == [1, 1, 1]
    assert soon.told[0] <= middle.told[0] <= late.told[0]
    assert late.told[0] >= begun + 0.03
    assert len(alarm) == 0


async def test_one_that_is_cleared_or_put_off_is_not_told_then() -> None:
    alarm, begun = Alarm(), now()
    cleared, never, put_off, last = Clerk(), Clerk(), Clerk(), Clerk()
    for each in (cleared, never, put_off):
        alarm.set(each, begun + 0.01)
    alarm.set(last, begun + 0.02)
    alarm.clear(cleared)
    alarm.clear(cleared)
    alarm.set(never, inf)
    alarm.set(put_off, begun + 1000)

    with anyio.fail_after(20):
        await last.once.wait()

    assert [cleared.told, never.told, put_off.told] == [[], [], []]
    assert len(alarm) == 1
    alarm.clear(put_off)


async def test_a_deadline_that_is_over_already_is_told_soon() -> None:
    alarm, sleeper = Alarm(), Clerk()
    alarm.set(sleeper, now() - 5)
    assert not sleeper.told  # by the event loop, never from within

    with anyio.fail_after(20):
        await sleeper.once.wait()
    assert len(sleeper.told) == 1


async def test_without_sleepers_nothing_is_left_in_the_event_loop() -> None:
    """On trio a timer is a task, and a program that waits for its tasks would wait for it."""
    alarm, sleeper = Alarm(), Clerk()
    for _ in range(3):
        alarm.set(sleeper, now() + 1000)
        alarm.clear(sleeper)
        assert alarm.timer is None


async def test_a_sleeper_that_is_told_may_set_and_clear_others() -> None:
    alarm, begun = Alarm(), now()
    second = Clerk()

    class First(Clerk):
        def expire(self) -> None:
            super().expire()
            alarm.clear(third)
            alarm.set(second, begun + 0.02)

    first, third = First(), Clerk()
    alarm.set(first, begun + 0.01)
    alarm.set(third, begun + 1000)

    with anyio.fail_after(20):
        await second.once.wait()
    assert (len(first.told), len(third.told), len(alarm)) == (1, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.001, 0.002, 0.003, None])), max_size=20))
def test_whoever_has_a_deadline_in_the_end_is_told_and_nobody_else(changes: list[tuple[int, float | None]]) -> None:
    """The last word on each decides, whatever came before."""

    async def main() -> None:
        alarm, begun = Alarm(), now()
        sleepers = [Clerk() for _ in range(5)]
        wanted: dict[int, float] = {}
        for which, seconds in changes:
            if seconds is None:
                alarm.clear(sleepers[which])
                wanted.pop(which, None)
            else:
                alarm.set(sleepers[which], begun + seconds)
                wanted[which] = seconds
        with anyio.fail_after(20):
            for which in wanted:
                await sleepers[which].once.wait()
        assert [len(each.told) for each in sleepers] == [int(which in wanted) for which in range(5)]
        assert len(alarm) == 0

    anyio.run(main)
