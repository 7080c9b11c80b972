"""What a child says on stderr: passed on, and the end of it kept.

A daemon thread reads, so the child never waits for our event loop.  It ends when nobody can
write to that stderr any more.

Layer: L5; imports `excerpt`, `lines` and `stdio_patience`.
"""

from __future__ import annotations

import codecs
import io
import os
import subprocess
import threading
from collections.abc import Callable
from typing import IO, Any, TypeAlias

from dedalus_mcp.excerpt import printable
from dedalus_mcp_transports.lines import Lines
from dedalus_mcp_transports.stdio_patience import Patient

__all__ = ("Stderr", "StderrSink")

StderrSink: TypeAlias = int | IO[str] | IO[bytes] | Callable[[str], object] | None
"""Where a child's stderr goes: a descriptor, a file, a function that takes lines,
`subprocess.DEVNULL`, or None for this process's own stderr.
"""

TAIL_BYTES = 8 * 1024
"""Bytes of stderr that are kept."""

EXCERPT_LINES = 20
"""Lines of them that go into the text of an error, at most."""

EXCERPT_CHARS = 2048
"""Characters of them that go into the text of an error, at most."""

LINE_BYTES = 64 * 1024
"""Bytes in a line for a function; of a longer one it gets the start."""

PATIENCE = 1000
"""Milliseconds to wait for a reader of our own stderr before what the child says is dropped."""


class Stderr:
    """Reads a descriptor to its end in a thread.

    Args:
        fd: What to read; owned from now on.
        sink: Where it goes.
    """

    def __init__(self, fd: int, sink: StderrSink) -> None:
        self._fd = fd
        self._forward = _forwarder(sink)
        self._tail = b""
        self._thread = threading.Thread(target=self._copy, name="dedalus-mcp-stderr", daemon=True)
        self._thread.start()

    def ended(self) -> bool:
        """Return whether all has been read that ever will be."""
        return not self._thread.is_alive()

    def excerpt(self) -> str:
        """Return the last lines, for the text of an error; empty if there are none.  No terminal obeys them."""
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()[-EXCERPT_LINES:]
        return "\n".join(printable(line.expandtabs()) for line in lines)[-EXCERPT_CHARS:]

    def _copy(self) -> None:
        try:
            while chunk := os.read(self._fd, LINE_BYTES):
                self._tail = (self._tail + chunk)[-TAIL_BYTES:]
                self._pass_on(chunk)
            self._pass_on(b"")
        finally:
            os.close(self._fd)

    def _pass_on(self, chunk: bytes) -> None:
        """Hand on what was read, until that fails once: the child must not suffer from it."""
        if self._forward is None:
            return
        try:
            self._forward(chunk)
        except Exception:
            self._forward = None
            import logging  # noqa: PLC0415  # only where it is needed: importing it costs start-up time

            logging.getLogger(__name__).exception("the stderr of a server is not passed on any more")


def _forwarder(sink: StderrSink) -> Callable[[bytes], object] | None:
    """Return what takes each chunk, and an empty one at the end."""
    if sink == subprocess.DEVNULL:
        return None
    if sink is None:
        sink = 2
    if isinstance(sink, int):
        return Patient(sink, PATIENCE).write
    if callable(sink):
        return _ToFunction(sink)
    return _ToFile(sink)


class _ToFunction:
    def __init__(self, function: Callable[[str], object]) -> None:
        self._function = function
        self._lines = Lines(LINE_BYTES)

    def __call__(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk) if chunk else self._lines.end():
            text = line if isinstance(line, bytes) else line.head
            self._function(text.decode("utf-8", "replace"))


class _ToFile:
    def __init__(self, file: IO[Any]) -> None:
        self._file = file
        is_text = isinstance(file, io.TextIOBase) or hasattr(file, "encoding")
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode if is_text else None

    def __call__(self, chunk: bytes) -> None:
        self._file.write(chunk if self._decode is None else self._decode(chunk, not chunk))
        self._file.flush()
