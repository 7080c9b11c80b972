"""A legacy session over HTTP: its conversation, its stand-alone stream, and the streams that can be resumed.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

import anyio

from dedalus_mcp.transport import Receiver, Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import EventLog
from dedalus_mcp_transports.http_channel import PostChannel, StreamLog, start_stream
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send

__all__ = ("LegacySession", "SessionStream")

logger = logging.getLogger("dedalus_mcp")

# What may wait for a GET stream to be opened, or for its reader: notices of changes, mostly.
MAX_WAITING = 256


class SessionStream:
    """The one stand-alone stream of a session (GET): a `Channel` for what belongs to no call.

    What comes before the stream is opened waits, up to a bound; then the oldest goes.
    """

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._news: anyio.Event | None = None
        self._ended = False
        self.open = False

    @property
    def carrier(self) -> HttpRequest | None:
        """None: no message of the client's caused what goes out here."""
        return None

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
        if self._news is not None:
            self._news.set()

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply to something that came with no request of its own."""
        if reply is not None:
            self.send(reply.frame)

    async def ready(self) -> None:
        """Return at once: see `full`."""

    async def flush(self) -> None:
        """Do nothing: see `unsent`."""

    async def serve(self, receive: Receive, send: Send, keep_alive: float) -> None:
        """Send what there is and what comes, until the client leaves."""
        self.open = True
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._write, send, keep_alive, group.cancel_scope)
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()
        finally:
            self.open = False

    def end(self) -> None:
        """Let `serve` return."""
        self._ended = True
        if self._news is not None:
            self._news.set()

    async def _write(self, send: Send, keep_alive: float, scope: anyio.CancelScope) -> None:
        try:
            await start_stream(send)
            await send({"type": "http.response.body", "body": sse.comment(), "more_body": True})
            while not self._ended:
                self._news = anyio.Event()
                if not self._waiting:
                    with anyio.move_on_after(keep_alive):
                        await self._news.wait()
                chunk = b"".join([sse.event(frame) for frame in self._waiting]) or sse.comment()
                self._waiting.clear()
                if not self._ended:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
            logger.debug("a client has left: %r", error)
        scope.cancel()


class LegacySession:
    """What `initialize` began.

    Args:
        receiver: The conversation.
        stream: Its stand-alone stream.
        make_log: Makes the log of its streams; None for streams that cannot be resumed.
        retry: How long a reader should wait before it resumes, in milliseconds.
    """

    def __init__(
        self, receiver: Receiver, stream: SessionStream, make_log: Callable[[], EventLog] | None, retry: int | None
    ) -> None:
        self.receiver = receiver
        self.stream = stream
        self._make_log = make_log
        self._retry = retry
        self._log: EventLog | None = None
        self._running: set[PostChannel] = set()  # what is not answered yet
        self._count = 0

    @property
    def make_log(self) -> Callable[[], StreamLog] | None:
        """Makes what keeps the events of one more stream; None where they are not kept."""
        return None if self._make_log is None else partial(self._stream_log, self._make_log)

    def begin(self, channel: PostChannel) -> None:
        """Remember a channel until it is replied on, or no reply will come there."""
        self._running.add(channel)
        channel.replied = self._running.discard

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
        left = list(self._running)
        self._running.clear()
        return left

    def _stream_log(self, make_log: Callable[[], EventLog]) -> StreamLog:
        self._log = self._log or make_log()
        self._count += 1
        primed = (self.receiver.revision or "") >= "2025-11-25"
        return StreamLog(self._log, str(self._count), primed=primed, retry=self._retry)
