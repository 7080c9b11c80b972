"""The questions of one call that wait for their answers.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from dedalus_mcp.errors import INVALID_PARAMS, AskFailed, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.tasks import signal
from dedalus_mcp.server.asker import Question, check_capability
from dedalus_mcp.types import ClientCapabilities
from dedalus_mcp.types.methods import ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE

__all__ = ("OpenQuestion", "OpenQuestions", "check_answer")

_METHODS = {method.name: method for method in (ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE, ROOTS_LIST)}


class OpenQuestion:
    """One that waits.

    Args:
        question: What is asked.
        params: With what, as it will be on the wire.

    Attributes:
        settled: Set once it waits no more.
        result: What the client answered; None if it did not.
        fault: Why it will not be answered; None where nothing else than time is the reason.
    """

    __slots__ = ("fault", "params", "question", "result", "settled")

    def __init__(self, question: Question, params: bytes) -> None:
        self.question = question
        self.params = Raw(params)
        self.settled = signal()
        self.result: Raw | None = None
        self.fault: AskFailed | None = None

    def answer(self, result: Raw) -> None:
        """Wake whoever asked."""
        self.result = result
        self.settled.set()

    def fail(self, fault: AskFailed) -> None:
        """Wake whoever asked, who is told why there is no answer."""
        self.fault = fault
        self.settled.set()


class OpenQuestions:
    """Those of one call, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, OpenQuestion] = {}

    def get(self, name: str) -> OpenQuestion | None:
        """Return one that waits; None if it does not."""
        return self._by_name.get(name)

    def open(self, name: str, question: Question, params: bytes) -> OpenQuestion:
        """Let one wait from now on."""
        opened = self._by_name[name] = OpenQuestion(question, params)
        return opened

    def close(self, name: str) -> None:
        """It waits no more, whatever came of it."""
        del self._by_name[name]

    def waiting(self) -> dict[str, OpenQuestion]:
        """Return those that have to be put to the client."""
        return {name: each for name, each in self._by_name.items() if not each.settled.is_set()}

    def refuse_undeclared(self, capabilities: ClientCapabilities) -> None:
        """Fail those whose capability the client has not declared in the very request (MRTR-06)."""
        for waiting in self.waiting().values():
            try:
                check_capability(capabilities, waiting.question.required)
            except AskFailed as missing:
                waiting.fail(missing)

    def fail(self, make: Callable[[], AskFailed]) -> None:
        """Fail all, if there are any, with what `make` returns."""
        if waiting := self.waiting():
            fault = make()
            for each in waiting.values():
                each.fail(fault)


def check_answer(name: str, method: str, answers: Mapping[str, Any]) -> None:
    """See to it that an answer, if it is there, is a result of the method that was asked.

    Raises:
        McpError: -32602, it is not.
        RecursionError: It is nested too deeply.
    """
    if name in answers:
        try:
            _METHODS[method].convert_result(answers[name])
        except ValueError as error:
            raise McpError(INVALID_PARAMS, f"Invalid params: inputResponses: {name!r:.80}: {excerpt(error)}") from None
