"""What a retry means, by the number of its round and its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.rounds import Rounds, Take, canonical_digest

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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(json_values)
def test_a_digest_does_not_depend_on_how_the_value_was_written(value: Any) -> None:
    """Invariant: order of members, and 1 for 1.0, change nothing."""

    def rewritten(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: rewritten(item) for key, item in reversed(node.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(node, list):
            return [rewritten(item) for item in node]  # pyright: ignore[reportUnknownVariableType]
        return float(node) if type(node) is int else node

    assert canonical_digest(value) == canonical_digest(rewritten(json.loads(json.dumps(value))))


@given(json_values, json_values)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert (canonical_digest(one) == canonical_digest(other)) or not same
