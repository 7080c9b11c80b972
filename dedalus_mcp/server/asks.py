"""Asking the client's user in the middle of a call.

What can go wrong is checked in a fixed order, before anything is sent:

    an active call ─▶ the capability ─▶ a legal form ─▶ ask ─▶ a legal answer ─▶ ElicitResult

How the question travels is the business of the call's asker: see `server.asker`.

Layer: L4.
Source: MCP 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from anyio import lowlevel
from msgspec import UnsetType

from dedalus_mcp.errors import METHOD_NOT_FOUND, AskFailed, McpError, NoActiveCall
from dedalus_mcp.jsonrpc.tasks import being_cancelled
from dedalus_mcp.schema import forms
from dedalus_mcp.server.asker import Question, check_capability, not_legal
from dedalus_mcp.server.context import Context, active_context
from dedalus_mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from dedalus_mcp.types.methods import ELICITATION_CREATE
from dedalus_mcp.types.revisions import shape

__all__ = ("elicit",)


async def elicit(
    params: ElicitRequestParams | ElicitRequestURLParams, timeout: float | UnsetType | None
) -> ElicitResult:
    """Ask the user of the client whose call is being answered.

    Raises:
        AskFailed: See `MCPServer.request_elicitation`.
    """
    context = await _asking()
    mode = "url" if isinstance(params, ElicitRequestURLParams) else "form"
    required = {"elicitation": {mode: dict[str, Any]()}}
    check_capability(context.client_capabilities, required)
    revision = context.revision
    if isinstance(params, ElicitRequestParams):
        with _as_ask():
            forms.check(params.requestedSchema, revision)
            sent: Any = msgspec.structs.replace(params, requestedSchema=forms.reduce(params.requestedSchema, revision))
    else:
        sent = params
    question = Question(ELICITATION_CREATE.name, shape(sent, revision), required)
    raw = await context.asker.ask(question, timeout)
    try:
        result = ELICITATION_CREATE.decode_result(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_legal(question, error) from None
    return _checked(params, result)


async def _asking() -> Context:
    """The context of the active call; a cancelled one is cancelled here, before anything is asked."""
    context = active_context()
    if context is None or context.finished:
        raise NoActiveCall(METHOD_NOT_FOUND, "Elicitation needs an active request: call it while a handler runs")
    if context.cancelled is not None or being_cancelled():
        await lowlevel.checkpoint()
        reason = context.cancelled or "the server is shutting down"
        raise NoActiveCall(METHOD_NOT_FOUND, f"Elicitation needs an active request; this one is cancelled: {reason}")
    return context


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
