"""One round of a request: what the server wants to know first, and the retry that tells it.

    input_required ──▶ Round ──retry(answers)──▶ the same request, with answers and state
                        │ ▲
                  to_json from_json               it may wait anywhere, for as long as the server does

Layer: L4; no I/O.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar

import msgspec
from msgspec import Raw

from dedalus_mcp.client.answers import legal
from dedalus_mcp.errors import McpError, RemoteProtocolError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.types import InputRequests, InputRequiredResult, RequestParams
from dedalus_mcp.types.method import Method, Payload
from dedalus_mcp.types.rounds import InputResponse

__all__ = ("Round",)

R = TypeVar("R")

# Each question is a task and maybe a thread here: who asks more at once does not mean a person.
MAX_QUESTIONS = 100


class _Stored(msgspec.Struct, frozen=True):
    """A round as JSON: the request, and the result that asks."""

    method: str
    params: Raw
    result: Raw


_RESULT: Final[Payload[InputRequiredResult]] = Payload(InputRequiredResult)


@dataclass(frozen=True, slots=True)
class Round(Generic[R]):
    """What a server wants to know before it answers a request.

    Attributes:
        method: The request's method.
        params: Its params.
        questions: What is asked, by key; empty where the server just wants to be called again.
        state: The server's state, to be given back verbatim; None where there is none.
    """

    method: Method[Any, R]
    params: RequestParams
    questions: InputRequests
    state: str | None

    @classmethod
    def of(cls, method: Method[Any, R], params: RequestParams, result: InputRequiredResult) -> Self:
        """Make a round of a request and the result that asks for input to it.

        Raises:
            RemoteProtocolError: The result asks for nothing, or for too much.
        """
        questions = result.inputRequests or {}
        if not questions and result.requestState is None:  # MRTR-04
            raise RemoteProtocolError(
                f"the server asks for input to {method.name!r}, but says neither what (inputRequests) nor gives a "
                "requestState"
            )
        if len(questions) > MAX_QUESTIONS:
            raise RemoteProtocolError(
                f"the server asks {len(questions)} questions at once for {method.name!r}; the limit is {MAX_QUESTIONS}"
            )
        return cls(method, params, questions, result.requestState)

    def check(self, answers: Mapping[str, Any]) -> dict[str, InputResponse]:
        """Return answers as they may be sent.

        Args:
            answers: One for each question, under its key: whatever a handler of that question
                may return.

        Raises:
            ValueError: An answer is missing, is to no question or not legal; the text names the
                key, and what is legal.
            TypeError: It is no answer to that question.
        """
        if answers.keys() != self.questions.keys():
            raise ValueError(f"answers under the keys {sorted(answers)}; legal: {sorted(self.questions)}, all of them")
        return {key: self._checked(key, answer) for key, answer in answers.items()}

    def retry(self, answers: Mapping[str, InputResponse]) -> Any:
        """Return the params of the retry: the same with the answers, and with the state if there is one."""
        return msgspec.structs.replace(self.params, inputResponses=dict(answers) or None, requestState=self.state)

    def to_json(self) -> bytes:
        """Return the round as JSON.  It holds the request's arguments and the server's state, as they are."""
        result = InputRequiredResult(inputRequests=self.questions, requestState=self.state)
        encode = msgspec.json.encode
        return encode(_Stored(self.method.name, Raw(encode(self.params)), Raw(encode(result))))

    @classmethod
    def from_json(cls, data: bytes | str, method: Method[Any, R]) -> Self:
        """Return the round that `to_json` made these bytes of, in this process or another.

        Args:
            data: See above.
            method: The request's method, which says what its result will be.

        Raises:
            ValueError: They are no round, or one of another method.
        """
        try:
            stored = msgspec.json.decode(data, type=_Stored)
            if stored.method != method.name:
                raise ValueError(f"this is a round of {stored.method!r:.80}, not of {method.name!r}")
            return cls.of(method, method.decode_params(stored.params), _RESULT.decode(stored.result))
        except (msgspec.DecodeError, RemoteProtocolError, RecursionError) as error:
            raise ValueError(f"this is no round: {excerpt(error)}") from None

    def _checked(self, key: str, answer: object) -> InputResponse:
        try:
            return legal(self.questions[key], answer)
        except McpError as error:
            raise ValueError(f"the answer to {key!r:.80} is not legal: {error.message}") from None
