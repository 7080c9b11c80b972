"""Asking the client's model.

Layer: L4.
Source: MCP 2025-11-25, client/sampling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from dedalus_mcp.errors import METHOD_NOT_FOUND, AskFailed
from dedalus_mcp.server.asker import Question
from dedalus_mcp.server.asking_call import AskingCall
from dedalus_mcp.server.asks import Seconds, legally, put, ready
from dedalus_mcp.server.audit import Audit
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from dedalus_mcp.types.content import Block, SamplingMessageContentBlock
from dedalus_mcp.types.methods import SAMPLING_CREATE_MESSAGE
from dedalus_mcp.types.revisions import V2025_11_25, shape

__all__ = ("Messages", "check", "messages_of", "sample")

Messages: TypeAlias = (
    "str | SamplingMessageContentBlock | Sequence[str | SamplingMessageContentBlock | SamplingMessage]"
)
"""What a model is told: messages, or what the user says in one."""


def messages_of(given: Messages) -> list[SamplingMessage]:
    """Return messages: a text or a block by itself is what the user says.

    Raises:
        TypeError: Something in it is none of these.
    """
    if isinstance(given, str | Block):
        return [_message(given)]
    return [_message(each) for each in given]


def _message(given: Any) -> SamplingMessage:
    if isinstance(given, SamplingMessage):
        return given
    if isinstance(given, str | Block):
        content: Any = TextContent(text=given) if isinstance(given, str) else given
        return SamplingMessage(role="user", content=content)
    raise TypeError(f"a message is a SamplingMessage, a text or a content block, not a {type(given).__name__}")


async def sample(
    call: AskingCall | None, params: CreateMessageRequestParams, *, timeout: Seconds, key: str | None
) -> CreateMessageResult:
    """Ask the model, and return what it said: see `MCPServer.request_sampling`."""
    with_tools = params.tools is not None or params.toolChoice is not None
    required: dict[str, dict[str, Any]] = {"sampling": {"tools": {}} if with_tools else {}}
    with Audit(call, "sampling", None, key) as audit:
        call = await ready(call, required)
        if with_tools and call.revision < V2025_11_25:
            raise AskFailed(METHOD_NOT_FOUND, f"Sampling with tools needs protocol revision {V2025_11_25} or later")
        with legally:
            check(params)
        question = Question(
            SAMPLING_CREATE_MESSAGE.name, shape(_without_context(call, params), call.revision), required, key
        )
        bounds = None if call.terms.modern else call.server.sampling_bounds.of(call.peer)
        within = None if bounds is None else bounds.put
        result = await put(call, SAMPLING_CREATE_MESSAGE, question, timeout, within=within)
        audit.answered("answered", result)
        return result


def _without_context(call: AskingCall, params: CreateMessageRequestParams) -> CreateMessageRequestParams:
    """Ask for no context of a client that did not declare it (SAMP-03): it is a wish that may be ignored anyway."""
    sampling = call.client_capabilities.sampling
    undeclared = call.revision >= V2025_11_25 and (sampling is None or sampling.context is None)
    wished = params.includeContext not in {None, "none"}
    return replace(params, includeContext=None) if wished and undeclared else params


def check(params: CreateMessageRequestParams) -> None:
    """Refuse what no client may be asked.

    Raises:
        ValueError: The text says what is wrong.
    """
    if params.maxTokens < 1:
        raise ValueError(f"maxTokens must be at least 1, not {params.maxTokens!r}")
    if params.temperature is not None and not math.isfinite(params.temperature):
        raise ValueError("temperature must be a number")
    preferences = params.modelPreferences
    for name in ("costPriority", "speedPriority", "intelligencePriority"):
        priority = None if preferences is None else getattr(preferences, name)
        if priority is not None and not 0 <= priority <= 1:
            raise ValueError(f"modelPreferences.{name} must be from 0 to 1, not {priority!r}")
    _check_tool_use(params.messages)


def _check_tool_use(messages: Sequence[SamplingMessage]) -> None:
    """Each use of a tool is answered by the next message, which is nothing but results (SAMP-07, SAMP-08)."""
    open_uses: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        blocks = message.content if isinstance(message.content, list) else [message.content]
        results = [block.toolUseId for block in blocks if isinstance(block, ToolResultContent)]
        if results and (message.role != "user" or len(results) != len(blocks)):
            raise ValueError(f"{where}: tool results stand alone in a message of the user")
        if sorted(results) != sorted(open_uses):
            raise ValueError(f"{where}: expected the results of exactly the tool uses before it")
        uses = [block.id for block in blocks if isinstance(block, ToolUseContent)]
        if uses and message.role != "assistant":
            raise ValueError(f"{where}: only the assistant uses tools")
        open_uses = set(uses)
    if open_uses:
        raise ValueError("messages: the last tool uses have no results")
