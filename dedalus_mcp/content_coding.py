"""Bodies of HTTP answers that come compressed, unfolded piece by piece.

    chunk as it came ──unfold──▶ piece, piece, piece ...   each bounded: who has enough takes no more

HTTP clients unfold a chunk whole, and one coding inside another as well: two kilobytes become gigabytes
before anybody can count them.

Layer: L2; no I/O.
Source: RFC 9110, 8.4; RFC 1950; RFC 1952.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeAlias

__all__ = ("ACCEPTED", "Unfold", "folded", "ignored")

ACCEPTED = "gzip, deflate"
"""What requests say in `accept-encoding`."""

MAX_PIECE = 64 * 1024
"""Bytes that are unfolded at once."""

Unfold: TypeAlias = Callable[[bytes], Iterator[bytes]]


def folded(response: Any) -> tuple[AsyncIterator[bytes], Unfold]:
    """Return the chunks of a body, as they came, and what unfolds each of them.

    Args:
        response: An answer of httpx, or of what has its shape.

    Raises:
        ValueError: It comes in another coding than those that are accepted.  Unfolding raises it too,
            where the body is none.
    """
    if response.is_stream_consumed:  # the client has read it already, for its authentication perhaps
        return response.aiter_bytes(), _as_it_is
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return response.aiter_raw(), _as_it_is
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"the body comes in the coding {coding!r:.80}; legal are {ACCEPTED} and none")
    return response.aiter_raw(), _Inflating().unfold


def ignored(chunk: bytes) -> Iterator[bytes]:
    """Unfold nothing any more: there was enough."""
    del chunk
    return iter(())


def _as_it_is(chunk: bytes) -> Iterator[bytes]:
    yield chunk


class _Inflating:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either header, as some servers confuse them

    def unfold(self, chunk: bytes) -> Iterator[bytes]:
        piece = b""
        while (chunk or len(piece) == MAX_PIECE) and not self._zlib.eof:  # what follows the end is nobody's
            try:
                piece = self._zlib.decompress(chunk, MAX_PIECE)
            except zlib.error as error:
                raise ValueError(f"the body is not compressed as it says: {error!s:.80}") from error
            chunk = self._zlib.unconsumed_tail
            if piece:
                yield piece
