"""Legacy requests over HTTP: each belongs to the conversation of a session, which is kept here.

    POST `initialize` ──▶ a session, and its id
    POST ──▶ the session's conversation; the call goes on when its client leaves
    GET  ──▶ the session's stand-alone stream, or the rest of a stream that broke
    DELETE ──▶ the end of the session

Layer: L5.
Source: MCP 2025-11-25, basic/transports.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.tasks import Tasks, now
from dedalus_mcp.transport import Application, Receiver, Reply
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.event_log import EventNotFound
from dedalus_mcp_transports.http_channel import Form, PostChannel, answer_gone
from dedalus_mcp_transports.http_classify import VERSION, Refused, Route, legacy_revision, status_of
from dedalus_mcp_transports.http_early import EarlyCancellations
from dedalus_mcp_transports.http_headers import accepts
from dedalus_mcp_transports.http_initialize import InitializeChannel, Initializing
from dedalus_mcp_transports.http_legacy import LegacySession, SessionStream
from dedalus_mcp_transports.http_life import Pulse, end_all
from dedalus_mcp_transports.http_posted import is_replied_to
from dedalus_mcp_transports.http_refusals import refuse
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send, respond, respond_failure
from dedalus_mcp_transports.http_session import SESSION, SessionNotFound, Sessions, SessionsFull
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.http_sweep import Sweep

__all__ = ("Stateful",)

LAST_EVENT = b"last-event-id"
# Of a call that ran when its session was ended: 404 would say that it has not, so that clients make it again.
ENDED = 410


class Stateful:
    """The legacy sessions of one server.

    Args:
        application: What is served.
        settings: How.
        form: What a POST may be answered with.
        pulse: Keeps silent streams alive.
    """

    def __init__(self, application: Application, settings: HttpSettings, form: Form, pulse: Pulse) -> None:
        self._application = application
        self._settings = settings
        self._form = form
        self._pulse = pulse
        self._sessions: Sessions[LegacySession] = Sessions(settings.max_sessions, settings.session_idle_seconds)
        self._sweep = Sweep(self._sessions, lambda session: session.close("the session was not used for too long"))
        self._initializing = Initializing()
        self._early = EarlyCancellations()
        self._stopped: list[LegacySession] = []
        self._tasks = Tasks()

    def stop(self) -> list[Receiver]:
        """Take nothing more from any session, end their streams, and return their conversations."""
        self._stopped += self._sessions.close()  # those of a drain that was cut too
        self._sweep.stop()
        for session in self._stopped:
            session.stream.end()
        return [*(session.receiver for session in self._stopped), *self._initializing.receivers]

    def close(self, reason: str) -> list[PostChannel]:
        """End the sessions; return the channels on which no reply will come now."""
        self._initializing.close(reason)
        self.stop()  # a handshake that took its time may have begun one meanwhile
        stopped, self._stopped = self._stopped, []
        return [channel for session in stopped for channel in session.close(reason)]

    # POST.

    async def post(self, request: HttpRequest, message: Decoded, route: Route, receive: Receive, send: Send) -> None:
        """Take a message, or a batch."""
        if isinstance(message, Call) and message.method == "initialize":
            await self._initialize(request, message, receive, send)
            return
        id = request.fields.one(SESSION)
        if id is None:
            why = "Mcp-Session-Id is missing: send the one that `initialize` was answered with"
            await refuse(send, 400, INVALID_REQUEST, why, message)
            return
        try:
            session = self._sessions.get(id, request.principal, now())
        except SessionNotFound as error:
            await refuse(send, 404, INVALID_REQUEST, str(error), message)
            return
        refused = legacy_revision(route, request.fields, session.receiver.revision)
        if isinstance(refused, Refused):
            await respond_failure(send, refused.status, refused.failure)
            return
        request.session_id = id
        wanted = self._early.sift(id, message, session.receiver.runs)
        if wanted is None:
            await respond(send, 202)
        elif not is_replied_to(wanted):
            session.receiver.take(wanted, session.stream)
            await respond(send, 202)
        else:
            await self._answer(session, request, wanted, receive, send)

    async def _initialize(self, request: HttpRequest, message: Call, receive: Receive, send: Send) -> None:
        stream, channel = SessionStream(), InitializeChannel(request)
        receiver = self._application.converse(stream)
        if not await self._initializing.take(receiver, message, channel, receive) or receiver.revision is None:
            await channel.respond(send)
            return
        opened = now()
        self._sweep.now()
        session = LegacySession(receiver, stream, self._settings.event_log, self._settings.retry_milliseconds)
        try:
            stream.session_id = self._sessions.add(session, request.principal, opened)
        except SessionsFull as full:
            receiver.close("there are too many sessions")
            await refuse(send, 503, INTERNAL_ERROR, str(full), message)
            return
        self._sweep.start()
        await channel.respond(send, (SESSION, stream.session_id.encode()))

    async def _answer(
        self, session: LegacySession, request: HttpRequest, message: Decoded, receive: Receive, send: Send
    ) -> None:
        channel = PostChannel(request, send, self._form, make_log=session.make_log)
        session.begin(channel)
        run = session.receiver.lend(message, channel)
        if run is not None:
            self._tasks.start(run)
        id = request.session_id or ""
        self._sessions.hold(id)  # there: it was looked up in this very step
        try:
            await self._read_on(channel, receive, send)
        finally:
            self._sessions.release(id, now())

    @contextmanager
    def _held(self, request: HttpRequest) -> Generator[None]:
        """Let the request's session not expire while something of it is open."""
        id = request.session_id or ""
        with suppress(SessionNotFound):  # it was ended just now, and with it what is open
            self._sessions.hold(id)
        try:
            yield
        finally:
            self._sessions.release(id, now())

    async def _read_on(self, channel: PostChannel, receive: Receive, send: Send) -> None:
        """Stay until the response ends; when the client leaves, the call goes on: its events can be had again."""
        if await self._pulse.stay(channel, receive, send):
            await answer_gone(channel, send)

    # GET and DELETE.

    async def get(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Serve a session's stream, or the rest of one."""
        session = await self._session_of(request, send)
        if session is None:
            return
        with self._held(request):
            last = request.fields.one(LAST_EVENT)
            if not accepts(request.fields.joined(b"accept"))[1]:
                await refuse(send, 406, INVALID_REQUEST, "Accept must allow text/event-stream")
            elif last is not None:
                await self._resume(session, last, receive, send)
            elif session.stream.open:
                await refuse(send, 409, INVALID_REQUEST, "This session's stream is open already")
            else:
                await session.stream.serve(receive, send, self._pulse, session.make_log)

    async def _resume(self, session: LegacySession, last: str, receive: Receive, send: Send) -> None:
        try:
            if session.log is None:
                raise EventNotFound
            name, missed = session.log.replay(last)
        except EventNotFound as error:
            await refuse(send, 400, INVALID_REQUEST, str(error))
            return
        alone = session.stream.log
        if alone is not None and alone.stream == name:
            await session.stream.resume(receive, send, self._pulse, missed)
            return
        channel = session.running(name)
        if channel is None:  # its call is over: what it left behind is all there will be
            channel = PostChannel(HttpRequest({"headers": []}), send, Form.STREAM, status_of=status_of)
            channel.answered = Reply(b"", None)
        before = channel.move(send)
        if before is not None:  # in a task of its own: nobody may be reading there
            self._tasks.start(before, detached=True)
        await channel.replay(missed)
        if not channel.over:
            await self._read_on(channel, receive, send)

    async def delete(self, request: HttpRequest, send: Send) -> None:
        """End a session."""
        session = await self._session_of(request, send)
        if session is not None and request.session_id is not None:
            self._sessions.remove(request.session_id)
            unanswered = session.close("the client ended the session")
            if unanswered:  # each ends at its reader's pace
                self._tasks.start(partial(end_all, unanswered, ENDED), detached=True)
            await respond(send, 204)

    async def _session_of(self, request: HttpRequest, send: Send) -> LegacySession | None:
        id = request.fields.one(SESSION)
        version = request.fields.one(VERSION)
        if id is None or version in MODERN:
            await respond(send, 405, b"", (b"allow", b"POST"))
            return None
        try:
            session = self._sessions.get(id, request.principal, now())
        except SessionNotFound as error:
            await refuse(send, 404, INVALID_REQUEST, str(error))
            return None
        refused = legacy_revision("legacy", request.fields, session.receiver.revision)
        if isinstance(refused, Refused):
            await respond_failure(send, refused.status, refused.failure)
            return None
        request.session_id = id
        return session
