"""What a resource's function gives piece by piece, as one: the protocol has no pieces.

    generator, async generator, iterator    of str, or of bytes
    open file                               of either kind; it is closed

Whatever cannot be awaited is read in a worker thread.

Layer: L4.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

from dedalus_mcp.errors import INTERNAL_ERROR, McpError
from dedalus_mcp.server.rendering import comes_later
from dedalus_mcp.threads import Threads

__all__ = ("gathered", "too_large")


CHUNK = 64 << 10
"""Bytes that are read from a file at a time: a few system calls for what is usual, and no line is too long."""


class _Whole:
    """The pieces so far, all of one kind, of no more than `limit` bytes or characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._text = io.StringIO()
        self._data: bytearray | None = None  # None for text

    def add(self, piece: object) -> None:
        if not isinstance(piece, str | bytes | bytearray | memoryview):
            raise ValueError(f"a stream of {type(piece).__name__}; return a list, or give str or bytes")
        if self._size and isinstance(piece, str) != (self._data is None):
            raise ValueError("a stream of both str and bytes")
        self._size += piece.nbytes if isinstance(piece, memoryview) else len(piece)
        if self._size > self._limit:
            raise too_large(self._limit)
        if isinstance(piece, str):
            self._text.write(piece)
        else:
            self._data = bytearray() if self._data is None else self._data
            self._data += piece

    def get(self) -> str | bytes:
        return self._text.getvalue() if self._data is None else bytes(self._data)


async def gathered(stream: Any, threads: Threads, limit: int) -> str | bytes:
    """Read a stream to its end, and close it whatever happens.

    Args:
        stream: See the module.
        threads: Where what cannot be awaited is read.
        limit: How many bytes or characters there may be.

    Raises:
        McpError: -32603, there are more.
        ValueError: The pieces are neither str nor bytes, or both.
        Exception: What the stream raised.
    """
    if not comes_later(stream):
        read: str | bytes = await threads.run(partial(_read, stream, limit))
        return read
    whole = _Whole(limit)
    try:
        async for piece in stream:
            whole.add(piece)
    finally:
        if (aclose := getattr(stream, "aclose", None)) is not None:
            await aclose()
    return whole.get()


def too_large(limit: int) -> McpError:
    """Return the error of a resource that has more than `limit` bytes or characters."""
    return McpError(INTERNAL_ERROR, f"Resource is larger than {limit} bytes")


def _read(stream: Any, limit: int) -> str | bytes:
    whole = _Whole(limit)
    try:
        for piece in _chunks(stream) if isinstance(stream, io.IOBase) else stream:
            whole.add(piece)
    finally:
        if (close := getattr(stream, "close", None)) is not None:
            close()
    return whole.get()


def _chunks(file: Any) -> Iterator[object]:
    while piece := file.read(CHUNK):
        yield piece
