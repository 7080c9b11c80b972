"""Tools: what a model may call.

Layer: L1; imports `messages`, `wire`, `icons`, `content` and `tasks` only.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET

from dedalus_mcp.types.content import ContentBlock, TextContent
from dedalus_mcp.types.icons import Icon
from dedalus_mcp.types.messages import (
    BaseMetadata,
    CacheScope,
    InputResponseRequestParams,
    Meta,
    PaginatedResult,
    Result,
)
from dedalus_mcp.types.tasks import TaskMetadata
from dedalus_mcp.types.wire import Wire, no_blocks

__all__ = (
    "CallToolRequestParams",
    "CallToolResult",
    "ListToolsResult",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
)


class ToolAnnotations(Wire, frozen=True, kw_only=True):
    """Hints on what a tool does (2025-03-26 and later); never to be trusted.

    Attributes:
        readOnlyHint: It changes nothing; absent means false.
        destructiveHint: It may destroy something; absent means true.
        idempotentHint: Calling it twice is as calling it once; absent means false.
        openWorldHint: It reaches beyond its own data; absent means true.
    """

    title: str | None = None
    readOnlyHint: bool | None = None
    destructiveHint: bool | None = None
    idempotentHint: bool | None = None
    openWorldHint: bool | None = None


class ToolExecution(Wire, frozen=True, kw_only=True):
    """Whether a tool runs as a task (2025-11-25 only); absent means "forbidden"."""

    taskSupport: Literal["forbidden", "optional", "required"] | None = None


class Tool(BaseMetadata, frozen=True, kw_only=True):
    """A tool as `tools/list` shows it; both schemas are kept exactly as given."""

    inputSchema: dict[str, Any]
    description: str | None = None
    outputSchema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    execution: ToolExecution | None = None
    icons: list[Icon] | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ListToolsResult(PaginatedResult, frozen=True, kw_only=True):
    """One page of the server's tools."""

    tools: list[Tool]
    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class CallToolRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Which tool to call, with what; absent arguments are an empty object."""

    name: str
    arguments: dict[str, Any] | None = None
    task: TaskMetadata | None = None


class CallToolResult(Result, frozen=True, kw_only=True):
    """What a tool returned.

    Attributes:
        structuredContent: Any JSON value; UNSET when there is none, since null is one.
        isError: The tool failed, and the content says how.
    """

    content: list[ContentBlock] = msgspec.field(default_factory=no_blocks)
    structuredContent: Any = UNSET
    isError: bool = False

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks; empty without any."""
        return "\n".join([block.text for block in self.content if isinstance(block, TextContent)])
