"""What the upstream server asks, asked of our client's user: in the client's words, live or in rounds.

Layer: L6.
"""

from __future__ import annotations

import os
from typing import TypeAlias

import anyio
from msgspec import UNSET
from msgspec.structs import replace

from dedalus_mcp.errors import McpError
from dedalus_mcp.jsonrpc.failures import only_mcp_error
from dedalus_mcp.server import asks, roots, sampling
from dedalus_mcp.server.context import Context
from dedalus_mcp.types import (
    ClientCapabilities,
    CreateMessageRequest,
    ElicitRequest,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ListRootsResult,
)
from dedalus_mcp.types.messages import Meta
from dedalus_mcp.types.meta import PROGRESS_TOKEN_KEY
from dedalus_mcp.types.rounds import InputRequest, InputRequests, InputResponse

__all__ = ("Asked", "hand_on", "hand_on_all", "takes_forms")

Asked: TypeAlias = ElicitRequestParams | ElicitRequestURLParams
"""The params of a question to the user."""


def takes_forms(capabilities: ClientCapabilities) -> bool:
    """Whether a client fills in forms; one that names no mode does (ELIC-02)."""
    declared = capabilities.elicitation
    return declared is not None and (declared.form is not None or declared.url is None)


async def hand_on(context: Context, question: InputRequest) -> InputResponse:
    """Put a question to the client of a call, and return its answer.

    Raises:
        AskFailed: See `MCPServer.request_elicitation`.
    """
    if isinstance(question, ElicitRequest):
        return await asks.elicit(context, _untracked(question.params), timeout=UNSET, key=None)
    if isinstance(question, CreateMessageRequest):
        params = replace(question.params, meta=_without_token(question.params.meta), task=None)
        return await sampling.sample(context, params, timeout=UNSET, key=None)
    return ListRootsResult(roots=await roots.list_roots(context, timeout=UNSET, key=None))


async def hand_on_all(context: Context, questions: InputRequests) -> dict[str, InputResponse]:
    """Put the questions of one round, all at once, and return the answers by key.

    Raises:
        McpError: What the first that failed raised; the others are given up.
    """
    answers: dict[str, InputResponse] = {}

    async def ask(key: str, question: InputRequest) -> None:
        answers[key] = await hand_on(context, question)

    try:
        async with anyio.create_task_group() as group:
            for key, question in questions.items():
                group.start_soon(ask, key, question)
    except BaseExceptionGroup as errors:
        raise only_mcp_error(errors) or _first(errors) or errors from None
    return {key: answers[key] for key in questions}


def _first(errors: BaseExceptionGroup[BaseException]) -> McpError | None:
    return next((error for error in errors.exceptions if isinstance(error, McpError)), None)


def _untracked(params: Asked) -> Asked:
    """The params without what belongs to the upstream's own request; 2025-11-25 requires an id, 2026-07-28 has none."""
    meta = _without_token(params.meta)
    if isinstance(params, ElicitRequestURLParams):
        return replace(params, meta=meta, task=None, elicitationId=params.elicitationId or os.urandom(16).hex())
    return replace(params, meta=meta, task=None)


def _without_token(meta: Meta | None) -> Meta | None:
    return {key: value for key, value in (meta or {}).items() if key != PROGRESS_TOKEN_KEY} or None
