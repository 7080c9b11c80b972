"""`Clock` and `Timeout`: deadlines, without reading a clock."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.jsonrpc.clock import Clock, Timeout


def test_deadline_is_the_timeout_after_the_start() -> None:
    """CANC-13."""
    assert Clock(Timeout(5), 100).deadline == 105


def test_total_bounds_the_deadline_from_the_start() -> None:
    assert Clock(Timeout(5, total=3), 100).deadline == 103


def test_progress_leaves_the_deadline_alone_unless_asked_for() -> None:
    """B038."""
    clock = Clock(Timeout(5), 100)
    clock.progressed(104)

    assert clock.deadline == 105


def test_progress_starts_the_time_anew_up_to_the_total() -> None:
    """B038, CANC-14."""
    clock = Clock(Timeout(5, reset_on_progress=True, total=12), 100)

    clock.progressed(104)
    assert clock.deadline == 109
    clock.progressed(108)
    assert clock.deadline == 112


def test_stopped_clock_has_no_deadline_and_goes_on_where_it_stopped() -> None:
    clock = Clock(Timeout(5, total=8), 100)

    clock.stop(103)
    clock.stop(104)  # says nothing new
    assert clock.deadline == inf
    clock.start(1000)
    clock.start(1001)  # nor does this
    assert clock.deadline == 1002


def test_progress_while_stopped_counts_from_the_restart() -> None:
    clock = Clock(Timeout(5, reset_on_progress=True), 100)

    clock.stop(104)
    clock.progressed(200)
    assert clock.deadline == inf
    clock.start(300)
    assert clock.deadline == 305


@pytest.mark.parametrize("seconds", [-1, -0.001, nan, -inf, 10**400, pytest.param(10**5000, id="long")])
def test_time_that_is_no_length_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds is a number"):
        Timeout(seconds)
    with pytest.raises(ValueError, match="total is a number"):
        Timeout(1, total=seconds)


@pytest.mark.parametrize("seconds", [Decimal("0.01"), Fraction(1, 100), "5", b"", []], ids=repr)
def test_time_that_no_clock_adds_up_is_refused(seconds: Any) -> None:
    """The event loops count in floats: what cannot be added to one must not fail when the wait begins."""
    with pytest.raises(TypeError, match="seconds is a number"):
        Timeout(seconds)
    with pytest.raises(TypeError, match="total is a number"):
        Timeout(1, total=seconds)


def test_timeout_shows_what_it_is() -> None:
    assert repr(Timeout(1, total=2)) == "Timeout(1, reset_on_progress=False, total=2)"


# Whole seconds, so that the sums are exact.
timeouts = st.builds(Timeout, st.integers(0, 20), reset_on_progress=st.booleans(), total=st.none() | st.integers(0, 40))
steps_of = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["progressed", "stop", "start"])), max_size=40)


@given(timeouts, steps_of)
def test_deadline_never_passes_the_total_and_stopped_time_never_counts(
    timeout: Timeout, steps: list[tuple[int, str]]
) -> None:
    """CANC-14: against a stop watch that simply counts the seconds that count."""
    now, counted, since, stopped = 0, 0, 0, False
    clock = Clock(timeout, now)

    for seconds, step in steps:
        now += seconds
        counted += 0 if stopped else seconds
        getattr(clock, step)(now)
        if step == "progressed" and timeout.reset_on_progress:
            since = counted
        stopped = step != "start" and (stopped or step == "stop")

        left = min(since + timeout.seconds, inf if timeout.total is None else timeout.total) - counted
        assert clock.deadline == (inf if stopped else now + left)
