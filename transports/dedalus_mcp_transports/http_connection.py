"""Streamable HTTP, the client: one connection, made of many requests.

    send(frame) ──▶ a POST in a task of its own ──▶ JSON, or a stream ──▶ inbox ──▶ receive()
                                                         │ it breaks (legacy): GET, Last-Event-ID
    initialized ──▶ a GET stream for what the server says by itself ──▶ inbox

A call whose reply cannot come arrives as `Undelivered`; all others go on.

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial

import anyio

from dedalus_mcp.errors import MCPConnectionError, RemoteProtocolError, SessionExpiredError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.transport import Undelivered
from dedalus_mcp_transports.http_duplex import HttpDuplex
from dedalus_mcp_transports.http_failures import Answer, failure, reply_ids
from dedalus_mcp_transports.http_outgoing import Outgoing, Words, peek
from dedalus_mcp_transports.http_sender import Response, Sender
from dedalus_mcp_transports.http_stream import EventStream, Reconnect

__all__ = ("HttpConnection",)

logger = logging.getLogger("dedalus_mcp")

# Calls that are under way at once; more wait.  Replies and notices always find room.
MAX_POSTS = 256
# How long `initialized` may hold up all else.
INITIALIZED_SECONDS = 5.0
# How long a stream may stay open after its reply, in the hope that its connection can be used again.
LINGER_SECONDS = 0.5
CANCELLED = "notifications/cancelled"
# What a server says to a GET that may be different later.  409: it has not yet seen the last one end.
_PASSING = (408, 409, 425, 429, 500, 502, 503, 504)


class HttpConnection(HttpDuplex):
    """A `Duplex` whose frames travel by HTTP.

    Args:
        sender: Sends its requests; closed with it.
        listen: Whether a legacy session keeps a GET stream open; None where that is of use.
        reconnect: How broken streams are taken up again.
        max_message: Bytes in one message of the server, at most.
    """

    def __init__(self, sender: Sender, *, listen: bool | None, reconnect: Reconnect, max_message: int) -> None:
        super().__init__(sender, max_message)
        self._listens = listen
        self._useful = False
        self._reconnect = reconnect
        self._words = Words()
        self._calls: dict[int | str, tuple[Outgoing, anyio.CancelScope]] = {}
        self._room = anyio.CapacityLimiter(MAX_POSTS)
        self._listener: anyio.CancelScope | None = None
        self._left: list[int | str] = []  # the calls that were open at the end

    def hear_unasked(self) -> None:
        """See `Duplex`: whatever a server says by itself, it says on the GET stream."""
        self._useful = True

    # The duplex.

    async def send(self, frames: Sequence[bytes]) -> None:
        """Begin to send these frames; only `notifications/initialized` is waited for, within bounds."""
        for frame in frames:
            self._check_open()
            out = peek(frame)
            if out.method is None:
                self._posts.post(out)
            elif out.id is not None:
                if out.method == "resources/subscribe" and self._listener is None:
                    self._useful = True
                    self._listen()
                if out.method == "initialize":
                    self._posts.forget()
                self._begin(out, out.id)
            elif out.method == "notifications/initialized":
                await self._posts.deliver(out, INITIALIZED_SECONDS)
                self._listen()
            elif out.cancels is not None:
                self._cancel(out, out.cancels)
            else:
                self._posts.tell(out)

    def _post_headers(self, out: Outgoing) -> dict[str, str]:
        accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        return accept | self._words.headers(out)

    async def aclose(self) -> None:
        """End every stream, the session and the calls, within two seconds."""
        if not self._closed:
            legacy = (id for id, (out, _) in self._calls.items() if out.revision is None and out.method != "initialize")
            self._left = list(legacy)
        await super().aclose()

    async def _say_goodbye(self) -> None:
        """End the session.  Whatever the server says to that, it is over for us (B040, B089)."""
        if self._words.modern or self._words.revision is None:
            return
        with suppress(MCPConnectionError):
            if self._words.session is not None:
                async with self._sender.request("DELETE", self._words.legacy_headers()) as response:
                    if 200 <= response.status < 300:
                        return
            for id in self._left:  # nothing has ended there, and to leave is not to cancel
                notice = Notice(CANCELLED, {"requestId": id, "reason": "the client has left"})
                await self._post(Outgoing(encode(notice), method=CANCELLED))

    async def _post(self, out: Outgoing) -> None:
        """Send what has no reply."""
        async with self._sender.request("POST", self._post_headers(out), out.frame) as response:
            await response.accepted(self._max_message, in_session=self._words.session is not None)

    # Calls.

    def _cancel(self, out: Outgoing, id: int | str) -> None:
        """Let a call end: where it is modern, by closing its stream alone."""
        call, scope = self._calls.get(id, (None, None))
        if call is None or scope is None:
            return
        if call.revision is not None:
            scope.cancel()
            return

        async def cancel() -> None:
            await self._posts.deliver(out)
            scope.cancel()

        self._posts.start(cancel)

    def _begin(self, out: Outgoing, id: int | str) -> None:
        scope = self._posts.start(partial(self._call, out, id), lambda: self._calls.pop(id, None))
        self._calls[id] = out, scope

    async def _call(self, out: Outgoing, id: int | str) -> None:
        # A new session must not wait for calls that may themselves be waiting for it.
        async with nullcontext() if out.method == "initialize" else self._room:
            try:
                await self._exchange(out)
            except Exception as error:  # noqa: BLE001 - raised where the call is waited for
                self._inbox.put([Undelivered(id, error)])

    async def _exchange(self, out: Outgoing) -> None:
        """Send a call; return when its reply has arrived."""
        stream = EventStream(out.id, self._reconnect, self._max_message)
        in_session = self._words.session is not None and out.method != "initialize" and out.revision is None
        broke: MCPConnectionError | None = None
        async with self._sender.request("POST", self._post_headers(out), out.frame) as response:
            if not 200 <= response.status < 300:
                raise await response.refusal(out.id, in_session=in_session)
            if response.media_type == "text/event-stream":
                broke = await self._read(response, stream, out)
            else:
                await self._read_body(response, out)
                return
        if not stream.replied and stream.last_event_id and out.revision is None:
            broke = await self._follow(stream, out) or broke
        self._check(stream, broke)

    async def _read_body(self, response: Response, out: Outgoing) -> None:
        body = await response.body(self._max_message)
        if body is None:
            raise RemoteProtocolError(f"the reply is longer than {self._max_message} bytes, which is the limit")
        if str(out.id) not in reply_ids(body):
            answer = Answer(response.status, "", response.headers, body)
            raise failure(answer, out.id, self._sender.where, in_session=False)
        self._inbox.put([self._words.learn(out, body, response.headers)])

    async def _read(self, response: Response, stream: EventStream, out: Outgoing | None) -> MCPConnectionError | None:
        """Read one connection's part of a stream; return what broke it."""
        stream.begin()

        async def take(chunk: bytes) -> float | None:
            frames = stream.feed(chunk)
            if out is not None and stream.replied:
                frames = self._learned(frames, stream, out, response)
            self._inbox.put(frames)
            if self._inbox.full:
                await self._inbox.ready()
            return 0 if stream.fault is not None else LINGER_SECONDS if stream.replied else None

        try:
            await response.read(take)
        except MCPConnectionError as error:
            return error
        return None

    def _learned(self, frames: list[bytes], stream: EventStream, out: Outgoing, response: Response) -> list[bytes]:
        try:
            return [self._words.learn(out, frame, response.headers) for frame in frames]
        except RemoteProtocolError as error:
            stream.replied, stream.fault = False, error
            return []

    def _check(self, stream: EventStream, broke: MCPConnectionError | None) -> None:
        """Raise why there is no reply, unless there is one."""
        if stream.replied:
            return
        if stream.fault is not None:
            raise stream.fault
        if broke is not None:
            raise broke
        ended = MCPConnectionError(f"{self._sender.where} ended the stream before the reply")
        ended.begun = True
        raise ended

    # GET streams.

    def _listen(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
        wanted = self._useful if self._listens is None else self._listens
        if wanted and not self._closed:
            stream = EventStream(None, self._reconnect, self._max_message)
            self._listener = self._posts.start(partial(self._hear, stream))

    async def _hear(self, stream: EventStream) -> None:
        why = await self._follow(stream, None)
        logger.debug(
            "no GET stream of %s: %s", self._sender.where, excerpt(why or stream.fault or "it ends again and again")
        )
        if isinstance(why, SessionExpiredError):
            self._tell_lost(why)

    async def _follow(self, stream: EventStream, out: Outgoing | None) -> MCPConnectionError | None:
        """GET a stream, again and again, until the reply is there; return why there is none."""
        failed: MCPConnectionError | None = None
        pause = 0.0 if out is None else stream.pause()
        while pause is not None:
            await anyio.sleep(pause)
            headers = self._words.legacy_headers() | {"accept": "text/event-stream"}
            if stream.last_event_id:
                headers["last-event-id"] = stream.last_event_id
            try:
                async with self._sender.request("GET", headers) as response:
                    if response.status == 200 and response.media_type == "text/event-stream":
                        failed = await self._read(response, stream, out)
                    else:
                        failed = await self._refused(response)
                        if response.status not in _PASSING:
                            return failed
            except MCPConnectionError as error:
                failed = error
            if stream.replied:
                return None
            pause = stream.pause()
        return failed

    async def _refused(self, response: Response) -> MCPConnectionError:
        error = await response.refusal(None, in_session=self._words.session is not None)
        assert isinstance(error, MCPConnectionError), "no call, so no error of one"
        error.begun = True
        return error
