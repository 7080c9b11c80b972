"""Writing to a reader that may have stopped reading: wait a little, then drop.

    print, warnings, log handlers ──▶ a text stream ──▶ Patient ──▶ descriptor

A pipe that nobody reads is full after 64 KiB, and whoever writes one byte more waits for ever:
the event loop, and every call with it, when a host starts a server and ignores its stderr.

Layer: L5; imports nothing of this package.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ("Patient", "made_patient")

_PIECE = getattr(select, "PIPE_BUF", 512)  # what a pipe takes without blocking once it has room


class Patient(io.RawIOBase):
    """Writes to a descriptor that stays its owner's, and never waits for long.

    Args:
        fd: What to write to.
        patience: Milliseconds to wait for a reader, once: until it reads again, the rest is dropped.
    """

    def __init__(self, fd: int, patience: int) -> None:
        super().__init__()
        self._fd = fd
        self._patience = self._left = patience

    def writable(self) -> bool:
        """See `io.IOBase.writable`."""
        return True

    def fileno(self) -> int:
        """See `io.IOBase.fileno`."""
        return self._fd

    def isatty(self) -> bool:
        """See `io.IOBase.isatty`."""
        return os.isatty(self._fd)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written; all of it counts as written, since the rest never will be."""
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if not self._has_room():
                break
            try:
                os.write(self._fd, view[start : start + _PIECE])
            except OSError:  # nobody will ever read it
                break
        return len(view)

    def _has_room(self) -> bool:
        if sys.platform == "win32":
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        has_room = bool(poll.poll(self._left))
        self._left = self._patience if has_room else 0  # one wait, not one for each piece
        return has_room


def made_patient(stream: TextIO | None, patience: int) -> Callable[[], None]:
    """Let what is written to `stream` go out through a `Patient`, and return what undoes that.

    The stream itself is changed, since log handlers keep the one that they were made with.  One
    that is not of the interpreter's own kind, as under a test runner, is left alone.
    """
    if type(stream) is not io.TextIOWrapper:
        return lambda: None
    try:
        own = _refill(stream, io.BufferedWriter(Patient(stream.fileno(), patience)))
    except (OSError, ValueError):  # closed, or already broken
        return lambda: None

    def undo() -> None:
        with suppress(OSError, ValueError):  # closed meanwhile
            _refill(stream, own)

    return undo


def _refill(stream: io.TextIOWrapper, buffer: Any) -> Any:
    """Put another buffer under `stream` and return the one that was there."""
    encoding, errors = stream.encoding, stream.errors
    line_buffering, write_through = stream.line_buffering, stream.write_through
    before = stream.detach()
    io.TextIOWrapper.__init__(
        stream, buffer, encoding, errors, line_buffering=line_buffering, write_through=write_through
    )
    return before
