"""The server's end of stdio: the standard streams become the wire, and nothing else reaches it.

While a connection is open, the wire has private descriptors.  Descriptor 0 is the null device,
descriptor 1 and `sys.stdout` are stderr: neither `print`, nor C code, nor a child process can
eat a byte of the wire or put one on it.  And many a host never reads stderr: what Python code
writes there is dropped rather than waited for.

Layer: L5; imports `transport` and each other.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.lines import MAX_FRAME
from dedalus_mcp_transports.stdio_files import file_sink, file_source
from dedalus_mcp_transports.stdio_patience import made_patient
from dedalus_mcp_transports.stdio_streams import FrameStream

if sys.platform != "win32":
    import fcntl

__all__ = ("ServerStdio",)

PATIENCE = 100
"""Milliseconds to wait for a reader of our stderr, once, before what the program says there is dropped."""


class ServerStdio:
    """The standard streams of this process, as a `Target`.

    Closing the connection puts all of them back, so that a host program may serve again.

    Args:
        max_frame: Bytes in a received frame, at most.
    """

    def __init__(self, *, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame

    async def open(self) -> Duplex:
        """Divert the standard streams and return the wire.

        Bytes that `sys.stdin` has read ahead are not on the wire any more: leave it alone before.

        Raises:
            OSError: There is no stdout.
            RuntimeError: The standard streams are being served already.
        """
        diversion = _Diversion()
        try:
            return _Wire(diversion, self._max_frame)
        except BaseException:
            diversion.undo()
            raise


class _Wire(FrameStream):
    def __init__(self, diversion: _Diversion, max_frame: int) -> None:
        source, sink = file_source(_duplicate(diversion.stdin)), file_sink(_duplicate(diversion.stdout))
        super().__init__(source, sink, max_frame=max_frame)
        self._diversion = diversion

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            self._diversion.undo()


class _Diversion:
    """The standard streams, led elsewhere until `undo`.

    Attributes:
        stdin: What descriptor 0 was; not inherited by children.
        stdout: What descriptor 1 was; likewise.
    """

    _active = False  # descriptors 0 and 1 belong to the process, so this does too

    def __init__(self) -> None:
        if _Diversion._active:
            raise RuntimeError("the standard streams are being served already")
        if not _is_ours(1, sys.__stdout__):
            raise OSError(errno.EBADF, "cannot serve on stdio: stdout is closed")
        self._has_stdin = _is_ours(0, sys.__stdin__)
        null = os.open(os.devnull, os.O_RDWR)
        self.stdin = _duplicate(0 if self._has_stdin else null)
        self.stdout = _duplicate(1)
        if self._has_stdin:
            os.dup2(null, 0)
        os.dup2(2 if _is_ours(2, sys.__stderr__) else null, 1)
        if null > 2:  # else it fills a hole among the three, which is just as well
            os.close(null)
        _Diversion._active = self._open = True
        self._python_stdout = sys.stdout
        sys.stdout = self._python_stderr = sys.stderr
        _flush(self._python_stdout)  # only now: what was printed before is not for the wire either
        self._patience = [made_patient(stream, PATIENCE) for stream in (self._python_stdout, sys.stderr)]

    def undo(self) -> None:
        """Put everything back as it was.  Idempotent."""
        if not self._open:
            return
        self._open = _Diversion._active = False
        _flush(self._python_stdout)
        if sys.stdout is self._python_stderr:  # else somebody has replaced it meanwhile
            sys.stdout = self._python_stdout
        if self._has_stdin:
            os.dup2(self.stdin, 0)
        os.dup2(self.stdout, 1)
        for undo in reversed(self._patience):  # only now: a stream to a file asks its descriptor where it stands
            undo()
        os.close(self.stdin)
        os.close(self.stdout)


def _is_ours(fd: int, stream: TextIO | None) -> bool:
    """Return whether `fd` is the standard stream that its number says.

    If it was closed when the interpreter started, there is no `stream`, and the number may be
    anybody's by now: the event loop's own epoll descriptor, for example.
    """
    try:
        os.fstat(fd)
    except OSError:
        return False
    return stream is not None


def _duplicate(fd: int) -> int:
    """Duplicate `fd`, not inherited by children and never as one of the three standard numbers."""
    if sys.platform != "win32":
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    return os.dup(fd)


def _flush(stream: TextIO | None) -> None:
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):  # closed, or nobody reads it: not our business
        pass
