"""Where the messages of one POST go out: one JSON reply, or an event stream.

    reply only                          ──flush()──▶ application/json
    a notice or a call of ours comes first ──flush()──▶ text/event-stream, then events, then the reply

The choice is made as late as it can be.  Whoever queued something flushes it: there is no task
and no queue between a handler and the connection, so a reader that stalls holds up its own call
alone.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from functools import partial
from typing import Any

import anyio

from dedalus_mcp.transport import Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import EventLog, LoggedEvent
from dedalus_mcp_transports.http_request import JSON, HttpRequest, Send, respond

__all__ = ("Form", "PostChannel", "StreamLog", "start_stream")

logger = logging.getLogger("dedalus_mcp")

STREAM_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # HTTP-23
)


class Form(Enum):
    """What a POST may be answered with."""

    LATE = "JSON if the reply is all there is, else a stream"
    JSON = "JSON, whatever is lost by that"
    STREAM = "a stream, but for an error whose status is told by HTTP"


class StreamLog:
    """The events of one stream, kept so that it can be resumed.

    Args:
        log: The session's log.
        stream: The stream's name in it.
        primed: Whether the reader knows priming events (2025-11-25).
        retry: How long it should wait before it resumes, in milliseconds; None to say nothing.
    """

    def __init__(self, log: EventLog, stream: str, *, primed: bool, retry: int | None) -> None:
        self.stream = stream
        self._log = log
        self._primed = primed
        self._retry = retry
        self._begun = False

    def begin(self) -> bytes:
        """Return what the stream begins with, the first time: maybe nothing."""
        begun, self._begun = self._begun, True
        if begun or not self._primed:
            return b""
        return sse.priming(self._log.append(self.stream, b""), retry=self._retry)

    def event(self, frame: bytes) -> bytes:
        """Keep an event and return it as written, after what the stream begins with."""
        return self.begin() + sse.event(frame, id=self._log.append(self.stream, frame))


class PostChannel:
    """The response to one POST; a `Channel`.

    Args:
        request: The request.
        send: ASGI's way out.
        form: What it may be answered with.
        status_of: The HTTP status of a JSON reply, by the code of its error.
        log: Where events are kept; None for a stream that cannot be resumed.

    Attributes:
        carrier: The request.
        headers: More headers for the response, until it begins.
        answered: The reply; None as long as there is none.
        unanswered: Whether none will come.
        over: Whether the response is complete, or nobody reads it.
        finishing: Whether its end is on the way.
        replied: Called once when the reply is there, before it is sent.
        log: As given.
    """

    def __init__(
        self,
        request: HttpRequest,
        send: Send,
        form: Form,
        *,
        status_of: Callable[[int], int],
        log: StreamLog | None = None,
    ) -> None:
        self.carrier = request
        self.headers: list[tuple[bytes, bytes]] = []
        self.answered: Reply | None = None
        self.unanswered = False
        self.over = False
        self.finishing = False
        self.replied: Callable[[PostChannel], None] | None = None
        self.log = log
        self._send = send
        self._form = form
        self._status_of = status_of
        self._events: list[bytes] = []  # written, not sent
        self._streaming = False
        self._lock = anyio.Lock(fast_acquire=True)

    @property
    def takes_calls(self) -> bool:
        """Whether calls to the client can go out here."""
        return self._form is not Form.JSON

    @property
    def full(self) -> bool:
        """Never: whoever queues flushes, and waits there."""
        return False

    @property
    def unsent(self) -> bool:
        """Whether something waits for `flush`."""
        return not self.over and (bool(self._events) or self.answered is not None or self.unanswered)

    @property
    def streaming(self) -> bool:
        """Whether the response is a stream that has begun."""
        return self._streaming

    def read_by(self, send: Send) -> bool:
        """Whether this connection is the one that the response goes out on, and it is not complete."""
        return self._send is send and not (self.over or self.finishing)

    def send(self, frame: bytes) -> None:
        """Queue a call or a notice."""
        if self._form is Form.JSON:
            logger.debug("dropped a message: this server answers in single JSON replies")
            return
        event = sse.event(frame) if self.log is None else self.log.event(frame)
        if not self.over:  # else it is in the log, for whoever resumes
            self._events.append(event)

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply, or let the response end without one."""
        self.answered = reply
        self.unanswered = reply is None
        if reply is None:
            self.finishing = True
        elif self.log is not None and (self._streaming or self._events or self._form is Form.STREAM):
            event = self.log.event(reply.frame)
            if not self.over:
                self._events.append(event)
        if self.replied is not None:
            self.replied(self)

    async def ready(self) -> None:
        """Return at once: see `full`."""

    async def flush(self) -> None:
        """Send what is queued."""
        if self.unanswered:
            await self.end(202)
            return
        async with self._lock:
            if self.unsent:
                await self._try(self._flush)

    async def beat(self) -> None:
        """Send a comment, so that nobody between takes a silent stream for a dead one."""
        if self._form is Form.JSON or self._lock.locked() or self.over:
            return
        async with self._lock:
            if not self.over and self.answered is None:
                await self._try(partial(self._write, sse.comment(), more=True))

    async def end(self, status: int) -> None:
        """Complete the response without a reply: there will be none.

        Args:
            status: The HTTP status of a response that has not begun.
        """
        async with self._lock:
            if self.over or self.answered is not None:
                return
            self.over = True
            if self._streaming:
                await self._try(partial(self._write, b"".join(self._events), more=False))
            else:
                await respond(self._send, status)

    def leave(self) -> None:
        """Nobody reads here any more; what is logged can still be resumed."""
        self.over = True
        self._events.clear()

    async def resume(self, send: Send, missed: list[LoggedEvent]) -> Send | None:
        """Go on at another connection: what was missed, then what comes.

        Returns:
            The way out to the connection that was read until now, if there is one: its response
            is to be completed.
        """
        before = None if self.over or self._send is send else self._send
        self._lock = anyio.Lock(fast_acquire=True)  # the old one's holder may wait for a dead reader
        async with self._lock:
            self._send = send
            self._streaming = False
            self._events.clear()
            self.over = self.finishing = self.answered is not None
            replay = b"".join([sse.event(each.data, id=each.id) for each in missed])
            await self._try(partial(self._write, replay, more=not self.over))
        return before

    async def _try(self, write: Callable[[], Awaitable[None]]) -> None:
        send = self._send
        try:
            await write()
        except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
            logger.debug("a client has left: %r", error)
            if send is self._send:
                self.leave()

    async def _flush(self) -> None:
        if self.answered is not None:
            self.finishing = True  # before the last send: what the connection says from now on is no news
        if self.answered is not None and not (self._streaming or self._events):
            status = 200 if self.answered.code is None else self._status_of(self.answered.code)
            if self._form is not Form.STREAM or status != 200:  # a stream has no other status
                self.over = True
                await respond(self._send, status, self.answered.frame, JSON, *self.headers)
                return
        if self.answered is not None and self.log is None:
            self._events.append(sse.event(self.answered.frame))
        chunk, self._events = b"".join(self._events), []
        self.over = self.answered is not None
        await self._write(chunk, more=self.answered is None)

    async def _write(self, chunk: bytes, *, more: bool) -> None:
        if not self._streaming:
            self._streaming = True
            await start_stream(self._send, self.headers)
            if self.log is not None:
                chunk = self.log.begin() + chunk
        await self._send({"type": "http.response.body", "body": chunk, "more_body": more})


async def start_stream(send: Send, headers: Any = ()) -> None:
    """Begin an event stream."""
    await send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS, *headers]})
