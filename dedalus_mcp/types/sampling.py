"""Sampling: a server asks the client's model.

Layer: L1; imports `messages`, `wire`, `content`, `tools` and `tasks` only.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dedalus_mcp.types.content import SamplingMessageContentBlock, TextContent
from dedalus_mcp.types.messages import Meta, RequestParams, Role
from dedalus_mcp.types.tasks import TaskMetadata
from dedalus_mcp.types.tools import Tool
from dedalus_mcp.types.wire import Wire

__all__ = (
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "IncludeContext",
    "ModelHint",
    "ModelPreferences",
    "SamplingMessage",
    "StopReason",
    "ToolChoice",
)

IncludeContext: TypeAlias = Literal["none", "thisServer", "allServers"]
StopReason: TypeAlias = Literal["endTurn", "stopSequence", "maxTokens", "toolUse"] | str
"""Open: a client may give a reason of its own."""


class ModelHint(Wire, frozen=True, kw_only=True):
    """A part of the name of a model that would do."""

    name: str | None = None


class ModelPreferences(Wire, frozen=True, kw_only=True):
    """Which model would be best; each priority is from 0 to 1."""

    hints: list[ModelHint] | None = None
    costPriority: int | float | None = None
    speedPriority: int | float | None = None
    intelligencePriority: int | float | None = None


class ToolChoice(Wire, frozen=True, kw_only=True):
    """Whether the model may use tools (2025-11-25 and later); absent means "auto"."""

    mode: Literal["auto", "required", "none"] | None = None


class SamplingMessage(Wire, frozen=True, kw_only=True):
    """One message to a model, or from it; several blocks are 2025-11-25 and later."""

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks; empty without any."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "\n".join([block.text for block in blocks if isinstance(block, TextContent)])


class CreateMessageRequestParams(RequestParams, frozen=True, kw_only=True):
    """What to ask the model, and how."""

    messages: list[SamplingMessage]
    maxTokens: int
    modelPreferences: ModelPreferences | None = None
    systemPrompt: str | None = None
    includeContext: IncludeContext | None = None
    temperature: int | float | None = None
    stopSequences: list[str] | None = None
    metadata: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    toolChoice: ToolChoice | None = None
    task: TaskMetadata | None = None


class CreateMessageResult(SamplingMessage, frozen=True, kw_only=True):
    """What the model said."""

    model: str
    stopReason: str | None = None
