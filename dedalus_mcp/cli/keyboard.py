"""What a person types, line by line, in a way that can be cancelled.

Layer: L6.
"""

from __future__ import annotations

import os
import sys
from typing import Protocol

import anyio
import anyio.to_thread

__all__ = ("Keyboard", "Typing")

CHUNK = 4096
"""Bytes that are read at once: a terminal gives a line, which is no longer than that."""
MAX_LINE = 64 * 1024
"""Bytes of a line: more is no answer of a person."""


class Typing(Protocol):
    """Somebody who types."""

    async def line(self) -> str:
        """Return the next line, without its end.

        Raises:
            EOFError: Nobody types any more.
        """
        ...


class Keyboard:
    """A terminal's input.

    Args:
        fd: Its descriptor.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._typed = b""

    async def line(self) -> str:
        """See `Typing`."""
        if sys.platform == "win32":  # a console cannot be waited for
            line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
            if not line:
                raise EOFError
            return line.rstrip("\r\n")
        while b"\n" not in self._typed:
            await anyio.wait_readable(self._fd)
            chunk = os.read(self._fd, CHUNK)
            if not chunk or len(self._typed) > MAX_LINE:
                raise EOFError
            self._typed += chunk
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")
