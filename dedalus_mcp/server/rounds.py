"""Which round a call is in, and what a retry means: taken, joined, told again, or refused.

    ask() ──▶ round 1 ──take(1, answers)──▶ answered ──ask()──▶ round 2 ──▶ ...

A client that lost a response sends the same retry once more: it gets the same outcome, and
nothing runs twice.  Another answer to a round that is answered already is refused.

Layer: L4; no I/O.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests"; AMB-39.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.server.questions import check_answer

__all__ = ("BadState", "Rounds", "Take")

_Answers: TypeAlias = dict[str, Any]
_Packed: TypeAlias = tuple[int, dict[str, str], _Answers | None, dict[str, str], _Answers | None]
_pack = msgspec.json.Encoder().encode  # JSON, as the answers are: other formats lack its long numbers
_unpack = msgspec.json.Decoder(_Packed).decode


class BadState(Exception):
    """A state that is no good; the text is for the log alone."""


class Take(Enum):
    """What a retry is."""

    FIRST = "the first answer to the round that waits for one"
    AGAIN = "the same answer once more, while what it led to still runs"
    BEFORE = "the same answer to the round before: the present round is what it led to"
    STALE = "another answer than was given, or one to a round that is long over"


class Rounds:
    """The rounds of one call.

    Attributes:
        number: Of the round that was asked last; 0 before the first.
        asked: The methods of its questions, by name.
    """

    def __init__(self, number: int = 0, asked: Mapping[str, str] | None = None) -> None:
        self.number = number
        self.asked = dict(asked or {})
        self._answered: dict[str, Any] | None = None
        self._asked_before: dict[str, str] = {}
        self._answered_before: dict[str, Any] | None = None

    @property
    def unanswered(self) -> bool:
        """Whether the round waits for its first answer."""
        return self._answered is None

    def packed(self) -> bytes:
        """Return all of it as bytes, for keeping many: the garbage collector need not look into them."""
        return _pack((self.number, self.asked, self._answered, self._asked_before, self._answered_before))

    @classmethod
    def unpacked(cls, packed: bytes) -> Rounds:
        """Return what was packed."""
        rounds = cls()
        number, rounds.asked, rounds._answered, rounds._asked_before, rounds._answered_before = _unpack(packed)
        rounds.number = number
        return rounds

    def ask(self, asked: Mapping[str, str]) -> int:
        """Begin a round with these questions, methods by name, and return its number."""
        self._asked_before, self._answered_before = self.asked, self._answered
        self.number += 1
        self.asked, self._answered = dict(asked), None
        return self.number

    def check_and_take(self, number: int, answers: Mapping[str, Any]) -> Take:
        """Do what `take` does, for what comes from outside.

        Raises:
            BadState: The round is over, or was answered differently.
            McpError: -32602, an answer is no result of its method; the round waits on.
        """
        try:
            if number == self.number:
                for name, method in self.asked.items():
                    check_answer(name, method, answers)
            taken = self.take(number, answers)
        except RecursionError:
            raise McpError(INVALID_PARAMS, "Invalid params: inputResponses: nested too deeply") from None
        if taken is Take.STALE:
            raise BadState(f"round {number} is over, or was answered differently")
        return taken

    def take(self, number: int, answers: Mapping[str, Any]) -> Take:
        """Say what a retry means; `FIRST` counts as answered from now on.

        Args:
            number: The round that its state names.
            answers: All its answers; those that were not asked for do not matter.
        """
        if number == self.number and number > 0:
            given = _given(answers, self.asked)
            if self._answered is None:
                self._answered = given
                return Take.FIRST
            return Take.AGAIN if given == self._answered else Take.STALE
        lost = number == self.number - 1 and self.unanswered  # the response that began the present round
        if lost and self._answered_before == _given(answers, self._asked_before):
            return Take.BEFORE
        return Take.STALE


def _given(answers: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, Any]:
    return {name: answers[name] for name in asked if name in answers}
