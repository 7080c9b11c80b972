"""What a retry means, by the number of its round and its answers."""

from __future__ import annotations

import pytest

from dedalus_mcp.server.rounds import Rounds, Take

YES, NO = {"a": {"action": "accept"}}, {"a": {"action": "decline"}}


def test_the_first_answer_to_the_present_round_is_taken_once() -> None:
    rounds = Rounds()

    assert rounds.ask({"a": "elicitation/create"}) == 1
    assert rounds.take(1, YES) is Take.FIRST
    assert rounds.take(1, YES) is Take.AGAIN
    assert rounds.take(1, NO) is Take.STALE


def test_the_answer_to_the_round_before_leads_to_the_present_one_until_that_is_answered() -> None:
    rounds = Rounds()
    rounds.ask({"a": "elicitation/create"})
    rounds.take(1, YES)
    rounds.ask({"b": "elicitation/create"})

    assert rounds.take(1, YES) is Take.BEFORE
    assert rounds.take(1, NO) is Take.STALE
    assert rounds.take(2, {}) is Take.FIRST
    assert rounds.take(1, YES) is Take.STALE


@pytest.mark.parametrize("number", [0, -1, 2, 99])
def test_a_round_that_was_never_asked_is_stale(number: int) -> None:
    rounds = Rounds()
    assert rounds.take(number, YES) is Take.STALE

    rounds.ask({"a": "elicitation/create"})
    assert rounds.take(number, YES) is Take.STALE


def test_what_was_not_asked_makes_no_other_answer() -> None:
    rounds = Rounds()
    rounds.ask({"a": "elicitation/create"})
    rounds.take(1, YES)

    assert rounds.take(1, {**YES, "unknown": 1}) is Take.AGAIN


def test_all_of_it_survives_packing() -> None:
    rounds = Rounds()
    rounds.ask({"a": "roots/list"})
    rounds.take(1, YES)
    rounds.ask({"b": "roots/list"})
    again = Rounds.unpacked(rounds.packed())

    assert (again.number, again.asked, again.unanswered) == (2, {"b": "roots/list"}, True)
    assert again.take(1, YES) is Take.BEFORE
    assert again.take(2, YES) is Take.FIRST
    assert Rounds.unpacked(again.packed()).take(2, YES) is Take.AGAIN


def test_numbers_may_be_written_in_any_way() -> None:
    rounds = Rounds()
    rounds.ask({"a": "elicitation/create"})
    rounds.take(1, {"a": {"content": {"n": 1, "m": 2.0}}})

    assert rounds.take(1, {"a": {"content": {"m": 2, "n": 1.0}}}) is Take.AGAIN
