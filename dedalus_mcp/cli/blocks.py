"""Content of a server, as a person reads it in a terminal.

Layer: L6; no I/O.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

__all__ = ("blob_of", "contents", "text_of", "text_of_result")


def text_of(block: Any) -> str:
    """Return a content block as text; of what is none, what it is and how much."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ImageContent | AudioContent):
        kind = "image" if isinstance(block, ImageContent) else "audio"
        return f"[{kind} {block.mimeType}, {_size(block.data)}]"
    if isinstance(block, EmbeddedResource):
        return contents(block.resource)
    if isinstance(block, ResourceLink):
        return f"[resource {block.uri}] {block.title or block.name}"
    return _json(block)


def text_of_result(result: CallToolResult) -> Iterable[str]:
    """Return what a tool returned, piece by piece: structured content is shown where no block says the same."""
    shown = [text_of(block) for block in result.content]
    if result.structuredContent is not UNSET and not any(_says(text, result.structuredContent) for text in shown):
        shown.append(_json(result.structuredContent))
    return shown


def contents(resource: TextResourceContents | BlobResourceContents) -> str:
    """Return what is in a resource, or in a part of it."""
    if isinstance(resource, TextResourceContents):
        return resource.text
    return f"[{resource.mimeType or 'bytes'}, {_size(resource.blob)}]"


def blob_of(data: str) -> bytes:
    """Return the bytes that base64 stands for.

    Raises:
        RemoteProtocolError: It is none.
    """
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise RemoteProtocolError(f"the server's bytes are no base64: {error}") from None


def _size(data: str) -> str:
    size: float = len(data) * 3 // 4 - data[-2:].count("=")
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _says(text: str, value: Any) -> bool:
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = text
    # {"result": value} is how a value that is no object goes on the wire.
    return bool(value in (found, {"result": found}))
