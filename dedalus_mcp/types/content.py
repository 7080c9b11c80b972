"""Content blocks: what tools return and what messages are made of.

A block is one of the tagged types here, told apart by `type`.  A type that this package does
not know never fails the message that holds it: it is an `UnknownContent`, which keeps every
member and is written again unchanged.

Layer: L1; imports `messages`, `wire` and `icons` only.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from dedalus_mcp.types.icons import Icon
from dedalus_mcp.types.messages import BaseMetadata, Meta, Role
from dedalus_mcp.types.wire import Choice, TaggedMeta, Wire, no_blocks

__all__ = (
    "AnyResourceContents",
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "Block",
    "ContentBlock",
    "EmbeddedResource",
    "ImageContent",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "SamplingMessageContentBlock",
    "TextContent",
    "TextResourceContents",
    "ToolResultContent",
    "ToolUseContent",
    "UnknownContent",
)


class Annotations(Wire, frozen=True, kw_only=True):
    """Hints on who a piece of content is for.

    Attributes:
        priority: From 0 (may be left out) to 1 (needed).
        lastModified: ISO 8601 (2025-06-18 and later).
    """

    audience: list[Role] | None = None
    priority: int | float | None = None
    lastModified: str | None = None


class Block(Wire, frozen=True, kw_only=True, tag_field="type", tag="block", metaclass=TaggedMeta):
    """What the content blocks are, `ResourceLink` aside, which is a `Resource`; never on the wire itself."""


class TextContent(Block, frozen=True, kw_only=True, tag="text"):
    """Text."""

    if TYPE_CHECKING:
        type: Literal["text"] = "text"
    text: str
    annotations: Annotations | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ImageContent(Block, frozen=True, kw_only=True, tag="image"):
    """A picture; `data` is base64."""

    if TYPE_CHECKING:
        type: Literal["image"] = "image"
    data: str
    mimeType: str
    annotations: Annotations | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    @classmethod
    def of(cls, data: bytes, mimeType: str) -> ImageContent:  # noqa: N803 - the field's own name
        """Make one of its bytes."""
        return cls(data=b64encode(data).decode(), mimeType=mimeType)


class AudioContent(Block, frozen=True, kw_only=True, tag="audio"):
    """Sound; `data` is base64 (2025-03-26 and later)."""

    if TYPE_CHECKING:
        type: Literal["audio"] = "audio"
    data: str
    mimeType: str
    annotations: Annotations | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    @classmethod
    def of(cls, data: bytes, mimeType: str) -> AudioContent:  # noqa: N803 - the field's own name
        """Make one of its bytes."""
        return cls(data=b64encode(data).decode(), mimeType=mimeType)


class ResourceContents(Choice):
    """What is in a resource: a `TextResourceContents` or a `BlobResourceContents`."""

    __slots__ = ()

    @classmethod
    def choose(cls, members: dict[str, Any]) -> type[Any]:
        """Tell text from blob by the member that is there."""
        if "text" in members:
            return TextResourceContents
        if "blob" in members:
            return BlobResourceContents
        raise ValueError("Object missing required field `text` or `blob`")


class TextResourceContents(Wire, ResourceContents, frozen=True, kw_only=True):
    """The text of a resource, or of a part of it."""

    uri: str
    text: str
    mimeType: str | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class BlobResourceContents(Wire, ResourceContents, frozen=True, kw_only=True):
    """The bytes of a resource, or of a part of it; `blob` is base64."""

    uri: str
    blob: str
    mimeType: str | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


if TYPE_CHECKING:
    AnyResourceContents: TypeAlias = TextResourceContents | BlobResourceContents
else:  # msgspec takes no union of two types without a tag
    AnyResourceContents = ResourceContents


class EmbeddedResource(Block, frozen=True, kw_only=True, tag="resource"):
    """A resource's contents, in place."""

    if TYPE_CHECKING:
        type: Literal["resource"] = "resource"
    resource: AnyResourceContents
    annotations: Annotations | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class Resource(BaseMetadata, frozen=True, kw_only=True):
    """A resource that a server has; `size` is in bytes."""

    uri: str
    description: str | None = None
    mimeType: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ResourceLink(Resource, frozen=True, kw_only=True, tag_field="type", tag="resource_link", metaclass=TaggedMeta):
    """A resource that the reader may read (2025-06-18 and later)."""

    if TYPE_CHECKING:
        type: Literal["resource_link"] = "resource_link"


class UnknownContent(dict[str, Any]):
    """A block of a type that this package does not know: the mapping of all its members."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """Its `type`."""
        type_: str = self["type"]
        return type_


if TYPE_CHECKING:
    ContentBlock: TypeAlias = (
        TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent
    )
else:  # msgspec takes no mapping beside tagged types: `lenient` puts the unknown ones in
    ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ToolUseContent(Block, frozen=True, kw_only=True, tag="tool_use"):
    """A model's call of a tool, in a sampled message (2025-11-25 and later)."""

    if TYPE_CHECKING:
        type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: dict[str, Any]
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ToolResultContent(Block, frozen=True, kw_only=True, tag="tool_result"):
    """What the tool returned for the `ToolUseContent` of that id (2025-11-25 and later)."""

    if TYPE_CHECKING:
        type: Literal["tool_result"] = "tool_result"
    toolUseId: str
    content: list[ContentBlock] = msgspec.field(default_factory=no_blocks)
    structuredContent: Any = UNSET
    isError: bool = False
    meta: Meta | None = msgspec.field(default=None, name="_meta")


if TYPE_CHECKING:
    SamplingMessageContentBlock: TypeAlias = (
        TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent | UnknownContent
    )
else:
    SamplingMessageContentBlock = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
