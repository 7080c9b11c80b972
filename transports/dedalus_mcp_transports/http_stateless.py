"""Legacy requests over HTTP with nothing kept between them: any process can answer any of them.

    POST `initialize` ──▶ an id that carries what was agreed on (`http_seal`)
    POST a call  ──▶ a conversation made of that id, or of nothing where a client sends none
    POST a reply, a cancellation ──▶ the running call that it is about, in this process (`http_running`)
    GET, DELETE  ──▶ 405: no stream without a call, and no session that could end

A client that leaves cancels nothing, but cannot be asked any more: its stream cannot be resumed.

Layer: L5.
Source: MCP 2025-11-25, basic/transports.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, RequestId, Success
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.session import DEFAULT_LOG_LEVEL, Terms
from dedalus_mcp.transport import Application, Receiver
from dedalus_mcp.types import ClientCapabilities
from dedalus_mcp_transports.http_channel import Form, PostChannel, always_ok, answer_gone
from dedalus_mcp_transports.http_classify import Refused, Route, legacy_revision
from dedalus_mcp_transports.http_early import EarlyCancellations
from dedalus_mcp_transports.http_initialize import InitializeChannel, Initializing
from dedalus_mcp_transports.http_life import Pulse
from dedalus_mcp_transports.http_posted import cancellations_in, is_replied_to
from dedalus_mcp_transports.http_refusals import refuse
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send, respond, respond_failure
from dedalus_mcp_transports.http_running import Running, TooManyCalls
from dedalus_mcp_transports.http_seal import SessionSeal
from dedalus_mcp_transports.http_session import SESSION, SessionNotFound
from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("Stateless",)


@dataclass(frozen=True, slots=True)
class _Open:
    receiver: Receiver
    channel: PostChannel


class Stateless:
    """The legacy requests of one server that keeps no sessions.

    Args:
        application: What is served.
        settings: How.
        form: What a POST may be answered with.
        pulse: Keeps silent streams alive.
    """

    def __init__(self, application: Application, settings: HttpSettings, form: Form, pulse: Pulse) -> None:
        self._application = application
        self._form = form
        self._pulse = pulse
        self._seal = SessionSeal(settings.state_keys)
        self._initializing = Initializing()
        self._early = EarlyCancellations()
        self._running: Running[_Open] = Running(settings.max_sessions)
        self._tasks = Tasks()

    def stop(self) -> list[Receiver]:
        """Return the conversations that are going on."""
        return [*(each.receiver for each in self._running.values), *self._initializing.receivers]

    def close(self, reason: str) -> list[PostChannel]:
        """End the conversations; return the channels on which no reply will come now."""
        self._initializing.close(reason)
        running = self._running.clear()
        for each in running:
            each.receiver.close(reason)
        return [each.channel for each in running]

    async def post(self, request: HttpRequest, message: Decoded, route: Route, receive: Receive, send: Send) -> None:
        """Take a message, or a batch."""
        if isinstance(message, Call) and message.method == "initialize":
            await self._initialize(request, message, receive, send)
            return
        id = request.fields.one(SESSION)
        try:
            agreed = None if id is None else self._seal.open(id, request.principal, time.time())
        except SessionNotFound as error:
            await refuse(send, 404, INVALID_REQUEST, str(error), message)
            return
        revision = legacy_revision(route, request.fields, None if agreed is None else agreed.revision)
        if isinstance(revision, Refused):
            await respond_failure(send, revision.status, revision.failure)
            return
        request.session_id = id
        # Without a session nothing is kept, since ids of calls are no secret: see `Running.open`.
        wanted = message if id is None else self._early.sift(id, message, partial(self._is_under_way, id))
        if wanted is None:
            await respond(send, 202)
            return
        here = self._deliver(request, wanted)
        if is_replied_to(wanted):
            terms = agreed or Terms(revision, None, ClientCapabilities(), DEFAULT_LOG_LEVEL)
            await self._answer(request, wanted, terms, receive, send)
        elif here:
            await respond(send, 202)
        else:
            why = "Another process asked what this replies to: several workers need affinity while a call runs"
            await refuse(send, 400, INVALID_REQUEST, why)

    async def get(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Refuse: there is nothing that belongs to no call (HTTP-27)."""
        await respond(send, 405, b"", (b"allow", b"POST"))

    async def delete(self, request: HttpRequest, send: Send) -> None:
        """Refuse: an id that was given out stays good, and to say otherwise would be wrong (HTTP-44, HTTP-46)."""
        await respond(send, 405, b"", (b"allow", b"POST"))

    async def _initialize(self, request: HttpRequest, message: Call, receive: Receive, send: Send) -> None:
        channel = InitializeChannel(request)
        receiver = self._application.converse_once(channel, None, "")
        if not await self._initializing.take(receiver, message, channel, receive) or receiver.agreed is None:
            await channel.respond(send)
            return
        id = self._seal.seal(receiver.agreed, request.principal, time.time())
        await channel.respond(send, (SESSION, id.encode()))

    def _is_under_way(self, session: str, id: RequestId) -> bool:
        return self._running.called(session, id) is not None or self._running.is_from_here(id)

    def _deliver(self, request: HttpRequest, message: Decoded) -> bool:
        """Hand replies and cancellations to the calls they are about; False if one is for another process."""
        here = True
        for item in message if isinstance(message, list) else (message,):
            if _is_reply(item):
                found = self._running.asked(item.id, request.principal)
                if found is not None:
                    found.receiver.take(item, found.channel)
                elif not self._running.is_from_here(item.id):
                    here = False
        for notice, id in cancellations_in(message):
            found = self._running.called(request.session_id, id)
            if found is not None:
                found.receiver.take(notice, found.channel)
        return here

    async def _answer(self, request: HttpRequest, message: Decoded, terms: Terms, receive: Receive, send: Send) -> None:
        try:
            mark = self._running.mark()
        except TooManyCalls as full:
            await refuse(send, 503, INTERNAL_ERROR, str(full), message)
            return
        channel = PostChannel(request, send, self._form, status_of=always_ok)
        channel.replied = lambda _: self._running.close(mark)
        receiver = self._application.converse_once(channel, terms, mark)
        taken = [item for item in message if not _is_reply(item)] if isinstance(message, list) else message
        ids = [item.id for item in (taken if isinstance(taken, list) else (taken,)) if isinstance(item, Call)]
        self._running.open(mark, _Open(receiver, channel), request.principal, request.session_id, ids)
        run = receiver.lend(taken, channel)
        if run is not None:
            self._tasks.start(run)
        if await self._pulse.stay(channel, receive, send, partial(receiver.lose, "the client has left")):
            await answer_gone(channel, send)


def _is_reply(item: Message | Malformed) -> TypeGuard[Success | Failure | Malformed]:
    return isinstance(item, Success | Failure) or (isinstance(item, Malformed) and item.is_reply)
