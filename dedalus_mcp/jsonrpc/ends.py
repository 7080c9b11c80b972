"""Whose message a frame is that cannot be read whole: its two ends may tell.

For frames that are too long, nested too deeply, or cut off: the peer that gets its id back, or
the call of ours that is told of its spoilt reply, does not wait for ever.

Layer: L1; imports `messages` only.
"""

from __future__ import annotations

import re

import msgspec

from dedalus_mcp.jsonrpc.messages import RequestId

__all__ = ("LENGTH", "whose")

LENGTH = 512
"""How many bytes of either end are looked at."""

# Whole values only: the first digits of a longer number would be the id of another call.
_ID = rb'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[^"\\]{0,256}")(?=\s*[,}])'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
# Anchored at either end of the frame, so that no "id" inside params or result can be taken for it.
_AT_HEAD = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID)
_AT_TAIL = re.compile(
    rb"[,{\s](?:" + _VERSION + rb"\s*,\s*" + _ID + rb"|" + _ID + rb"\s*,\s*" + _VERSION + rb")\s*\}\s*$"
)
_REPLY_AT_HEAD = re.compile(rb'\s*\{[^{]*"(?:result|error)"\s*:')


def whose(head: bytes, tail: bytes) -> tuple[RequestId | None, bool]:
    """Return the id, where one can be found, and whether the message is a reply.

    Args:
        head: The first bytes of the frame, up to `LENGTH`.
        tail: The last bytes of the frame, up to `LENGTH`.
    """
    return _id(_AT_HEAD.match(head) or _AT_TAIL.search(tail)), _REPLY_AT_HEAD.match(head) is not None


def _id(found: re.Match[bytes] | None) -> RequestId | None:
    if found is None:
        return None
    text = next(group for group in found.groups() if group is not None)
    try:
        id: RequestId = msgspec.json.decode(text, type=int | str)
    except msgspec.DecodeError:  # no UTF-8, or a raw control character
        return None
    return id
