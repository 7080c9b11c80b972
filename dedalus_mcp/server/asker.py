"""How a question gets to the client, and its answer back: the seam between asking and the wire.

    ctx.elicit, ctx.sample, ... ──▶ Question ──▶ the call's asker ──▶ the raw result
                        live: a call of ours, in the middle of theirs (legacy) ──┤
                     in rounds: a result of theirs, and its retry (2026-07-28) ──┘

Which asker a call has is decided when it arrives; the author's code sees no difference.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    AskFailed,
    CapabilityMissing,
    ConnectionLost,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    RequestTimeout,
)
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.types import ClientCapabilities

if TYPE_CHECKING:
    from dedalus_mcp.server.config import ServerConfig
    from dedalus_mcp.server.context import Context

__all__ = (
    "Asker",
    "LiveAsker",
    "Question",
    "cannot_be_asked",
    "cannot_be_sent",
    "check_capability",
    "configured",
    "in_step",
    "not_legal",
    "refuse_in_step",
    "timed_out",
)

logger = logging.getLogger("dedalus_mcp")

in_step: ContextVar[str | None] = ContextVar("dedalus_mcp.step", default=None)
"""The step that is being taken; a round waits for steps, so a step that asked would wait for itself."""


class Question(msgspec.Struct, frozen=True):
    """What the client is asked.

    Attributes:
        method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
        params: Shaped for the revision of the call that asks.
        required: The capability that the client must have declared, shaped as its capabilities:
            ``{"elicitation": {"url": {}}}``.
        key: The author's name for the question; None where he gave none.
    """

    method: str
    params: Any
    required: Mapping[str, Mapping[str, Any]]
    key: str | None = None

    @property
    def kind(self) -> str:
        """What it is called in errors: "elicitation", "sampling" or "roots"."""
        return self.method.partition("/")[0]


class Asker(Protocol):
    """Asks the client on behalf of one call."""

    async def ask(self, question: Question, timeout: float | UnsetType | None) -> Raw:
        """Ask, and return the client's result, raw.

        The capability has been checked: see `check_capability`.

        Args:
            question: What to ask.
            timeout: How long to wait, in seconds; None for no limit; UNSET for what is configured.

        Raises:
            AskFailed: -32601, the client cannot be asked here; -32602, what it answered is no
                result, or the question is not JSON; -32603, no answer in time; -32000, it is
                gone; any other, its own error.
            CapabilityMissing: It has taken the capability back.
        """
        ...


class LiveAsker:
    """Asks by a call of ours on the channel of the call that is answered: the legacy revisions.

    Args:
        context: The call that asks.
    """

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    async def ask(self, question: Question, timeout: float | UnsetType | None) -> Raw:
        """Ask, and return the client's result, raw: see `Asker.ask`."""
        refuse_in_step()
        context = self._context
        seconds = configured(context.server.config, question) if timeout is UNSET else timeout
        if not context.call.channel.takes_calls:
            raise AskFailed(
                METHOD_NOT_FOUND, "The client cannot be asked here: its calls are answered in single JSON replies"
            )
        try:
            return await context.peer.call(
                question.method,
                question.params,
                channel=context.call.channel,
                timeout=None if seconds is None else _timeout(seconds),
            )
        except McpError as error:
            raise _by_client(AskFailed(error.error)) from error
        except RequestTimeout as error:
            raise timed_out(question) from error
        except ConnectionLost as error:
            raise AskFailed(CONNECTION_CLOSED, f"the client is gone: {error.reason}") from error
        except RemoteProtocolError as error:
            raise not_legal(question, error) from error
        except LocalProtocolError as error:
            raise cannot_be_sent(question, error) from error


@lru_cache(maxsize=64)  # most questions wait as long as is configured
def _timeout(seconds: float) -> Timeout:
    return Timeout(seconds)


def configured(config: ServerConfig, question: Question) -> float | None:
    """Return how long a question waits that does not say, in seconds; None for no limit."""
    return (config.sampling if question.kind == "sampling" else config.elicitation).timeout


def refuse_in_step() -> None:
    """Refuse to ask inside of a step.

    Raises:
        RuntimeError: One is being taken.
    """
    if in_step.get() is not None:
        raise RuntimeError(f"step {in_step.get()!r} asks the client: ask before it, and pass the answer to it")


def timed_out(question: Question) -> AskFailed:
    """No answer came in time."""
    return _by_client(AskFailed(INTERNAL_ERROR, f"{question.kind} request timed out"))


def cannot_be_sent(question: Question, fault: Exception) -> AskFailed:
    """The question is not JSON, or there are too many."""
    return AskFailed(INVALID_PARAMS, f"the {question.kind} cannot be sent: {fault}")


def cannot_be_asked(fault: Exception) -> AskFailed:
    """The state of a round cannot be written; the log has the reason."""
    logger.error("a round cannot be sent", exc_info=fault)
    return AskFailed(INTERNAL_ERROR, "the client cannot be asked: the state of the call cannot be written")


def not_legal(question: Question, fault: Exception) -> AskFailed:
    """The client's answer is no result of this method."""
    return _by_client(AskFailed(INVALID_PARAMS, f"the client's answer to the {question.kind} is not legal: {fault}"))


def _by_client(failure: AskFailed) -> AskFailed:
    failure.by_client = True
    return failure


def check_capability(declared: ClientCapabilities, required: Mapping[str, Mapping[str, Any]]) -> None:
    """See to it that the client declared what a question needs, precisely.

    Raises:
        CapabilityMissing: It did not; the text names what is missing.
    """
    for name, parts in required.items():
        capability = getattr(declared, name)
        if capability is None:
            raise CapabilityMissing.of(
                f"Client does not advertise the {name} capability",
                {name: dict(parts) for name, parts in required.items()},
            )
        for part in parts:
            if part == "form" and capability.url is None:  # neither mode said means by form (ELIC-02)
                continue
            if getattr(capability, part, None) is None:
                what = f"mode {part!r}" if name == "elicitation" else repr(part)
                raise CapabilityMissing.of(
                    f"Client does not advertise the {name} capability for {what}",
                    {name: dict(parts) for name, parts in required.items()},
                )
