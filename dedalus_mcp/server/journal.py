"""What the client has answered one call so far, each answer under the name of its question.

    name(...) ──▶ "deploy", "deploy.2", ...          the author's key, else a digest; and its occurrence
    record(name, outcome) ──▶ outcome(name)          what the same handler is told when it runs again

Names do not depend on the order of the questions: siblings in a task group ask in the order in
which their own work ends, and trio starts them in any order.

Layer: L4; no I/O.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from dedalus_mcp.errors import AskFailed, CapabilityMissing, ErrorData, LocalProtocolError
from dedalus_mcp.jsonrpc.codec import encode_value

__all__ = ("MAX_NAME", "Abandoned", "Answer", "Fault", "Journal", "Outcome", "check_name")

MAX_NAME = 200
"""Characters of a name that an author gives a question or a step: it travels with every round, both ways."""

# Of a digest: 72 bits, so that no two questions of one call share a name by chance.
_DIGEST_BYTES = 9
_STEP = "\0"  # no author's name has it


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The client's result, raw JSON."""

    result: bytes


class Fault(msgspec.Struct, frozen=True, tag="fault"):
    """The question came to nothing, and the handler was told so.

    Attributes:
        error: What it was told, an `ErrorData`, as JSON.
        required: The capability that was missing, if that was it.
    """

    error: bytes
    required: dict[str, Any] | None = None

    @classmethod
    def of(cls, error: ErrorData, required: dict[str, Any] | None = None) -> Fault:
        """Keep an error; data that is not JSON is left out.

        Raises:
            LocalProtocolError: The rest of it is not, either.
        """
        try:
            return cls(encode_value(error, repair=True), required)
        except LocalProtocolError:
            return cls(encode_value(msgspec.structs.replace(error, data=None), repair=True), required)

    def read(self) -> ErrorData:
        """Return the error."""
        return msgspec.json.decode(self.error, type=ErrorData)

    def as_failure(self) -> AskFailed:
        """Return what whoever asked was told by."""
        error = self.read()
        return AskFailed(error) if self.required is None else CapabilityMissing.of(error.message, self.required)


class Abandoned(msgspec.Struct, frozen=True, tag="abandoned"):
    """The handler stopped waiting: a timeout of its own, or a sibling that failed."""


Outcome: TypeAlias = Answer | Fault | Abandoned


class Journal:
    """The outcomes of one call's questions.

    Args:
        outcomes: Those that are known from an earlier run, by name.
    """

    def __init__(self, outcomes: Mapping[str, Outcome] | None = None) -> None:
        self._outcomes = dict(outcomes or {})
        self._occurrences: dict[str, int] = {}

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """All that are known, by name."""
        return self._outcomes

    def name(self, method: str, params: bytes, key: str | None) -> str:
        """Return the name of a question that is about to be asked; every asking has its own.

        Args:
            method: What is asked.
            params: With what, as it will be on the wire.
            key: The author's name for it, if he gave one.
        """
        return self._next(_digest(method, params) if key is None else key)

    def step(self, name: str) -> str:
        """Return the name of a step that is about to be taken: no question has the same."""
        return self._next(_STEP + name)

    def next_step(self, name: str) -> str:
        """Return what `step` will."""
        return _nth(_STEP + name, self._occurrences.get(_STEP + name, 0) + 1)

    def outcome(self, name: str) -> Outcome | None:
        """Return what became of a question; None as long as nothing did."""
        return self._outcomes.get(name)

    def record(self, name: str, outcome: Outcome) -> None:
        """Keep what became of a question."""
        self._outcomes[name] = outcome

    def _next(self, base: str) -> str:
        count = self._occurrences[base] = self._occurrences.get(base, 0) + 1
        return _nth(base, count)


def check_name(what: str, name: object) -> None:
    """See to it that something can be known by the name that its author gave it.

    Args:
        what: What it is the name of, for the error.
        name: The name.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty, too long, or holds what cannot be written.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} is a text, not {name!r:.80}")
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise ValueError(f"{what} is a text of 1 to {MAX_NAME} printable characters, not {name!r:.80}")


def _nth(base: str, count: int) -> str:
    # A name that ends as if it were counted is counted always: no two share one.
    _, dot, end = base.rpartition(".")
    counted = count > 1 or (dot and end.isdecimal())
    return f"{base}.{count}" if counted else base


def _digest(method: str, params: bytes) -> str:
    return urlsafe_b64encode(blake2b(method.encode() + b"\0" + params, digest_size=_DIGEST_BYTES).digest()).decode()
