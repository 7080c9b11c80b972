"""A legacy session over HTTP: its conversation, its stand-alone stream, and the streams that can be resumed.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dedalus_mcp.transport import Receiver, Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import EventLog, LoggedEvent
from dedalus_mcp_transports.http_channel import PostChannel
from dedalus_mcp_transports.http_life import Pulse
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send
from dedalus_mcp_transports.http_standing import StandingStream
from dedalus_mcp_transports.http_stream_log import StreamLog

__all__ = ("LegacySession", "SessionStream")

# What may wait for a GET stream to be opened, or for its reader: notices of changes, mostly.
MAX_WAITING = 256
# And in bytes: clients choose the URIs that they hear of.  One message may be longer, and waits alone.
MAX_WAITING_BYTES = 1 << 20


class SessionStream:
    """The one stand-alone stream of a session (GET): a `Channel` for what belongs to no call.

    What comes before the stream is opened, or after its reader has left, waits, up to a bound; then
    the oldest goes.  What was sent is kept where there is a log, so that the stream can be resumed.

    Attributes:
        log: Where its events are kept; None before it was opened, and where they are not.
        session_id: Of the session; None before it has one.
    """

    __slots__ = ("_size", "_standing", "_waiting", "log", "session_id")

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.log: StreamLog | None = None
        self._waiting: list[bytes] = []  # an empty deque takes most of a KiB
        self._size = 0  # bytes that wait
        self._standing = StandingStream(self._written)

    @property
    def carrier(self) -> HttpRequest | None:
        """None: no message of the client's caused what goes out here."""
        return None

    @property
    def open(self) -> bool:
        """Whether a reader is there."""
        return self._standing.open

    @property
    def takes_calls(self) -> bool:
        """Whether a reader is there."""
        return self.open

    @property
    def full(self) -> bool:
        """Never: the oldest goes."""
        return False

    @property
    def unsent(self) -> bool:
        """Never: whoever serves the stream sends."""
        return False

    def send(self, frame: bytes) -> None:
        """Queue a call or a notice."""
        self._waiting.append(frame)
        self._size += len(frame)
        while len(self._waiting) > MAX_WAITING or (self._size > MAX_WAITING_BYTES and len(self._waiting) > 1):
            self._size -= len(self._waiting.pop(0))
        self._standing.wake()

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply to something that came with no request of its own."""
        if reply is not None:
            self.send(reply.frame)

    async def ready(self) -> None:
        """Return at once: see `full`."""

    async def flush(self) -> None:
        """Do nothing: see `unsent`."""

    async def serve(
        self, receive: Receive, send: Send, pulse: Pulse, make_log: Callable[[], StreamLog] | None = None
    ) -> None:
        """Send what there is and what comes, until the client leaves.

        Args:
            receive: ASGI's way in.
            send: ASGI's way out.
            pulse: Keeps the stream alive while it is silent.
            make_log: Makes what keeps the events from now on; None to keep none.
        """
        self.log = None if make_log is None else make_log()
        await self._standing.serve(receive, send, pulse, b"" if self.log is None else self.log.begin())

    async def resume(self, receive: Receive, send: Send, pulse: Pulse, missed: list[LoggedEvent]) -> None:
        """Go on at another connection: what was missed, then what comes."""
        replay = b"".join([sse.event(each.data, id=each.id) for each in missed])
        await self._standing.serve(receive, send, pulse, replay)

    def end(self) -> None:
        """Let whoever serves it return."""
        self._standing.end()

    def _written(self) -> bytes:
        """Take what waits, as events that are kept from now on."""
        write = sse.event if self.log is None else self.log.event
        chunk = b"".join([write(frame) for frame in self._waiting])
        self._waiting.clear()
        self._size = 0
        return chunk


class LegacySession:
    """What `initialize` began.

    Args:
        receiver: The conversation.
        stream: Its stand-alone stream.
        make_log: Makes the log of its streams; None for streams that cannot be resumed.
        retry: How long a reader should wait before it resumes, in milliseconds.
    """

    __slots__ = ("_count", "_log", "_make_log", "_retry", "_running", "receiver", "stream")

    def __init__(
        self, receiver: Receiver, stream: SessionStream, make_log: Callable[[], EventLog] | None, retry: int | None
    ) -> None:
        self.receiver = receiver
        self.stream = stream
        self._make_log = make_log
        self._retry = retry
        self._log: EventLog | None = None
        self._running: dict[PostChannel, None] = {}  # what is not answered yet
        self._count = 0

    @property
    def make_log(self) -> Callable[[], StreamLog] | None:
        """Makes what keeps the events of one more stream; None where they are not kept."""
        return None if self._make_log is None else partial(self._stream_log, self._make_log)

    def begin(self, channel: PostChannel) -> None:
        """Remember a channel until it is replied on, or no reply will come there."""
        self._running[channel] = None
        channel.replied = self._forget

    def _forget(self, channel: PostChannel) -> None:
        self._running.pop(channel, None)

    @property
    def log(self) -> EventLog | None:
        """The log, if there are events in it."""
        return self._log

    def running(self, stream: str) -> PostChannel | None:
        """Return the channel of a stream whose call runs."""
        named = (channel for channel in self._running if channel.log is not None and channel.log.stream == stream)
        return next(named, None)

    def close(self, reason: str) -> list[PostChannel]:
        """End the session; return the channels on which no reply will come now."""
        self.receiver.close(reason)
        self.stream.end()
        if self._log is not None:
            self._log.close()
        left = list(self._running)
        self._running.clear()
        return left

    def _stream_log(self, make_log: Callable[[], EventLog]) -> StreamLog:
        self._log = self._log or make_log()
        self._count += 1
        primed = (self.receiver.revision or "") >= "2025-11-25"
        return StreamLog(self._log, str(self._count), primed=primed, retry=self._retry)
