"""Completion: suggestions for the arguments of prompts and resource templates.

Layer: L1; imports `messages`, `wire` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from dedalus_mcp.types.messages import BaseMetadata, RequestParams, Result
from dedalus_mcp.types.wire import TaggedMeta, Wire

__all__ = (
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "CompletionReference",
    "PromptReference",
    "ResourceReference",
    "ResourceTemplateReference",
)


class PromptReference(
    BaseMetadata, frozen=True, kw_only=True, tag_field="type", tag="ref/prompt", metaclass=TaggedMeta
):
    """A prompt, by name."""

    if TYPE_CHECKING:
        type: Literal["ref/prompt"] = "ref/prompt"


class ResourceTemplateReference(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="ref/resource", metaclass=TaggedMeta
):
    """A resource or resource template, by URI or URI template."""

    if TYPE_CHECKING:
        type: Literal["ref/resource"] = "ref/resource"
    uri: str


ResourceReference = ResourceTemplateReference
CompletionReference: TypeAlias = PromptReference | ResourceTemplateReference


class CompletionArgument(Wire, frozen=True, kw_only=True):
    """The argument being typed, as far as it is."""

    name: str
    value: str


class CompletionContext(Wire, frozen=True, kw_only=True):
    """The arguments already given (2025-06-18 and later)."""

    arguments: dict[str, str] | None = None


class CompleteRequestParams(RequestParams, frozen=True, kw_only=True):
    """What to complete."""

    ref: CompletionReference
    argument: CompletionArgument
    context: CompletionContext | None = None


class Completion(Wire, frozen=True, kw_only=True):
    """The suggestions: at most 100 of `total`."""

    values: list[str]
    total: int | None = None
    hasMore: bool | None = None


class CompleteResult(Result, frozen=True, kw_only=True):
    """The suggestions for one argument."""

    completion: Completion
