"""What is in a legacy POST: the calls that are to be answered, and those that nobody wants any more.

Layer: L2; imports `messages` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import UNSET

from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call, Malformed, Notice, RequestId

__all__ = ("cancellations_in", "is_replied_to")


class _Cancelled(msgspec.Struct):
    requestId: RequestId | None = None


_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode


def is_replied_to(message: Decoded) -> bool:
    """Whether anything in a POST is a call, or has to be refused as if it were."""
    if isinstance(message, list):
        return any(isinstance(item, Call) or (isinstance(item, Malformed) and not item.is_reply) for item in message)
    return isinstance(message, Call)


def cancellations_in(message: Decoded) -> Iterator[tuple[Notice, RequestId]]:
    """Find the calls whose replies nobody wants any more, each with the notice that says so."""
    for item in message if isinstance(message, list) else (message,):
        if isinstance(item, Notice) and item.method == "notifications/cancelled" and item.params is not UNSET:
            with suppress(msgspec.DecodeError, RecursionError):
                id = _decode_cancelled(item.params).requestId
                if id is not None:
                    yield item, id
