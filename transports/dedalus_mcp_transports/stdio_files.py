"""Sources and sinks for descriptors of every kind.

Nothing here sets O_NONBLOCK on a descriptor that it was given: the flag belongs to the open
file, which other processes share (a shell whose terminal turns non-blocking fails at its
next read).  So every kind of file gets the way that fits it:

- a pipe, on Linux: opened once more through /proc, which makes an open file of our own;
- a socket: `MSG_DONTWAIT`, which is for one call only;
- what cannot be waited for (a regular file, /dev/null, everything on Windows) or written
  without blocking (a terminal): a daemon thread copies between it and a pair of sockets, so
  the loop only ever meets a socket, and no thread can hold up the exit of the process.

Writing at most PIPE_BUF bytes after `wait_writable` would be safe on pipes too, but takes
2,048 turns of the loop for 8 MiB.

Layer: L5; imports `transport`, `lines` and anyio.
"""

from __future__ import annotations

import errno
import os
import select
import selectors
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio

from dedalus_mcp_transports.lines import MAX_FRAME
from dedalus_mcp_transports.stdio_streams import CHUNK, FrameStream, Sink, Source

__all__ = ("file_sink", "file_source", "socket_stream")

FLUSH_TIMEOUT = 1.0
"""Seconds that closing waits for the copying thread to write what it was given."""


def file_source(fd: int) -> Source:
    """Make a source of descriptor `fd`, whose owner it becomes."""
    if _can_wait(fd):
        fd = _open_anew(fd, os.O_RDONLY) or fd
        return Source(fd, partial(_read, fd), partial(os.close, fd))
    near, far = _socket_pair()
    _start_copying(partial(os.read, fd, CHUNK), far.sendall, (far.close, partial(os.close, fd)))
    return Source(near, near.recv, near.close)


def file_sink(fd: int) -> Sink:
    """Make a sink of descriptor `fd`, whose owner it becomes."""
    mode = os.fstat(fd).st_mode
    if sys.platform != "win32":
        if stat.S_ISSOCK(mode):
            sock = socket.socket(fileno=fd)
            return Sink(sock, lambda data: sock.send(data, socket.MSG_DONTWAIT), sock.close)
        own = _open_anew(fd, os.O_WRONLY)
        if own is not None or stat.S_ISREG(mode):  # a regular file never makes anyone wait
            fd = own or fd
            return Sink(fd, partial(os.write, fd), partial(os.close, fd))
    near, far = _socket_pair()
    _start_copying(partial(far.recv, CHUNK), partial(_write_all, fd), (partial(os.close, fd), far.close))
    return Sink(near, near.send, near.close, partial(_flush, near))


def socket_stream(sock: socket.socket, *, max_frame: int = MAX_FRAME) -> FrameStream:
    """Make a `Duplex` of a connected stream socket, whose owner it becomes."""
    sock.settimeout(0)
    return FrameStream(
        Source(sock, sock.recv, sock.close),
        Sink(sock, sock.send, partial(_shutdown, sock)),
        max_frame=max_frame,
    )


def _can_wait(fd: int) -> bool:
    if sys.platform == "win32":
        return False
    with selectors.DefaultSelector() as selector:  # what the event loops use as well
        try:
            selector.register(fd, selectors.EVENT_READ)
        except OSError:
            return False
    return True


def _open_anew(fd: int, flags: int) -> int | None:
    """Open the pipe behind `fd` once more, non-blocking, and close `fd`; None if that cannot be done."""
    if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return None
    try:
        own = os.open(f"/proc/self/fd/{fd}", flags | os.O_NONBLOCK)
    except OSError:  # another user's pipe, or no /proc
        return None
    os.close(fd)
    return own


def _read(fd: int, size: int) -> bytes:
    try:
        return os.read(fd, size)
    except OSError as error:
        if error.errno == errno.EIO and os.isatty(fd):  # how a terminal that was hung up says it
            return b""
        raise


def _write_all(fd: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # somebody else made this open file non-blocking
            select.select([], [fd], [])


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    near, far = socket.socketpair()
    near.settimeout(0)
    far.settimeout(None)  # whatever the default timeout is
    return near, far


def _start_copying(
    read: Callable[[], bytes], write: Callable[[bytes], object], close: tuple[Callable[[], object], ...]
) -> None:
    def copy() -> None:
        try:
            while chunk := read():
                write(chunk)
        except OSError:  # either side is gone: closing the other one passes that on
            pass
        finally:
            for each in close:
                each()

    threading.Thread(target=copy, name="dedalus-mcp-copy", daemon=True).start()


async def _flush(near: socket.socket) -> None:
    try:
        near.shutdown(socket.SHUT_WR)
    except OSError:  # the thread has ended already
        return
    with anyio.move_on_after(FLUSH_TIMEOUT):
        await anyio.wait_readable(near)  # the thread closes its end when all is written


def _shutdown(sock: socket.socket) -> None:
    with suppress(OSError):  # not connected any more
        sock.shutdown(socket.SHUT_WR)
