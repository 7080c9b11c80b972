"""The phi accrual detector: its numbers, and what is told when."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.suspicion import Suspicion, Verdict, Watch

SUSPECT, DOWN = Verdict.SUSPECT, Verdict.DOWN


def regular(interval: float = 10.0, count: int = 8) -> Suspicion:
    """Of one who was heard so often, at such an interval, and was heard last at 0."""
    suspicion = Suspicion(interval, -interval * count, history=count)
    for number in range(1, count + 1):
        suspicion.heard(-interval * (count - number))
    return suspicion


@pytest.mark.parametrize("deviations", [0.0, 1.0, 3.0, 5.0])
def test_phi_is_the_logarithm_of_how_unlikely_the_silence_is(deviations: float) -> None:
    suspicion = Suspicion(10.0, 0.0, history=32)  # nothing known: 10 seconds, give or take 2.5
    now = 10.0 + 2.5 * deviations

    assert suspicion.phi(now) == pytest.approx(-math.log10(1 - NormalDist().cdf(deviations)), rel=1e-6)


def test_phi_goes_on_where_the_tail_is_beyond_numbers() -> None:
    suspicion = Suspicion(10.0, 0.0, history=32)
    before, after = suspicion.phi(10.0 + 2.5 * 29.999), suspicion.phi(10.0 + 2.5 * 30.001)

    assert before < after < before + 0.2
    assert suspicion.phi(1e9) < math.inf


@given(
    intervals=st.lists(st.floats(0.01, 1e4), max_size=40),
    expected=st.floats(0.01, 1e4),
    silences=st.lists(st.floats(0, 1e6), min_size=2, max_size=2).map(sorted),
)
def test_phi_never_falls_while_there_is_silence(intervals: list[float], expected: float, silences: list[float]) -> None:
    suspicion, now = Suspicion(expected, 0.0, history=8), 0.0
    for interval in intervals:
        now += interval
        suspicion.heard(now)
    early, late = (suspicion.phi(now + silence) for silence in silences)

    assert 0 <= early <= late * (1 + 1e-9) < math.inf


def test_who_is_always_punctual_is_missed_soon_and_not_at_once() -> None:
    assert regular().phi(10.0) < 0.5
    assert regular().phi(11.0) < 5
    assert regular().phi(13.0) > 5


def test_only_the_last_intervals_count() -> None:
    suspicion, now = Suspicion(10.0, 0.0, history=4), 0.0
    for interval in (10.0, 10.0, 10.0, 30.0, 30.0, 30.0, 30.0):
        now += interval
        suspicion.heard(now)

    assert suspicion.phi(now + 30.0) < 0.5


def test_an_outage_is_no_measure_of_the_intervals_to_come() -> None:
    suspicion = regular()
    suspicion.heard(1000.0, usual=False)

    assert suspicion.phi(1010.0) < 0.5
    assert suspicion.phi(1013.0) > 5


def test_a_verdict_is_told_once_and_the_milder_first() -> None:
    watch = Watch(regular(), threshold=5.0, budget=3)

    assert [watch.missed(now)[1] for now in (11.0, 21.0, 31.0, 41.0)] == [[], [SUSPECT], [DOWN], []]


def test_who_is_down_was_suspect() -> None:
    watch = Watch(Suspicion(10.0, 0.0, history=8), threshold=1e6, budget=2)

    assert [watch.missed(now)[1] for now in (11.0, 21.0)] == [[], [SUSPECT, DOWN]]


def test_who_answers_again_is_thought_well_of_again() -> None:
    watch = Watch(regular(), threshold=5.0, budget=2)
    assert watch.missed(20.0)[1] == [SUSPECT]
    watch.heard(22.0)

    assert [watch.missed(now)[1] for now in (33.0, 50.0)] == [[], [SUSPECT, DOWN]]
