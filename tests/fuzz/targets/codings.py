"""Bodies that come compressed: any bytes are unfolded in small pieces, or a `ValueError` says why not."""

from __future__ import annotations

import zlib

from dedalus_mcp.content_coding import MAX_PIECE, folded
from tests.fuzz.pieces import chunks

__all__ = ("target",)

CODINGS = ("gzip", "deflate", "identity", "x-gzip", "br", "gzip, gzip", "")
ENOUGH = 1 << 17
"""Bytes that are taken at most: whoever has enough takes no more."""


class Response:
    """An answer, as far as it matters."""

    is_stream_consumed = False

    def __init__(self, coding: str) -> None:
        self.headers = {"content-encoding": coding}

    def aiter_raw(self) -> None:
        """Return the chunks, of which there are none here."""


def target(data: bytes) -> None:
    """Unfold a body, as it is and folded once more, however it is cut into chunks."""
    for coding in (*CODINGS, data[:12].decode("latin-1")):
        ways = [_unfolded(coding, way) for way in chunks(data)]
        assert len(set(ways)) == 1, f"with {coding!r}, it depends on the chunks"
    assert _unfolded("deflate", [zlib.compress(data)]) == data


def _unfolded(coding: str, way: list[bytes]) -> bytes | None:
    whole = b""
    try:
        _, unfold = folded(Response(coding))
        for chunk in way:
            for piece in unfold(chunk):
                assert len(piece) <= max(MAX_PIECE, len(chunk))
                whole += piece
                if len(whole) > ENOUGH:
                    return None
    except ValueError:
        return None
    return whole
