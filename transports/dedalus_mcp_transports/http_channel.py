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

import anyio

from dedalus_mcp.jsonrpc.tasks import one_step
from dedalus_mcp.transport import Reply
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import LoggedEvent
from dedalus_mcp_transports.http_request import GONE, JSON, HttpRequest, Send, respond
from dedalus_mcp_transports.http_stream_log import StreamLog
from dedalus_mcp_transports.turn import Turn

__all__ = ("Form", "PostChannel", "always_ok", "answer_gone", "complete", "start_stream")

logger = logging.getLogger("dedalus_mcp")

# Bytes that a web server takes without waiting for its client, at the beginning of a response.
BUFFERED = 64 << 10

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
        "_moved",
        "_send",
        "_settling",
        "_status_of",
        "_turn",
        "_writing",
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
        self._settling = False
        self._moved = False  # to another connection
        self._turn = Turn()
        self._writing: anyio.CancelScope | None = None

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
        return self._turn.begun

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
        elif self.log is not None or self._events or self._form is Form.STREAM or self._turn.begun:
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
            turn = await self._next_turn()
        try:
            if self.unsent:
                await self._send_all()
        finally:
            turn.give_back()

    async def _next_turn(self) -> Turn:
        """Take the turn on the connection that the response goes out on; that may be another one by then."""
        while not (turn := self._turn).take():
            await turn.change()
        return turn

    def _send_all(self) -> Awaitable[None]:
        reply = self.answered
        self.finishing = reply is not None  # before the last send: what is said from now on is no news
        status = 200 if reply is None or reply.code is None else self._status_of(reply.code)
        if reply is None or self._turn.begun or self._events or (self._form is Form.STREAM and status == 200):
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
        turn = await self._next_turn()
        try:
            if self.over or self.answered is not None:
                return
            self.over = self.finishing = True
            if turn.begun:
                await self._try(self._write(b"".join(self._events), more=False))
            else:
                await respond(self._send, status)
        finally:
            turn.give_back()

    async def pause(self, retry: int | None) -> None:
        """End the connection before the reply, where its reader comes again: see `Resumable`."""
        log = None if self._form is Form.JSON else self._kept()
        if log is None or not log.primed:
            return
        meant, turn = self._turn, await self._next_turn()
        try:
            if turn is not meant or self.over or self.finishing or self.answered is not None:
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
        finally:
            turn.give_back()

    def leave(self) -> None:
        """Nobody reads here any more; what is logged can still be resumed."""
        self.over = True
        self._events.clear()

    def move(self, send: Send) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Go on at another connection, where `replay` is called next: what waits here is in the log, too.

        Whoever waits for the old reader, which may be dead, goes on.

        Returns:
            What completes the response on the connection that was read until now, if there is one;
            that may take as long as its reader does.
        """
        ended = self.over and (self.answered is not None or not self._turn.taken)
        before = None if ended or self._send is send else partial(complete, self._send, self._turn)
        if self._writing is not None:
            self._writing.cancel()
        old, self._turn = self._turn, Turn()
        old.wake()
        self._send, self._moved = send, True
        self._events.clear()
        self.over = self.finishing = self.answered is not None
        return before

    async def replay(self, missed: list[LoggedEvent]) -> None:
        """Send what was missed at the connection before."""
        send = self._send
        try:
            async with self._turn:
                chunk = b"".join([sse.event(each.data, id=each.id) for each in missed])
                await self._try(self._write(chunk, more=not self.over))
        except BaseException:  # the server ends this request by force
            if self.read_by(send):
                self.leave()
            raise

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
        turn, self.over = self._turn, self.answered is not None
        try:
            await self._write(chunk, more=self.answered is None)
        except BaseException:
            if turn is self._turn and not turn.begun:  # nothing of it went out
                self._events.insert(0, chunk)
            raise

    def _write(self, chunk: bytes, *, more: bool) -> Awaitable[None]:
        write = self._write_out(chunk, more=more)
        if self.log is None or self.answered is not None:  # no other can take over, or nobody waits any more
            return write
        return self._until_moved(write) if self._turn.begun or self._moved or len(chunk) > BUFFERED else write

    async def _until_moved(self, write: Awaitable[None]) -> None:
        """Write until that is done, or the response goes on at another connection: the reader may be dead."""
        with anyio.CancelScope() as self._writing:
            await write

    async def _write_out(self, chunk: bytes, *, more: bool) -> None:
        send, turn = self._send, self._turn  # also if the stream is resumed at another connection meanwhile
        if not turn.begun:
            await start_stream(send, turn)
            log = self._kept()
            if log is not None:
                chunk = log.begin() + chunk
        await send({"type": "http.response.body", "body": chunk, "more_body": more})


async def complete(send: Send, turn: Turn) -> None:
    """End a stream whose reader has another connection now."""
    async with turn:  # after what is on its way there
        with suppress(Exception):  # whatever servers raise when the connection is closed
            await start_stream(send, turn)
            await send({"type": "http.response.body", "body": b""})


async def answer_gone(channel: PostChannel, send: Send) -> None:
    """Answer a client that has left before its response began: middlewares complain of a request without one."""
    if not channel.streaming:
        await respond(send, GONE)


async def start_stream(send: Send, turn: Turn) -> None:
    """Begin an event stream, where that was not done yet."""
    if turn.begun:
        return
    turn.begun = True
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS]})
    except BaseException:  # whoever does it may be cancelled, and the next one begins
        turn.begun = False
        raise
