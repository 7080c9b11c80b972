"""Asking the client's user in the middle of a call: the live asker of the legacy revisions.

A question is a call of ours with its own id, future and timeout, on the channel of the call that
is being answered.  What can go wrong is checked in a fixed order, before anything is sent:

    an active call ─▶ the capability ─▶ a legal form ─▶ ask ─▶ a legal answer ─▶ ElicitResult

Layer: L4.
Source: MCP 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from anyio import lowlevel

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
    NoActiveCall,
    RemoteProtocolError,
    RequestTimeout,
)
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.tasks import being_cancelled
from dedalus_mcp.schema import forms
from dedalus_mcp.server.context import Context, active_context
from dedalus_mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from dedalus_mcp.types.methods import ELICITATION_CREATE
from dedalus_mcp.types.revisions import shape

__all__ = ("elicit",)


async def elicit(params: ElicitRequestParams | ElicitRequestURLParams, timeout: float | None) -> ElicitResult:
    """Ask the user of the client whose call is being answered.

    Raises:
        AskFailed: See `MCPServer.request_elicitation`.
    """
    context = await _asking()
    _check_capability(context, params)
    revision = context.revision
    if isinstance(params, ElicitRequestParams):
        with _as_ask():
            forms.check(params.requestedSchema, revision)
            sent: Any = msgspec.structs.replace(params, requestedSchema=forms.reduce(params.requestedSchema, revision))
    else:
        sent = params
    raw = await _ask(context, shape(sent, revision), timeout)
    try:
        result = ELICITATION_CREATE.decode_result(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AskFailed(INVALID_PARAMS, f"the client's answer to the elicitation is not legal: {error}") from None
    return _checked(params, result)


async def _asking() -> Context:
    """The context of the active call; a cancelled one is cancelled here, before anything is asked."""
    context = active_context()
    if context is None or context.call.finished:
        raise NoActiveCall(METHOD_NOT_FOUND, "Elicitation needs an active request: call it while a handler runs")
    if context.call.cancelled is not None or being_cancelled():
        await lowlevel.checkpoint()
        reason = context.call.cancelled or "the server is shutting down"
        raise NoActiveCall(METHOD_NOT_FOUND, f"Elicitation needs an active request; this one is cancelled: {reason}")
    return context


def _check_capability(context: Context, params: ElicitRequestParams | ElicitRequestURLParams) -> None:
    declared = context.client_capabilities.elicitation
    mode = "url" if isinstance(params, ElicitRequestURLParams) else "form"
    required: dict[str, Any] = {"elicitation": {mode: {}}}
    if declared is None:
        raise CapabilityMissing.of("Client does not advertise the elicitation capability", required)
    # Neither mode said means by form (ELIC-02).
    legal = declared.url is not None if mode == "url" else declared.form is not None or declared.url is None
    if not legal:
        raise CapabilityMissing.of(f"Client does not advertise the elicitation capability for mode {mode!r}", required)
    if context.modern:
        raise AskFailed(
            METHOD_NOT_FOUND,
            f"Elicitation is not available on {context.revision}; it is on 2025-06-18 and 2025-11-25",
        )


async def _ask(context: Context, params: Any, timeout: float | None) -> Any:
    if not context.call.channel.takes_calls:
        raise AskFailed(METHOD_NOT_FOUND, "The client cannot be asked here: this server answers in single JSON replies")
    try:
        return await context.peer.call(
            ELICITATION_CREATE.name,
            params,
            channel=context.call.channel,
            timeout=None if timeout is None else Timeout(timeout),
        )
    except McpError as error:
        raise AskFailed(error.error) from error
    except RequestTimeout as error:
        raise AskFailed(INTERNAL_ERROR, "elicitation request timed out") from error
    except ConnectionLost as error:
        raise AskFailed(CONNECTION_CLOSED, f"the client is gone: {error.reason}") from error
    except RemoteProtocolError as error:
        raise AskFailed(INVALID_PARAMS, f"the client's answer to the elicitation is not legal: {error}") from error
    except LocalProtocolError as error:
        raise AskFailed(INVALID_PARAMS, f"the elicitation cannot be sent: {error}") from error


def _checked(params: ElicitRequestParams | ElicitRequestURLParams, result: ElicitResult) -> ElicitResult:
    """The answer, with content only where it belongs, validated, and defaults filled in."""
    if result.action != "accept" or isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action=result.action, meta=result.meta)
    with _as_ask():
        content = forms.accept(result.content or {}, params.requestedSchema)
    return ElicitResult(action="accept", content=content, meta=result.meta)


@contextmanager
def _as_ask() -> Generator[None]:
    """Let what the rules of forms raise be a failed ask."""
    try:
        yield
    except McpError as error:
        raise AskFailed(error.error) from None
