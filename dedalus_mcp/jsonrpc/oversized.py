"""What to make of frames that are not even tried: too long, or a batch where none is legal.

Layer: L2; imports `errors`, `ends`, `messages` and `transport` only.
"""

from __future__ import annotations

from dedalus_mcp.errors import INVALID_REQUEST, ErrorData
from dedalus_mcp.jsonrpc.ends import whose
from dedalus_mcp.jsonrpc.messages import Malformed
from dedalus_mcp.transport import Oversized

__all__ = ("describe", "refuse_batch")


def describe(frame: Oversized) -> Malformed:
    """Say that the frame was too long, and whose it was if its ends tell."""
    id, is_reply = whose(frame.head, frame.tail)
    error = ErrorData(INVALID_REQUEST, f"Invalid message: longer than {frame.limit} bytes, which is the limit")
    return Malformed(id, error, is_reply)


def refuse_batch() -> Malformed:
    """Say that a batch is not legal here."""
    return Malformed(None, ErrorData(INVALID_REQUEST, "Invalid message: batches belong to 2025-03-26 only"))
