"""The stream of one HTTP+SSE conversation: a `Channel` for everything that the server says in it.

What is said waits for the stream's reader.  Up to a bound that is nobody's concern; beyond it
those who cause more wait; far beyond it, the reader is given up.

Layer: L5.
Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from __future__ import annotations

import anyio

from dedalus_mcp.transport import Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.http_request import HttpRequest
from dedalus_mcp_transports.http_standing import StandingStream

__all__ = ("PairStream",)

MAX_QUEUED = 1 << 20
"""Bytes that may wait for the reader before calls and handlers do: more than any burst, and little for each stream."""
MAX_BEHIND = 16 << 20
"""Bytes after which the reader is given up: it gets here by notices alone, for which nobody waits."""


class PairStream:
    """What the server says in one conversation.

    Args:
        request: The request that opened the stream.

    Attributes:
        carrier: As given.
        standing: What serves the stream.
    """

    def __init__(self, request: HttpRequest) -> None:
        self.carrier = request
        self.standing = StandingStream(self._written)
        self._waiting: list[bytes] = []
        self._size = 0  # bytes that wait
        self._room: anyio.Event | None = None
        self._over = False

    @property
    def takes_calls(self) -> bool:
        """Whether the stream has not ended."""
        return not self._over

    @property
    def full(self) -> bool:
        """Whether the reader is behind."""
        return self._size >= MAX_QUEUED and not self._over

    @property
    def unsent(self) -> bool:
        """Never: whoever serves the stream sends."""
        return False

    def send(self, frame: bytes) -> None:
        """Queue a message; dropped once the stream has ended."""
        if self._over:
            return
        if self._size >= MAX_BEHIND:
            self._waiting.clear()
            self.end()
            return
        self._waiting.append(frame)
        self._size += len(frame)
        self.standing.wake()

    def reply(self, reply: Reply | None) -> None:
        """Queue a reply."""
        if reply is not None:
            self.send(reply.frame)

    async def ready(self) -> None:
        """Return when the reader has caught up, or the stream has ended."""
        while self.full:
            self._room = self._room or anyio.Event()
            await self._room.wait()

    async def flush(self) -> None:
        """Do nothing: see `unsent`."""

    def end(self) -> None:
        """Let the stream end when what waits is sent.  Idempotent."""
        self._over = True
        self._make_room()
        self.standing.end()

    def carrying(self, request: HttpRequest) -> _Carried:
        """Return this stream as the channel of what another request has brought."""
        return _Carried(self, request)

    def _written(self) -> bytes:
        chunk = b"".join([sse.event(frame, event="message") for frame in self._waiting])
        self._waiting.clear()
        self._make_room()
        return chunk

    def _make_room(self) -> None:
        self._size = 0
        if self._room is not None:
            self._room.set()
            self._room = None


class _Carried:
    """The stream, for the messages of one POST: handlers see that one's headers."""

    __slots__ = ("_stream", "carrier", "flush", "ready", "reply", "send")

    def __init__(self, stream: PairStream, request: HttpRequest) -> None:
        self.carrier = request
        self._stream = stream
        self.send = stream.send
        self.reply = stream.reply
        self.ready = stream.ready
        self.flush = stream.flush

    @property
    def takes_calls(self) -> bool:
        return self._stream.takes_calls

    @property
    def full(self) -> bool:
        return self._stream.full

    @property
    def unsent(self) -> bool:
        return self._stream.unsent
