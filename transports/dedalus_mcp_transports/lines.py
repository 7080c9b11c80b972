"""One JSON-RPC message per line: the framing of stdio, without I/O.

Bytes go in as they arrive, frames come out.  How the bytes were cut into chunks never
shows in the frames.

    feed(chunk) ──▶ the frames it completes       end() ──▶ a last line without newline

A line ends at byte 0x0A and nowhere else: U+2028 and its kin are text.  Blank lines, one
carriage return before the newline and a byte order mark at the start are not part of any
frame.

Source: 2026-07-28, basic/transports/stdio.
Layer: L2; imports `transport` only.
"""

from __future__ import annotations

from dedalus_mcp.transport import Oversized

__all__ = ("MAX_FRAME", "Lines", "after_mark")

MAX_FRAME = 64 * 1024 * 1024
"""Bytes in one frame, at most: room for large resources in base64, and still a bound."""

_EXCERPT = 512  # bytes kept of either end of a frame that is dropped: enough to hold its id
_MARK = b"\xef\xbb\xbf"


def after_mark(held: bytearray, chunk: bytes) -> bytes | None:
    """Return the start of a stream without its byte order mark.

    Args:
        held: The bytes so far, none of which has been returned; empty afterwards, unless it is None.
        chunk: The next ones.

    Returns:
        None while all of it may yet become a mark; it is in `held` then.
    """
    chunk = bytes(held) + chunk
    held.clear()
    if len(chunk) < len(_MARK) and _MARK.startswith(chunk):
        held += chunk
        return None
    return chunk.removeprefix(_MARK)


class Lines:
    """Cuts a stream of bytes into frames.  One task owns it.

    Args:
        limit: Bytes in a line, at most, its newline not counted.  A longer one becomes one
            `Oversized`; little more than `limit` bytes and one chunk are ever held.
    """

    __slots__ = ("_head", "_held", "_limit", "_open", "_started")

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._held = max(limit, _EXCERPT)
        self._open = bytearray()  # the line that has no newline yet; only its end if `_head` is set
        self._head: bytes | None = None  # its start, once it is longer than `_held`
        self._started = False  # whether the byte order mark is dealt with

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """Take the next bytes and return the frames that are complete now, in order."""
        if not self._started:
            begun = after_mark(self._open, chunk)
            self._started = begun is not None
            chunk = begun or b""
        lines: list[bytes] = chunk.split(b"\n")
        rest = lines.pop()
        frames: list[bytes | Oversized] = []
        if lines and self._open:
            self._extend(lines.pop(0))
            frames += self._finish()
        if rest:
            self._extend(rest)
        if len(chunk) > self._limit:
            frames += [frame for line in lines for frame in self._frame(line)]
        elif b"\r" in chunk:
            frames += [line.removesuffix(b"\r") for line in lines if line and not line.isspace()]
        else:
            frames += [line for line in lines if line and not line.isspace()]
        return frames

    def end(self) -> list[bytes | Oversized]:
        """Return the last line if it had no newline; the stream has ended."""
        return self._finish() if self._open else []

    def _extend(self, piece: bytes) -> None:
        self._open += piece
        if self._head is None:
            if len(self._open) <= self._held:
                return
            self._head = bytes(self._open[:_EXCERPT])
        del self._open[:-_EXCERPT]

    def _finish(self) -> list[bytes | Oversized]:
        line, head = bytes(self._open), self._head
        self._open.clear()
        self._head = None
        return self._frame(line) if head is None else [self._oversized(head, line)]

    def _frame(self, line: bytes) -> list[bytes | Oversized]:
        if len(line) > self._limit:
            return [self._oversized(line[:_EXCERPT], line[-_EXCERPT:])]
        return [] if not line or line.isspace() else [line.removesuffix(b"\r")]

    def _oversized(self, head: bytes, tail: bytes) -> Oversized:
        return Oversized(self._limit, head, tail.removesuffix(b"\r"))
