"""The JSON codec: any bytes are a message, a batch of them, or `Malformed` with a reply that can be sent.

What is read can be written again, and is the same message then.
"""

from __future__ import annotations

from typing import get_args

from dedalus_mcp.jsonrpc.codec import MAX_BATCH, decode, encode, encode_batch
from dedalus_mcp.jsonrpc.messages import Failure, Malformed, Message

__all__ = ("target",)

NAMED = (*get_args(Message), Malformed)
LONGEST = 200
"""Characters of what is said of a message that is none: little of it is said back (RPC-09)."""


def target(data: bytes) -> None:
    """Read a frame."""
    decoded = decode(data)
    if not isinstance(decoded, list):
        _is_sound(decoded)
        return
    assert 0 < len(decoded) <= MAX_BATCH
    for item in decoded:
        _is_sound(item)
    again = decode(encode_batch([encode(item) for item in decoded if not isinstance(item, Malformed)]))
    assert again == [item for item in decoded if not isinstance(item, Malformed)] or isinstance(again, Malformed)


def _is_sound(item: Message | Malformed) -> None:
    assert isinstance(item, NAMED)
    if isinstance(item, Malformed):
        assert len(item.error.message) < LONGEST
        item = Failure(item.id, item.error)
    frame = encode(item)
    assert b"\n" not in frame
    assert b"\r" not in frame
    again = decode(frame)
    assert isinstance(again, type(item)), f"{item!r:.200} comes back as {again!r:.200}"
    assert encode(again) == frame
