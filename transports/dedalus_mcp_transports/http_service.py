"""What a streamable HTTP server is under one event loop: its sessions, and what a request leads to.

    POST ──▶ body ──▶ classify ──▶ modern: a conversation of its own
                              └──▶ legacy: the conversation of its session
    GET  ──▶ the session's stand-alone stream, or the rest of a stream that broke
    DELETE ──▶ the end of a session

The ASGI task waits for the client to leave: a modern call is cancelled then, a legacy one goes on.
Handlers run in tasks of the conversation and send by themselves (`http_channel`).

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio
import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ErrorData
from dedalus_mcp.jsonrpc.codec import Decoded, decode
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Notice, RequestId
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.transport import Application, Receiver, Reply
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.event_log import EventNotFound
from dedalus_mcp_transports.http_channel import Form, PostChannel
from dedalus_mcp_transports.http_classify import VERSION, Refused, Route, classify, legacy_revision, status_of
from dedalus_mcp_transports.http_headers import accepts, is_json
from dedalus_mcp_transports.http_legacy import LegacySession, SessionStream
from dedalus_mcp_transports.http_life import Life, Pulse
from dedalus_mcp_transports.http_mirrors import Mirrors
from dedalus_mcp_transports.http_request import (
    BodyTooLarge,
    Disconnected,
    HttpRequest,
    Receive,
    Send,
    respond,
    respond_failure,
)
from dedalus_mcp_transports.http_session import SessionNotFound, Sessions, SessionsFull
from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("Service", "failure_of", "refuse_while_draining")

SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"
# How long handlers may take to clean up once the server has ended them.
CLOSING_SECONDS = 1.0


class Service:
    """What an `HttpApp` is under one event loop.

    Args:
        application: What is served.
        settings: How.

    Attributes:
        ready: Whether what is served is set up.
        draining: Whether the server is about to end, and takes no more requests.
    """

    def __init__(self, application: Application, settings: HttpSettings) -> None:
        self.ready = False
        self.draining = False
        self._application = application
        self._settings = settings
        self._sessions: Sessions[LegacySession] = Sessions(settings.max_sessions, settings.session_idle_seconds)
        self._mirrors = Mirrors(application.input_schema)
        self._life = Life(application)
        self._pulse = Pulse(settings.keep_alive_seconds)
        self._form = Form.JSON if settings.json_only else Form.STREAM if settings.always_stream else Form.LATE
        self._alone: dict[Receiver, PostChannel] = {}  # the conversations of single requests
        self._tasks = Tasks()

    async def begin(self) -> None:
        """Set up what is served.

        Raises:
            Exception: What that raised.
        """
        await self._life.enter()
        self.ready = True

    async def serve(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            ConflictingHeader: A header that has one value came with several.
        """
        match request.scope["method"]:
            case "POST":
                await self.post(request, receive, send)
            case "GET":
                await self.get(request, receive, send)
            case "DELETE":
                await self.delete(request, send)
            case _:
                await respond(send, 405, b"", (b"allow", b"GET, POST, DELETE"))

    async def aclose(self, drain: float) -> None:
        """End everything: see `HttpApp.aclose`."""
        self.draining = True
        sessions = self._sessions.close()
        receivers = [*self._alone, *(session.receiver for session in sessions)]
        for session in sessions:
            session.stream.end()
        with anyio.move_on_after(drain):
            for receiver in receivers:
                await receiver.idle()
        reason = "the server is shutting down"
        unanswered = list(self._alone.values())
        for receiver in self._alone:
            receiver.close(reason)
        for session in sessions:
            unanswered += session.close(reason)
        with anyio.move_on_after(CLOSING_SECONDS):
            await _end(unanswered, 503)
            for receiver in receivers:
                await receiver.idle()
        await self._life.leave()
        self.ready = self.draining = False

    # POST.

    async def post(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Take a message, or a batch."""
        if not is_json(request.fields.joined(b"content-type")):
            await respond_failure(send, 415, failure_of(INVALID_REQUEST, "Content-Type must be application/json"))
            return
        json, stream = accepts(request.fields.joined(b"accept"))
        if not (json or stream):
            wanted = "Accept must allow application/json and text/event-stream"
            await respond_failure(send, 406, failure_of(INVALID_REQUEST, wanted))
            return
        try:
            body = await request.body(receive, self._settings.max_body)
        except BodyTooLarge:
            limit = f"The body is longer than {self._settings.max_body} bytes, which is the limit"
            await respond_failure(send, 413, failure_of(INVALID_REQUEST, limit))
            return
        except Disconnected:
            return
        if self.draining:  # since this request began
            await refuse_while_draining(send)
            return
        message = decode(body)
        route = classify(message, request.fields)
        if isinstance(route, Refused):
            await respond_failure(send, route.status, route.failure)
        elif route == "modern":
            await self._modern(request, message, receive, send)
        else:
            await self._legacy(request, message, route, receive, send)

    async def _modern(self, request: HttpRequest, message: Decoded, receive: Receive, send: Send) -> None:
        if not isinstance(message, Call):
            await respond(send, 202)
            return
        refused = self._mirrors.check(message, request.fields)
        if refused is not None:
            await respond_failure(send, refused.status, refused.failure)
            return
        channel = PostChannel(request, send, self._form, status_of=status_of)
        receiver = self._application.converse(channel)
        receiver.take(message, channel)
        if channel.unsent:
            await channel.flush()
        if channel.over:
            return
        self._alone[receiver] = channel
        try:
            await self._left(channel, receive, send)
        finally:  # also when the server ends this task by force
            del self._alone[receiver]
            left = channel.read_by(send)
            if left:
                channel.leave()
                receiver.close("the client closed the stream")
        if left:
            await receiver.idle()
            await _gone(channel, send)

    async def _legacy(self, request: HttpRequest, message: Decoded, route: Route, receive: Receive, send: Send) -> None:
        if isinstance(message, Call) and message.method == "initialize":
            await self._initialize(request, message, send)
            return
        id = request.fields.one(SESSION)
        if id is None:
            why = "Mcp-Session-Id is missing: send the one that `initialize` was answered with"
            await respond_failure(send, 400, failure_of(INVALID_REQUEST, why, message))
            return
        try:
            session = self._sessions.get(id, request.principal, anyio.current_time())
        except SessionNotFound as error:
            await respond_failure(send, 404, failure_of(INVALID_REQUEST, str(error), message))
            return
        refused = legacy_revision(route, request.fields, session.receiver.revision)
        if isinstance(refused, Refused):
            await respond_failure(send, refused.status, refused.failure)
            return
        request.session_id = id
        self._sessions.hold(id)
        try:
            await self._in_session(session, request, message, receive, send)
        finally:
            self._sessions.release(id, anyio.current_time())

    async def _initialize(self, request: HttpRequest, message: Call, send: Send) -> None:
        now = anyio.current_time()
        for expired in self._sessions.expire(now):
            expired.close("the session was not used for too long")
        stream = SessionStream()
        receiver = self._application.converse(stream)
        channel = PostChannel(request, send, Form.JSON, status_of=lambda code: 200)
        receiver.take(message, channel)
        if receiver.revision is not None:
            log = self._settings.event_log
            session = LegacySession(receiver, stream, log, self._settings.retry_milliseconds)
            try:
                id = self._sessions.add(session, request.principal, now)
            except SessionsFull as full:
                receiver.close("there are too many sessions")
                await respond_failure(send, 503, failure_of(INTERNAL_ERROR, str(full), message))
                return
            channel.headers.append((SESSION, id.encode()))
        await channel.flush()

    async def _in_session(
        self, session: LegacySession, request: HttpRequest, message: Decoded, receive: Receive, send: Send
    ) -> None:
        calls = _calls(message)
        if calls is None:
            session.receiver.take(message, session.stream)
            await respond(send, 202)
        else:
            log = session.stream_log() if self._form is not Form.JSON else None
            channel = PostChannel(request, send, self._form, status_of=lambda code: 200, log=log)
            session.begin(channel, calls)
            session.receiver.take(message, channel)
            if channel.unsent:
                await channel.flush()
            if not channel.over:
                await self._read_on(channel, receive, send)
        for id in _cancels(message):
            unwanted = session.cancelled(id)
            if unwanted is not None:
                await unwanted.end(202)

    async def _read_on(self, channel: PostChannel, receive: Receive, send: Send) -> None:
        """Stay until the response ends; when the client leaves, the call goes on: its events can be had again."""
        await self._left(channel, receive, send)
        if channel.read_by(send):
            channel.leave()

    async def _left(self, channel: PostChannel, receive: Receive, send: Send) -> None:
        """Wait for the end of the response, or of the connection: `channel.read_by` tells which."""
        self._pulse.watch(send, channel)
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self._pulse.forget(send)

    # GET and DELETE.

    async def get(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Serve a session's stream, or the rest of one."""
        session = await self._session_of(request, send)
        if session is None:
            return
        id = request.session_id or ""
        self._sessions.hold(id)
        try:
            last = request.fields.one(LAST_EVENT)
            if not accepts(request.fields.joined(b"accept"))[1]:
                await respond_failure(send, 406, failure_of(INVALID_REQUEST, "Accept must allow text/event-stream"))
            elif last is not None:
                await self._resume(session, last, receive, send)
            elif session.stream.open:
                await respond_failure(send, 409, failure_of(INVALID_REQUEST, "This session's stream is open already"))
            else:
                await session.stream.serve(receive, send, self._settings.keep_alive_seconds)
        finally:
            self._sessions.release(id, anyio.current_time())

    async def _resume(self, session: LegacySession, last: str, receive: Receive, send: Send) -> None:
        try:
            if session.log is None:
                raise EventNotFound
            name, missed = session.log.replay(last)
        except EventNotFound as error:
            await respond_failure(send, 400, failure_of(INVALID_REQUEST, str(error)))
            return
        channel = session.running(name)
        if channel is None:  # its call is over: what it left behind is all there will be
            channel = PostChannel(HttpRequest({"headers": []}), send, Form.STREAM, status_of=status_of)
            channel.answered = Reply(b"", None)
        before = await channel.resume(send, missed)
        if before is not None:  # in a task of its own: nobody may be reading there
            self._tasks.start(partial(_complete, before), lambda: None, detached=True)
        if not channel.over:
            await self._read_on(channel, receive, send)

    async def delete(self, request: HttpRequest, send: Send) -> None:
        """End a session."""
        session = await self._session_of(request, send)
        if session is not None and request.session_id is not None:
            self._sessions.remove(request.session_id)
            unanswered = session.close("the client ended the session")
            await respond(send, 204)
            await _end(unanswered, 404)

    async def _session_of(self, request: HttpRequest, send: Send) -> LegacySession | None:
        id = request.fields.one(SESSION)
        version = request.fields.one(VERSION)
        if id is None or version in MODERN:
            await respond(send, 405, b"", (b"allow", b"POST"))
            return None
        try:
            session = self._sessions.get(id, request.principal, anyio.current_time())
        except SessionNotFound as error:
            await respond_failure(send, 404, failure_of(INVALID_REQUEST, str(error)))
            return None
        refused = legacy_revision("legacy", request.fields, session.receiver.revision)
        if isinstance(refused, Refused):
            await respond_failure(send, refused.status, refused.failure)
            return None
        request.session_id = id
        return session


def failure_of(code: int, message: str, about: Decoded | None = None) -> Failure:
    """Make an error object, under the id of what it is about."""
    return Failure(about.id if isinstance(about, Call) else None, ErrorData(code, message))


async def _gone(channel: PostChannel, send: Send) -> None:
    """Answer something: middlewares complain of a request without a response."""
    if not channel.streaming:
        await respond(send, 499)


async def _end(channels: list[PostChannel], status: int) -> None:
    async with anyio.create_task_group() as group:  # at once: one may have a reader that reads nothing
        for channel in channels:
            group.start_soon(channel.end, status)


async def _complete(send: Send) -> None:
    with suppress(Exception):  # whatever servers raise when the connection is closed
        await send({"type": "http.response.body", "body": b""})


async def refuse_while_draining(send: Send) -> None:
    """Answer a request that comes too late."""
    await respond(send, 503, b"The server is shutting down", (b"connection", b"close"))


class _Cancelled(msgspec.Struct):
    requestId: RequestId | None = None


_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode


def _cancels(message: Decoded) -> Iterator[RequestId]:
    """The calls whose replies nobody wants any more."""
    for item in message if isinstance(message, list) else (message,):
        if isinstance(item, Notice) and item.method == "notifications/cancelled" and item.params is not UNSET:
            with suppress(msgspec.DecodeError, RecursionError):
                id = _decode_cancelled(item.params).requestId
                if id is not None:
                    yield id


def _calls(message: Decoded) -> set[RequestId] | None:
    """The ids of the calls in a POST; None where nothing in it is replied to."""
    if isinstance(message, Call):
        return {message.id}
    if not isinstance(message, list):
        return None
    due = [item for item in message if isinstance(item, Call) or (isinstance(item, Malformed) and not item.is_reply)]
    return {item.id for item in due if isinstance(item, Call)} if due else None
