"""The framing of stdio: any bytes are frames, however they arrive, and none of them is longer than the limit.

Little more than the limit is ever held, and what is too long is told of once, with its ends.
"""

from __future__ import annotations

from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.oversized import describe
from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.lines import Lines
from tests.fuzz.pieces import chunks

__all__ = ("target",)

LIMITS = (8, 600, 1 << 20)
EXCERPT = 512


def target(data: bytes) -> None:
    """Cut a stream into frames, in several ways."""
    for limit in LIMITS:
        ways = [_frames(way, limit) for way in chunks(data)]
        assert all(frames == ways[0] for frames in ways), f"with a limit of {limit}, it depends on the chunks"
        for frame in ways[0]:
            if isinstance(frame, Oversized):
                assert len(frame.head) <= EXCERPT >= len(frame.tail)
                describe(frame)
            else:
                assert b"\n" not in frame
                assert len(frame) <= limit
        if limit == LIMITS[-1]:
            for frame in ways[0]:
                assert isinstance(frame, bytes)
                decode(frame)


def _frames(way: list[bytes], limit: int) -> list[bytes | Oversized]:
    lines = Lines(limit)
    frames: list[bytes | Oversized] = []
    for chunk in way:
        frames += lines.feed(chunk)
        assert len(lines._open) <= max(limit, EXCERPT) + 1  # pyright: ignore[reportPrivateUsage]
    return frames + lines.end()
