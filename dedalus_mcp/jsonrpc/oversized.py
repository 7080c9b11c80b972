"""What to make of frames that are not even tried: too long, or a batch where none is legal.

Layer: L2; imports `errors`, `messages` and `transport` only.
"""

from __future__ import annotations

import re

import msgspec

from dedalus_mcp.errors import INVALID_REQUEST, ErrorData
from dedalus_mcp.jsonrpc.messages import Malformed, RequestId
from dedalus_mcp.transport import Oversized

__all__ = ("describe", "refuse_batch")

# Whole values only: the first digits of a longer number would be the id of another call.
_ID = rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[^"\\]{0,256}")(?=\s*[,}])'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
# Anchored at either end of the frame, so that no "id" inside params or result can be taken for it.
# Compiled by `re` at their first use, which most programs never come to.
_AT_HEAD = rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID
_AT_TAIL = rb"[,{\s](?:" + _VERSION + rb"\s*,\s*" + _ID + rb"|" + _ID + rb"\s*,\s*" + _VERSION + rb")\s*\}\s*$"
_REPLY_AT_HEAD = rb'\s*\{[^{]*"(?:result|error)"\s*:'


def describe(frame: Oversized) -> Malformed:
    """Say that the frame was too long, and whose it was if its ends tell."""
    error = ErrorData(INVALID_REQUEST, f"Invalid message: longer than {frame.limit} bytes, which is the limit")
    return Malformed(_id(frame), error, re.match(_REPLY_AT_HEAD, frame.head) is not None)


def refuse_batch() -> Malformed:
    """Say that a batch is not legal here."""
    return Malformed(None, ErrorData(INVALID_REQUEST, "Invalid message: batches belong to 2025-03-26 only"))


def _id(frame: Oversized) -> RequestId | None:
    found = re.match(_AT_HEAD, frame.head) or re.search(_AT_TAIL, frame.tail)
    if found is None:
        return None
    text = next(group for group in found.groups() if group is not None)
    try:
        id: RequestId = msgspec.json.decode(text, type=int | str)
    except msgspec.DecodeError:  # no UTF-8, or a raw control character
        return None
    return id
