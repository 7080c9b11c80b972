"""Bytes and frames over descriptors, without ever blocking the event loop.

    Source.read()  ──chunks──▶ Lines ──frames──▶ FrameStream.receive()
    Sink.write()   ◀────── joined batch ──────── FrameStream.send(frames)

What a source or sink reads or writes with is up to whoever makes it: `stdio_files` does so
for descriptors of every kind.

Layer: L5; imports `transport`, `lines`, anyio and msgspec.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.lines import MAX_FRAME, Lines

__all__ = ("FrameStream", "Sink", "Source")

CHUNK = 64 * 1024
"""Bytes asked for in one read: what a pipe holds on Linux."""


class _Descriptor:
    __slots__ = ("_close", "_flush", "_waitable", "closed")

    def __init__(
        self,
        waitable: int | socket.socket,
        close: Callable[[], object],
        flush: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._waitable = waitable
        self._close = close
        self._flush = flush
        self.closed = False

    async def aclose(self) -> None:
        """Free the descriptor and wake the task that uses it.  Idempotent."""
        if self.closed:
            return
        self.closed = True
        anyio.notify_closing(self._waitable)
        try:
            with anyio.CancelScope(shield=True):
                await checkpoint()  # let that task leave first: it unregisters the descriptor by its number
                if self._flush is not None:
                    await self._flush()
        finally:
            self._close()

    def close(self) -> None:
        """Free the descriptor; for when no task uses it.  Idempotent."""
        if not self.closed:
            self.closed = True
            self._close()


class Source(_Descriptor):
    """Reads one descriptor.  At most one task reads.

    Args:
        waitable: What to wait for before reading: a descriptor or a socket.
        read: Returns at most so many bytes, or none at the end; raises BlockingIOError if
            there is nothing yet.
        close: Frees the descriptor.

    Attributes:
        closed: Whether it was closed here.
    """

    __slots__ = ("_read",)

    def __init__(
        self, waitable: int | socket.socket, read: Callable[[int], bytes], close: Callable[[], object]
    ) -> None:
        super().__init__(waitable, close)
        self._read = read

    async def read(self) -> bytes:
        """Wait for bytes and return them; empty at the end.

        Raises:
            anyio.ClosedResourceError: It was closed here.
            OSError: The system says that reading failed.
        """
        while not self.closed:
            await anyio.wait_readable(self._waitable)
            if self.closed:  # while this task was waking up: the number may be another file's by now
                break
            try:
                return self._read(CHUNK)
            except BlockingIOError:
                continue
        raise anyio.ClosedResourceError("this connection is closed")


class Sink(_Descriptor):
    """Writes one descriptor.  At most one task writes.

    Args:
        waitable: What to wait for when it is full: a descriptor or a socket.
        write: Writes what it can and returns how much; raises BlockingIOError if full.
        close: Frees the descriptor.
        flush: Waits, for a bounded time, until what was written has left this process.

    Attributes:
        closed: Whether it was closed here.
    """

    __slots__ = ("_write",)

    def __init__(
        self,
        waitable: int | socket.socket,
        write: Callable[[memoryview], int],
        close: Callable[[], object],
        flush: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__(waitable, close, flush)
        self._write = write

    def write(self, data: memoryview) -> int:
        """Write what can be written at once and return how many bytes that was, maybe none.

        Raises:
            anyio.ClosedResourceError: It was closed here.
            OSError: The system says that writing failed.
        """
        if self.closed:
            raise anyio.ClosedResourceError("this connection is closed")
        try:
            return self._write(data)
        except BlockingIOError:
            return 0

    async def room(self) -> None:
        """Wait until something can be written."""
        await anyio.wait_writable(self._waitable)


class FrameStream:
    """A `Duplex` of lines over a source and a sink: pipes, sockets, terminals.

    Args:
        source: Where frames come from.
        sink: Where frames go.
        max_frame: Bytes in a received frame, at most; a longer one arrives as `Oversized`.
    """

    def __init__(self, source: Source, sink: Sink, *, max_frame: int = MAX_FRAME) -> None:
        self._source = source
        self._sink = sink
        self._lines = Lines(max_frame)
        self._ended = False
        self._begun = b""  # the rest of a frame whose sending was cancelled half-way
        self._receiving = anyio.ResourceGuard("receiving from")
        self._sending = anyio.ResourceGuard("sending to")

    async def receive(self) -> Sequence[bytes | Oversized]:
        """See `Duplex.receive`."""
        with self._receiving:
            while not self._ended or self._source.closed:
                try:
                    chunk = await self._source.read()
                except OSError as error:
                    raise anyio.BrokenResourceError(f"cannot read: {error}") from error
                self._ended = not chunk
                frames = self._lines.feed(chunk) if chunk else _whole(self._lines.end())
                if frames:
                    return frames
            raise anyio.EndOfStream("the other side closed the connection")

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Duplex.send`.  After a cancellation, a frame that was begun is finished by the next call."""
        with self._sending:
            await checkpoint_if_cancelled()
            data = self._begun + b"\n".join((*frames, b""))
            view = memoryview(data)
            done = 0
            try:
                while True:
                    done += (written := self._sink.write(view[done:]))
                    if done == len(data):
                        return
                    if not written:
                        await self._sink.room()
            except OSError as error:
                raise anyio.BrokenResourceError(f"the other side does not read any more: {error}") from error
            finally:
                if done:
                    self._begun = data[done : data.index(b"\n", done - 1) + 1]

    async def aclose(self) -> None:
        """See `Duplex.aclose`."""
        try:
            await self._sink.aclose()
        finally:
            await self._source.aclose()


def _whole(last: list[bytes | Oversized]) -> list[bytes | Oversized]:
    """Return a last line without newline, unless the stream ended in the middle of it: then nobody has said it."""
    try:
        return [each for each in last if isinstance(each, Oversized) or msgspec.json.decode(each, type=msgspec.Raw)]
    except msgspec.DecodeError:
        return []
    except RecursionError:  # it is for the engine to say what is wrong with that
        return last
