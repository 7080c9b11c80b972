"""Prompts: message templates that a user picks.

Layer: L1; imports `messages`, `wire`, `icons` and `content` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dedalus_mcp.types.content import ContentBlock, TextContent
from dedalus_mcp.types.icons import Icon
from dedalus_mcp.types.messages import (
    BaseMetadata,
    CacheScope,
    InputResponseRequestParams,
    Meta,
    PaginatedResult,
    Result,
    Role,
)
from dedalus_mcp.types.wire import Wire, from_members, members_of

__all__ = (
    "GetPromptRequestParams",
    "GetPromptResult",
    "ListPromptsResult",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
)


class PromptArgument(BaseMetadata, frozen=True, kw_only=True):
    """A string that a prompt takes; absent `required` means false."""

    description: str | None = None
    required: bool | None = None

    @classmethod
    def of(cls, argument: PromptArgument | Mapping[str, Any]) -> PromptArgument:
        """Return `argument` as a `PromptArgument`.

        Raises:
            TypeError: It is none; the text says why.
        """
        if isinstance(argument, PromptArgument):
            return argument
        return from_members(members_of(argument, cls), cls)


class Prompt(BaseMetadata, frozen=True, kw_only=True):
    """A prompt as `prompts/list` shows it."""

    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ListPromptsResult(PaginatedResult, frozen=True, kw_only=True):
    """One page of the server's prompts."""

    prompts: list[Prompt]
    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class GetPromptRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Which prompt to render, with what; absent arguments are an empty object."""

    name: str
    arguments: dict[str, str] | None = None


class PromptMessage(Wire, frozen=True, kw_only=True):
    """One message of a rendered prompt."""

    role: Role
    content: ContentBlock

    @property
    def text(self) -> str:
        """Its text; empty if it is something else."""
        return self.content.text if isinstance(self.content, TextContent) else ""


class GetPromptResult(Result, frozen=True, kw_only=True):
    """A rendered prompt."""

    messages: list[PromptMessage]
    description: str | None = None
