"""Streamable HTTP, the server: every revision at one endpoint, as a plain ASGI callable.

    POST ──▶ guard ──▶ body ──▶ classify ──▶ modern: a conversation of its own
                                        └──▶ legacy: the conversation of its session
    GET  ──▶ the session's stand-alone stream, or the rest of a stream that broke
    DELETE ──▶ the end of a session

The ASGI task waits for the client to leave: a modern call is cancelled then, a legacy one goes on.
Handlers run in tasks of the conversation and send by themselves (`http_channel`).

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from weakref import WeakKeyDictionary

import anyio
import msgspec
from anyio import lowlevel

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ErrorData
from dedalus_mcp.jsonrpc.codec import Decoded, decode
from dedalus_mcp.jsonrpc.messages import Call, Failure
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.transport import Application, Receiver, Reply
from dedalus_mcp_transports.event_log import EventLog, EventNotFound, MemoryEventLog
from dedalus_mcp_transports.http_channel import Form, PostChannel
from dedalus_mcp_transports.http_classify import Refused, Route, classify, legacy_revision, status_of
from dedalus_mcp_transports.http_headers import accepts, is_json
from dedalus_mcp_transports.http_legacy import LegacySession, SessionStream
from dedalus_mcp_transports.http_mirrors import Mirrors
from dedalus_mcp_transports.http_request import (
    BodyTooLarge,
    Disconnected,
    HttpRequest,
    Receive,
    Scope,
    Send,
    respond,
    respond_failure,
)
from dedalus_mcp_transports.http_security import Guard, TransportSecuritySettings
from dedalus_mcp_transports.http_session import SessionNotFound, Sessions, SessionsFull

__all__ = ("HttpApp", "HttpSettings")

logger = logging.getLogger("dedalus_mcp")

SESSION = b"mcp-session-id"
LAST_EVENT = b"last-event-id"
# How long handlers may take to clean up once the server has ended them.
CLOSING_SECONDS = 1.0


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a streamable HTTP server.

    Attributes:
        path: The endpoint; requests for other paths are answered with 404.
        json_only: Answer every POST with one JSON object; notices are dropped, asks fail.
        always_stream: Answer every POST with an event stream; errors that have an HTTP status of their own aside.
        max_body: Bytes in a request body, at most.
        max_sessions: Legacy sessions that may be open at once.
        session_idle_seconds: How long a legacy session lives that nobody uses.
        keep_alive_seconds: How long a stream may be silent before a comment is sent on it.
        event_log: Makes the log from which a session's streams can be resumed; None for none.
        retry_milliseconds: How long a client should wait before it resumes; None to leave it to it.
        security: Which hosts and origins are taken; None for loopback and the bound host.
    """

    path: str = "/mcp"
    json_only: bool = False
    always_stream: bool = False
    max_body: int = 16 << 20
    max_sessions: int = 10_000
    session_idle_seconds: float = 1800.0
    keep_alive_seconds: float = 15.0
    event_log: Callable[[], EventLog] | None = MemoryEventLog
    retry_milliseconds: int | None = None
    security: TransportSecuritySettings = TransportSecuritySettings()


class HttpApp:
    """An ASGI application; it mounts anywhere, and needs no lifespan.

    Args:
        application: What is served.
        settings: How.
        bound_host: The host that it will listen on, where that is known.

    Raises:
        ValueError: An allowed host or origin is not written as one, or both answer forms are demanded.
    """

    def __init__(
        self, application: Application, settings: HttpSettings | None = None, *, bound_host: str | None = None
    ) -> None:
        self._settings = settings or HttpSettings()
        if self._settings.json_only and self._settings.always_stream:
            raise ValueError("json_only and always_stream exclude each other")
        self._application = application
        self._guard = Guard(self._settings.security, bound_host)
        # An application may be used under several event loops, as in tests; what waits in one is
        # of no use to another.
        self._services: WeakKeyDictionary[object, _Service] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            await self._serve(HttpRequest(scope), receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def aclose(self, drain: float = 0.0) -> None:
        """End every session and stream, and take down what the application has set up.

        Args:
            drain: How long running calls may go on, in seconds; new ones are refused meanwhile.
        """
        await self._service().aclose(drain)

    def _service(self) -> _Service:
        key = lowlevel.current_token().native_token
        service = self._services.get(key)
        if service is None:
            service = self._services[key] = _Service(self._application, self._settings)
        return service

    async def _serve(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        if not self._is_here(request.scope):
            await respond(send, 404, b"Not found")
            return
        refusal = self._guard.check(_header(request, b"host"), _header(request, b"origin"))
        if refusal is not None:
            await respond_failure(send, refusal.status, _failure(INVALID_REQUEST, refusal.message))
            return
        service = self._service()
        if service.draining:
            await respond(send, 503, b"The server is shutting down", (b"connection", b"close"))
            return
        if not service.ready:
            await service.begin()
        match request.scope["method"]:
            case "POST":
                await service.post(request, receive, send)
            case "GET":
                await service.get(request, receive, send)
            case "DELETE":
                await service.delete(request, send)
            case _:
                await respond(send, 405, b"", (b"allow", b"GET, POST, DELETE"))

    def _is_here(self, scope: Scope) -> bool:
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        inner = path[len(root) :] if root and path.startswith(root) else path
        return self._settings.path in (path, inner, inner.rstrip("/")) or inner in ("", "/")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return


class _Service:
    """What an `HttpApp` is under one event loop."""

    def __init__(self, application: Application, settings: HttpSettings) -> None:
        self.ready = False
        self.draining = False
        self._application = application
        self._settings = settings
        self._sessions: Sessions[LegacySession] = Sessions(settings.max_sessions, settings.session_idle_seconds)
        self._mirrors = Mirrors(application.input_schema)
        self._life = _Life(application)
        self._pulse = _Pulse(settings.keep_alive_seconds)
        self._form = Form.JSON if settings.json_only else Form.STREAM if settings.always_stream else Form.LATE
        self._alone: set[Receiver] = set()  # the conversations of single requests

    async def begin(self) -> None:
        await self._life.enter()
        self.ready = True

    async def aclose(self, drain: float) -> None:
        self.draining = True
        sessions = self._sessions.close()
        receivers = [*self._alone, *(session.receiver for session in sessions)]
        for session in sessions:
            session.stream.end()
        with anyio.move_on_after(drain):
            for receiver in receivers:
                await receiver.idle()
        for receiver in receivers:
            receiver.close("the server is shutting down")
        with anyio.move_on_after(CLOSING_SECONDS):
            for receiver in receivers:
                await receiver.idle()
        await self._life.leave()
        self.ready = self.draining = False

    # POST.

    async def post(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        if not is_json(request.fields.joined(b"content-type")):
            await respond_failure(send, 415, _failure(INVALID_REQUEST, "Content-Type must be application/json"))
            return
        json, stream = accepts(request.fields.joined(b"accept"))
        if not (json or stream):
            wanted = "Accept must allow application/json and text/event-stream"
            await respond_failure(send, 406, _failure(INVALID_REQUEST, wanted))
            return
        try:
            body = await request.body(receive, self._settings.max_body)
        except BodyTooLarge:
            limit = f"The body is longer than {self._settings.max_body} bytes, which is the limit"
            await respond_failure(send, 413, _failure(INVALID_REQUEST, limit))
            return
        except Disconnected:
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
        self._alone.add(receiver)
        try:
            if await self._left(channel, receive):
                channel.leave()
                receiver.close("the client closed the stream")
                await receiver.idle()
                await _gone(channel, send)
        finally:
            self._alone.discard(receiver)

    async def _legacy(self, request: HttpRequest, message: Decoded, route: Route, receive: Receive, send: Send) -> None:
        if isinstance(message, Call) and message.method == "initialize":
            await self._initialize(request, message, send)
            return
        id = request.fields.one(SESSION)
        if id is None:
            why = "Mcp-Session-Id is missing: send the one that `initialize` was answered with"
            await respond_failure(send, 400, _failure(INVALID_REQUEST, why, message))
            return
        try:
            session = self._sessions.get(id, request.principal, anyio.current_time())
        except SessionNotFound as error:
            await respond_failure(send, 404, _failure(INVALID_REQUEST, str(error), message))
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
                await respond_failure(send, 503, _failure(INTERNAL_ERROR, str(full), message))
                return
            channel.headers.append((SESSION, id.encode()))
        await channel.flush()

    async def _in_session(
        self, session: LegacySession, request: HttpRequest, message: Decoded, receive: Receive, send: Send
    ) -> None:
        if not (isinstance(message, Call) or (isinstance(message, list) and any(isinstance(m, Call) for m in message))):
            session.receiver.take(message, session.stream)
            await respond(send, 202)
            return
        log = session.stream_log() if self._form is not Form.JSON else None
        channel = PostChannel(request, send, self._form, status_of=lambda code: 200, log=log)
        session.attach(log, channel)
        session.receiver.take(message, channel)
        if channel.unsent:
            await channel.flush()
        if channel.over or not await self._left(channel, receive):
            session.detach(log)
            return
        channel.leave()  # but the call goes on: its events can be had again

    async def _left(self, channel: PostChannel, receive: Receive) -> bool:
        """Wait for the end of the response; True if the client left before."""
        self._pulse.watch(channel)
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self._pulse.forget(channel)
        return not (channel.over or channel.finishing)

    # GET and DELETE.

    async def get(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        session = await self._session_of(request, send)
        if session is None:
            return
        id = request.session_id or ""
        self._sessions.hold(id)
        try:
            last = request.fields.one(LAST_EVENT)
            if last is not None:
                await self._resume(session, last, receive, send)
            elif session.stream.open:
                await respond_failure(send, 409, _failure(INVALID_REQUEST, "This session's stream is open already"))
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
            await respond_failure(send, 400, _failure(INVALID_REQUEST, str(error)))
            return
        channel = session.running(name)
        if channel is None:  # its call is over: what it left behind is all there will be
            channel = PostChannel(HttpRequest({"headers": []}), send, Form.STREAM, status_of=status_of)
            channel.answered = Reply(b"", None)
        await channel.resume(send, missed)
        if not channel.over and not await self._left(channel, receive):
            return
        channel.leave()

    async def delete(self, request: HttpRequest, send: Send) -> None:
        session = await self._session_of(request, send)
        if session is not None and request.session_id is not None:
            self._sessions.remove(request.session_id)
            session.close("the client ended the session")
            await respond(send, 204)

    async def _session_of(self, request: HttpRequest, send: Send) -> LegacySession | None:
        id = request.fields.one(SESSION)
        if id is None:
            await respond(send, 405, b"", (b"allow", b"POST"))
            return None
        try:
            session = self._sessions.get(id, request.principal, anyio.current_time())
        except SessionNotFound as error:
            await respond_failure(send, 404, _failure(INVALID_REQUEST, str(error)))
            return None
        request.session_id = id
        return session


class _Life:
    """Holds what the application has set up, in a task of its own, from the first request on."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._tasks = Tasks()
        self._entered: anyio.Event | None = None
        self._leaving = anyio.Event()
        self._error: BaseException | None = None

    async def enter(self) -> None:
        if self._entered is None:
            self._entered = anyio.Event()
            self._tasks.start(self._hold, self._entered.set, detached=True)
        await self._entered.wait()
        if self._error is not None:
            raise self._error

    async def leave(self) -> None:
        self._leaving.set()
        await self._tasks.wait()
        self._entered, self._leaving, self._error = None, anyio.Event(), None

    async def _hold(self) -> None:
        try:
            async with self._application.running():
                assert self._entered is not None, "set before"
                self._entered.set()
                await self._leaving.wait()
        except Exception as error:  # noqa: BLE001 - raised by `enter`
            self._error = error


class _Pulse:
    """Keeps silent streams alive: one task for all of them, only while there are any."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._channels: dict[PostChannel, None] = {}
        self._tasks = Tasks()
        self._beating = False

    def watch(self, channel: PostChannel) -> None:
        self._channels[channel] = None
        if not self._beating:
            self._beating = True
            self._tasks.start(self._beat, lambda: None, detached=True)

    def forget(self, channel: PostChannel) -> None:
        self._channels.pop(channel, None)

    async def _beat(self) -> None:
        try:
            while self._channels:
                waiting = list(self._channels)
                await anyio.sleep(self._seconds)
                for channel in waiting:
                    if channel in self._channels:  # all the time: so it is silent
                        self._tasks.start(channel.beat, lambda: None, detached=True)
        finally:
            self._beating = False


def _header(request: HttpRequest, name: bytes) -> str | None:
    values = request.fields.all(name) if request.fields.joined(name) is not None else []
    return values[0] if values else None


def _failure(code: int, message: str, about: Decoded | None = None) -> Failure:
    return Failure(about.id if isinstance(about, Call) else None, ErrorData(code, message))


async def _gone(channel: PostChannel, send: Send) -> None:
    """Answer something: middlewares complain of a request without a response."""
    if not channel.streaming:
        await respond(send, 499)
