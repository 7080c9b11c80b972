"""What a resource's function may return, and the contents that become of it.

    ReadResourceResult                     itself
    TextResourceContents, Blob...          itself, with its own URI and `_meta`
    mapping with `text` or `blob`          the same; what it does not say is the resource's
    content blocks with text or data       their text or data
    a list of these                        several contents
    str                                    text
    bytes, bytearray, memoryview           standard base64
    anything else that has a JSON form     its JSON as text

What comes piece by piece is one str or bytes here already: see `dedalus_mcp.server.streams`.

Layer: L4.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar

import msgspec

from dedalus_mcp.schema.plain import plain
from dedalus_mcp.server.rendering import is_list, is_mapping
from dedalus_mcp.server.results import reads_once
from dedalus_mcp.types import (
    AnyResourceContents,
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
)
from dedalus_mcp.types.wire import dec_hook

__all__ = ("contents_of",)

T = TypeVar("T", ReadResourceResult, TextResourceContents, BlobResourceContents)

_MEMBERS = frozenset(("uri", "mimeType", "text", "blob", "_meta"))
_RESULT_MEMBERS = frozenset(("contents", "_meta", "ttlMs", "cacheScope"))
_CONTENTS = (TextResourceContents, BlobResourceContents)


def contents_of(value: Any, uri: str, mime_type: str | None) -> ReadResourceResult:
    """Make the result of `resources/read` of what a function returned.

    Args:
        value: See the module.
        uri: What was read.
        mime_type: What the resource says it is.

    Raises:
        ValueError: There is nothing in it (RES-09), or it has no JSON form.
    """
    result = _result(value)
    if result is None:
        parts = _parts(value, uri, mime_type)
        if parts is None:
            parts = [_json(value, uri, mime_type or "application/json")]
        result = ReadResourceResult(contents=parts)
    if not result.contents:
        raise ValueError("no contents; a resource that is not there raises ResourceNotFound")
    return result


def _result(value: Any) -> ReadResourceResult | None:
    if isinstance(value, ReadResourceResult):
        return value
    if is_mapping(value) and "contents" in value and _RESULT_MEMBERS.issuperset(value):
        return _converted(value, ReadResourceResult)
    return None


def _parts(value: Any, uri: str, mime_type: str | None) -> list[AnyResourceContents] | None:
    """The contents that `value` is or consists of; None if it is neither."""
    if not is_list(value):
        part = _part(value, uri, mime_type)
        return None if part is None else [part]
    found = [None if isinstance(item, str) else _part(item, uri, mime_type) for item in value]
    parts = [part for part in found if part is not None]
    if parts and len(parts) < len(found):
        raise ValueError("contents and something else in one list")
    return parts or None


def _part(value: Any, uri: str, mime_type: str | None) -> AnyResourceContents | None:
    """The one contents that `value` is; None if it is none."""
    if isinstance(value, EmbeddedResource):
        value = value.resource
    if isinstance(value, _CONTENTS):
        return value
    if isinstance(value, str):
        value = TextContent(text=value)
    if isinstance(value, TextContent):
        return TextResourceContents(uri=uri, text=value.text, mimeType=mime_type or "text/plain", meta=value.meta)
    if isinstance(value, (ImageContent, AudioContent)):
        return BlobResourceContents(uri=uri, blob=value.data, mimeType=value.mimeType, meta=value.meta)
    if _is_binary(value):
        blob = b2a_base64(value, newline=False).decode()
        return BlobResourceContents(uri=uri, blob=blob, mimeType=mime_type or "application/octet-stream")
    return _described(value, uri, mime_type)


def _json(value: object, uri: str, mime_type: str) -> AnyResourceContents:
    if reads_once(value):
        raise ValueError(f"a {type(value).__name__}, which can be read once; return a list")
    text = msgspec.json.encode(plain(value, "returned")).decode()
    return TextResourceContents(uri=uri, text=text, mimeType=mime_type)


def _described(value: Any, uri: str, mime_type: str | None) -> AnyResourceContents | None:
    if not is_mapping(value) or not _MEMBERS.issuperset(value) or ("text" in value) == ("blob" in value):
        return None
    given = {"uri": uri, **({} if mime_type is None else {"mimeType": mime_type}), **value}
    if "text" in value:
        return _converted(given, TextResourceContents)
    return _converted(given, BlobResourceContents)


def _is_binary(value: object) -> TypeGuard[bytes]:
    return isinstance(value, bytes | bytearray | memoryview)


def _converted(members: Mapping[str, Any], kind: type[T]) -> T | None:
    """Make a wire type; None if the mapping only looks like one."""
    try:
        return msgspec.convert(members, kind, dec_hook=dec_hook)
    except msgspec.ValidationError:
        return None
