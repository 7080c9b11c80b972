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
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any

from dedalus_mcp.jsonrpc.tasks import one_step
from dedalus_mcp.transport import Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import EventLog, LoggedEvent
from dedalus_mcp_transports.http_request import GONE, JSON, HttpRequest, Send, respond
from dedalus_mcp_transports.turn import Turn

__all__ = ("Form", "PostChannel", "StreamLog", "always_ok", "answer_gone", "complete", "start_stream")

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


def always_ok(_code: int) -> int:
    """Return the HTTP status of a legacy reply, whatever the code of its error."""
    return 200


def _taken(form: Form, request: HttpRequest) -> Form:
    """The form that the server has in mind, or the only one that this client takes."""
    if not request.takes_stream:
        return Form.JSON
    return Form.STREAM if form is Form.LATE and not request.takes_json else form


class StreamLog:
    """The events of one stream, kept so that it can be resumed.

    Args:
        log: The session's log.
        stream: The stream's name in it.
        primed: Whether the reader knows priming events (2025-11-25).
        retry: How long it should wait before it resumes, in milliseconds; None to say nothing.

    Attributes:
        primed: As given; such a reader comes again when its connection ends before the reply.
    """

    def __init__(self, log: EventLog, stream: str, *, primed: bool, retry: int | None) -> None:
        self.stream = stream
        self._log = log
        self.primed = primed
        self._retry = retry
        self._begun = False

    def begin(self) -> bytes:
        """Return what the stream begins with, the first time: maybe nothing."""
        begun, self._begun = self._begun, True
        if begun or not self.primed:
            return b""
        return sse.priming(self._log.append(self.stream, b""), retry=self._retry)

    def event(self, frame: bytes) -> bytes:
        """Keep an event and return it as written, after what the stream begins with."""
        begin = b"" if self._begun else self.begin()
        return begin + sse.event(frame, id=self._log.append(self.stream, frame))


class PostChannel:
    """The response to one POST; a `Channel`.

    Args:
        request: The request.
        send: ASGI's way out.
        form: What it may be answered with.
        status_of: The HTTP status of a JSON reply, by the code of its error.
        make_log: Makes what keeps the events, at the first one; None for a stream that cannot be resumed.

    Attributes:
        carrier: The request.
        answered: The reply; None as long as there is none.
        unanswered: Whether none will come.
        over: Whether the response is complete, or nobody reads it.
        finishing: Whether its end is on the way.
        replied: Called once when the reply is there, before it is sent.
        log: Where the events are kept; None before the first one, and where they are not.
    """

    __slots__ = (
        "_events",
        "_form",
        "_make_log",
        "_send",
        "_settling",
        "_status_of",
        "_streaming",
        "_turn",
        "answered",
        "carrier",
        "finishing",
        "log",
        "over",
        "replied",
        "unanswered",
    )

    def __init__(
        self,
        request: HttpRequest,
        send: Send,
        form: Form,
        *,
        status_of: Callable[[int], int] = always_ok,
        make_log: Callable[[], StreamLog] | None = None,
    ) -> None:
        self.carrier = request
        self.answered: Reply | None = None
        self.unanswered = False
        self.over = False
        self.finishing = False
        self.replied: Callable[[PostChannel], None] | None = None
        self.log: StreamLog | None = None
        self._send = send
        self._form = _taken(form, request)
        self._status_of = status_of
        self._make_log = make_log
        self._events: list[bytes] = []  # written, not sent
        self._streaming = False
        self._settling = False
        self._turn = Turn()

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
        """Whether something waits for `flush`, and nobody is about to: see `settle`."""
        if self.over or (self._settling and len(self._events) <= 1):  # more than one message may be a flood of them
            return False
        return self.answered is not None or self.unanswered or bool(self._events)

    @property
    def streaming(self) -> bool:
        """Whether the response is a stream that has begun."""
        return self._streaming

    def over_for(self, send: Send) -> bool:
        """Whether nothing more goes out on this connection."""
        return self._send is not send or (self.over and not self._turn.taken)

    def read_by(self, send: Send) -> bool:
        """Whether this connection is the one that the response goes out on, and nothing has ended it but its reader."""
        return self._send is send and not self.finishing

    def send(self, frame: bytes) -> None:
        """Queue a call or a notice."""
        if self._form is Form.JSON:
            logger.debug("dropped a message: this server answers in single JSON replies")
            return
        log = self._kept()
        event = sse.event(frame) if log is None else log.event(frame)
        if not self.over:  # else it is in the log, for whoever resumes
            self._events.append(event)

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply, or let the response end without one."""
        self.answered = reply
        self.unanswered = reply is None
        if reply is None:
            self.finishing = True
        elif self._streaming or self._events or self._form is Form.STREAM:
            log = self._kept()
            if log is not None:
                event = log.event(reply.frame)
                if not self.over:
                    self._events.append(event)
        if self.replied is not None:
            self.replied(self)

    async def ready(self) -> None:
        """Return at once: see `full`."""

    async def settle(self) -> None:
        """Send what a call says in its first step, after other calls had theirs.

        Written one right after the other, many responses wake their readers once: that costs half of what it does
        to write each when it is there.  What a call says later, it sends by itself.
        """
        self._settling = True
        try:
            await one_step()  # the call's
            await one_step()  # and those of all that came with it
        finally:
            self._settling = False
        if self.unsent:
            await self.flush()

    async def flush(self) -> None:
        """Send what is queued."""
        if self.unanswered:
            await self.end(202)
            return
        turn = self._turn
        if not turn.take():
            await turn.wait()
        try:
            if turn is self._turn and self.unsent:  # else `resume` has said what there was, at another connection
                await self._send_all()
        finally:
            turn.give_back()

    def _send_all(self) -> Awaitable[None]:
        reply = self.answered
        self.finishing = reply is not None  # before the last send: what is said from now on is no news
        status = 200 if reply is None or reply.code is None else self._status_of(reply.code)
        if reply is None or self._streaming or self._events or (self._form is Form.STREAM and status == 200):
            return self._try(self._write_events())
        self.over = True
        return respond(self._send, status, reply.frame, JSON)

    async def beat(self) -> None:
        """Send a comment, so that nobody between takes a silent stream for a dead one."""
        if self._form is Form.JSON or self._turn.taken or self.over:
            return
        async with self._turn:
            if self.answered is None:
                await self._try(self._write(sse.comment(), more=True))

    async def end(self, status: int) -> None:
        """Complete the response without a reply: there will be none.

        Args:
            status: The HTTP status of a response that has not begun.
        """
        async with self._turn:
            if self.over or self.answered is not None:
                return
            self.over = self.finishing = True
            if self._streaming:
                await self._try(self._write(b"".join(self._events), more=False))
            else:
                await respond(self._send, status)

    async def pause(self, retry: int | None) -> None:
        """End the connection before the reply, where its reader comes again: see `Resumable`."""
        log = None if self._form is Form.JSON else self._kept()
        if log is None or not log.primed:
            return
        async with self._turn as turn:
            if turn is not self._turn or self.over or self.finishing or self.answered is not None:
                return
            if retry is not None:
                self._events.append(sse.retry_after(retry))
            chunk, self._events = b"".join(self._events), []
            send, self.over = self._send, True  # what comes from now on is in the log
            try:
                await self._try(self._write(chunk, more=False))
            except BaseException:  # the call was cancelled, so `end` ends it
                if send is self._send:
                    self.over = False
                raise

    def leave(self) -> None:
        """Nobody reads here any more; what is logged can still be resumed."""
        self.over = True
        self._events.clear()

    async def resume(self, send: Send, missed: list[LoggedEvent]) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Go on at another connection: what was missed, then what comes.

        Returns:
            What completes the response on the connection that was read until now, if there is one;
            that may take as long as its reader does.
        """
        before = None if self.over or self._send is send else partial(complete, self._send, self._turn)
        self._turn = Turn()  # whoever has the old one may wait for a dead reader
        async with self._turn:
            self._send = send
            self._streaming = False
            self._events.clear()
            self.over = self.finishing = self.answered is not None
            replay = b"".join([sse.event(each.data, id=each.id) for each in missed])
            await self._try(self._write(replay, more=not self.over))
        return before

    def _kept(self) -> StreamLog | None:
        """Where the events are kept, from the first one on."""
        if self.log is None and self._make_log is not None:
            self.log = self._make_log()
        return self.log

    async def _try(self, write: Awaitable[None]) -> None:
        send = self._send
        try:
            await write
        except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
            logger.debug("a client has left: %r", error)
            if send is self._send:
                self.leave()

    async def _write_events(self) -> None:
        if self.answered is not None and self.log is None:
            self._events.append(sse.event(self.answered.frame))
        chunk, self._events = b"".join(self._events), []
        self.over = self.answered is not None
        try:
            await self._write(chunk, more=self.answered is None)
        except BaseException:
            if not self._streaming:  # nothing of it went out
                self._events.insert(0, chunk)
            raise

    async def _write(self, chunk: bytes, *, more: bool) -> None:
        send = self._send  # also if the stream is resumed at another connection meanwhile
        if not self._streaming:
            self._streaming = True
            try:
                await start_stream(send)
            except BaseException:  # whoever flushes may be cancelled, and the next one begins
                self._streaming = False
                raise
            log = self._kept()
            if log is not None:
                chunk = log.begin() + chunk
        await send({"type": "http.response.body", "body": chunk, "more_body": more})


async def complete(send: Send, turn: Turn) -> None:
    """End a stream whose reader has another connection now."""
    async with turn:  # after what is on its way there
        with suppress(Exception):  # whatever servers raise when the connection is closed
            await send({"type": "http.response.body", "body": b""})


async def answer_gone(channel: PostChannel, send: Send) -> None:
    """Answer a client that has left before its response began: middlewares complain of a request without one."""
    if not channel.streaming:
        await respond(send, GONE)


async def start_stream(send: Send) -> None:
    """Begin an event stream."""
    await send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS]})
