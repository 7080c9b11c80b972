"""What is kept of calls that are over."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dedalus_mcp.errors import McpError
from dedalus_mcp.server.ended_call import OVERHEAD_BYTES, EndedCall, EndedCalls
from dedalus_mcp.server.rounds import BadState, Rounds

ANSWERS: dict[str, Any] = {"a": {"action": "accept", "content": {"n": 1}}}
OTHERS: dict[str, Any] = {"a": {"action": "decline"}}
RESULT = Raw(b'{"content":[]}')
NOBODY: Any = None
"""Nothing here looks at whose a call is."""


def ended(outcome: Raw | Exception = RESULT, *, answered: bool = True, deadline: float = 0.0) -> EndedCall:
    rounds = Rounds()
    rounds.ask({"a": "elicitation/create"})
    if answered:
        rounds.take(1, ANSWERS)
    return EndedCall.of(outcome, rounds, None, NOBODY, deadline)


def test_the_same_answers_are_told_the_same_again_and_others_nothing() -> None:
    call = ended()

    assert call.told_again(1, ANSWERS) == call.told_again(1, ANSWERS) == RESULT
    for number, answers in ((1, OTHERS), (0, ANSWERS), (2, ANSWERS)):
        with pytest.raises(BadState):
            call.told_again(number, answers)


def test_the_first_answer_to_a_question_that_came_to_nothing_is_the_one_that_counts() -> None:
    call = ended(answered=False)

    assert call.told_again(1, ANSWERS) == RESULT
    assert call.told_again(1, ANSWERS) == RESULT
    with pytest.raises(BadState):
        call.told_again(1, OTHERS)


def test_an_error_is_raised_again() -> None:
    call = ended(McpError(-1, "no"))

    for _ in range(2):
        with pytest.raises(McpError, match="no"):
            call.told_again(1, ANSWERS)


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(McpError, match="inputResponses"):
        ended().told_again(1, {"a": 5})


def test_the_oldest_go_first_when_there_is_no_room_and_when_their_time_is_over() -> None:
    one = ended()
    kept = EndedCalls(3 * one.size)
    for number in range(5):
        kept.keep(str(number), ended(deadline=float(number)))

    assert [kept.get(str(number)) is not None for number in range(5)] == [False, False, True, True, True]
    assert kept.next_deadline() == 2.0
    kept.expire(3.0)
    assert kept.get("3") is None
    assert kept.get("4") is not None
    assert one.size > OVERHEAD_BYTES


def test_one_that_fits_nowhere_is_not_kept() -> None:
    kept = EndedCalls(OVERHEAD_BYTES)
    kept.keep("x", ended())

    assert kept.get("x") is None
    assert kept.next_deadline() == float("inf")
