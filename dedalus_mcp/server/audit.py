"""Who asked whom for what, and what came of it: for those who have to know.

`MCPServer(on_ask=...)` is told of every question when it is over, also of one that was never sent.
What it does wrong costs the call nothing but the time that it takes.

Layer: L4.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import msgspec

from dedalus_mcp.errors import McpError

if TYPE_CHECKING:
    from dedalus_mcp.server.asking_call import AskingCall
    from dedalus_mcp.types import Implementation

__all__ = ("AskKind", "AskRecord", "Audit", "OnAsk", "Outcome")

logger = logging.getLogger("dedalus_mcp")

AskKind: TypeAlias = Literal["elicitation", "sampling", "roots"]
Outcome: TypeAlias = Literal["accept", "decline", "cancel", "answered", "failed", "abandoned"]


class AskRecord(msgspec.Struct, frozen=True):
    """One question that is over.

    Attributes:
        kind: What was asked for.
        method: The method of the call that asked, for example `tools/call`.
        request_id: The id of that call.
        session_id: The HTTP session that it is part of, if it is.
        client: Who the client says it is; not to be trusted.
        message: What the user was shown; None where no user is asked.
        key: The author's name for the question.
        outcome: What the user did; "answered" where no user is asked; "failed" where there was
            no answer, or none that fits; "abandoned" where the call did not wait for it.
        error: Why it failed.
        seconds: How long it took.
        values: The answer; None unless `ElicitationConfig.audit_values` is set.
    """

    kind: AskKind
    method: str
    request_id: str
    session_id: str | None
    client: Implementation | None
    message: str | None
    key: str | None
    outcome: Outcome
    error: McpError | None
    seconds: float
    values: Any


OnAsk: TypeAlias = Callable[[AskRecord], None]
"""Is told of a question when it is over.  A plain `def`, in the event loop: it must not block."""


class Audit:
    """One question, watched until it is over: a context manager round it.

    Args:
        call: The call that asks; None where there is none, and nobody to tell.
        kind: What for.
        message: What the user is shown, if one is.
        key: The author's name for the question.
    """

    __slots__ = ("_begun", "_call", "_hook", "_key", "_kind", "_message", "_outcome", "_values")

    def __init__(self, call: AskingCall | None, kind: AskKind, message: str | None, key: str | None) -> None:
        self._call = call
        self._hook = None if call is None else call.server.on_ask
        self._kind: AskKind = kind
        self._message = message
        self._key = key
        self._outcome: Outcome = "answered"
        self._values: Any = None
        self._begun = 0.0

    def __enter__(self) -> Self:
        if self._hook is not None:
            self._begun = time.monotonic()
        return self

    def answered(self, outcome: Outcome, values: Any) -> None:
        """The answer is there; it is a failure yet if it does not fit."""
        self._outcome = outcome
        self._values = values

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._hook is None or self._call is None:
            return
        try:
            self._hook(self._record(self._call, error))
        except BaseException as fault:  # somebody else's fault, and no reason to lose an answer
            if isinstance(fault, KeyboardInterrupt):
                raise
            logger.exception("on_ask failed")

    def _record(self, call: AskingCall, error: BaseException | None) -> AskRecord:
        outcome = self._outcome if error is None else "failed" if isinstance(error, Exception) else "abandoned"
        return AskRecord(
            kind=self._kind,
            method=call.call.method,
            request_id=call.request_id,
            session_id=call.session_id,
            client=call.client_info,
            message=self._message,
            key=self._key,
            outcome=outcome,
            error=error if isinstance(error, McpError) else None,
            seconds=time.monotonic() - self._begun,
            values=self._values if call.server.config.elicitation.audit_values else None,
        )
