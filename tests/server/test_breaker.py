"""The circuit breaker: what is let through, at which time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.breaker import Breaker


def broken(at: float = 0.0) -> Breaker:
    """One that two failures in a row have opened, for ten seconds."""
    breaker = Breaker(2, 10.0)
    for _ in range(2):
        breaker.failed(breaker.begin(), at)
    return breaker


def test_so_many_failures_in_a_row_open_it_and_not_before() -> None:
    breaker = Breaker(2, 10.0)
    for _ in range(3):
        breaker.failed(breaker.begin(), 0.0)
        assert breaker.refusal(0.0) is None
        breaker.begin()
        breaker.succeeded()

    assert broken().refusal(0.0) == "2 in a row have failed; the next is tried in 10 s"


def test_after_the_cooldown_one_is_let_through_and_the_others_are_not() -> None:
    breaker = broken()

    assert breaker.refusal(9.9) is not None
    assert breaker.refusal(10.0) is None
    breaker.begin()
    assert breaker.refusal(1000.0) == "2 in a row have failed, and one more is being tried"


def test_its_success_closes_the_breaker() -> None:
    breaker = broken()
    breaker.begin()
    breaker.succeeded()

    assert breaker.refusal(10.0) is None
    breaker.failed(breaker.begin(), 10.0)
    assert breaker.refusal(10.0) is None


def test_its_failure_opens_the_breaker_for_another_while() -> None:
    breaker = broken()
    breaker.failed(breaker.begin(), 25.0)

    assert breaker.refusal(34.9) == "3 in a row have failed; the next is tried in 0.1 s"
    assert breaker.refusal(35.0) is None


def test_if_it_is_abandoned_the_next_is_let_through() -> None:
    breaker = broken()
    breaker.abandoned(breaker.begin())

    assert breaker.refusal(10.0) is None


def test_what_began_before_closes_it_by_success_and_changes_nothing_else() -> None:
    breaker = Breaker(2, 10.0)
    early = [breaker.begin() for _ in range(5)]
    for number in early[:2]:
        breaker.failed(number, 0.0)

    breaker.failed(early[2], 9.0)
    assert breaker.refusal(10.0) is None  # it stays open no longer
    breaker.begin()
    breaker.abandoned(early[3])
    assert breaker.refusal(10.0) is not None  # the one that was let through is still out
    breaker.succeeded()
    assert breaker.refusal(10.0) is None


@pytest.mark.parametrize("threshold", [1, 3])
def test_without_a_cooldown_one_at_a_time_is_let_through(threshold: int) -> None:
    breaker = Breaker(threshold, 0.0)
    for _ in range(threshold + 3):
        assert breaker.refusal(5.0) is None
        breaker.failed(breaker.begin(), 5.0)
    breaker.begin()
    assert breaker.refusal(5.0) is not None


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["wait", "begin", "succeed", "fail", "abandon"]), st.integers(0, 4)), max_size=60
    )
)
def test_it_never_stays_open_for_good_and_never_asks_more_than_one_who_fails(steps: list[tuple[str, int]]) -> None:
    """Whatever the order: once nothing is out and the cooldown is over, something is let through."""
    breaker, now, out, failures = Breaker(2, 3.0), 0.0, list[int](), 0
    for step, which in steps:
        now += which if step == "wait" else 0
        if step == "begin" and breaker.refusal(now) is None:
            out.append(breaker.begin())
            assert failures < 2 or breaker.refusal(now) is not None
        elif step in ("succeed", "fail", "abandon") and out:
            number = out.pop(which % len(out))
            failures = 0 if step == "succeed" else failures + (step == "fail")
            if step == "succeed":
                breaker.succeeded()
            elif step == "fail":
                breaker.failed(number, now)
            else:
                breaker.abandoned(number)
    for number in out:
        breaker.abandoned(number)

    assert breaker.refusal(now + 3.0) is None
