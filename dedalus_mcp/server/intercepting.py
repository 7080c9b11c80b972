"""Answers a client where functions of the author's stand between: middleware, and the lifespan of each session.

    request ──▶ request middleware ──▶ a call: session lifespan ──▶ middleware ──▶ handler
       retry ──▶ request middleware ──▶ the call it belongs to: suspended in its middleware, it goes on

So middleware sees one call, however many requests that takes, and the middleware of requests sees each.
Where a call goes on in another process, its handler runs again from the top, and its middleware with it.
A server without any of these is answered for by `Answering` alone.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import Raw

from dedalus_mcp.errors import METHOD_NOT_FOUND, AskFailed
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call, Notice
from dedalus_mcp.jsonrpc.tasks import ends_the_task
from dedalus_mcp.server.answering import Answering
from dedalus_mcp.server.asker import Asker
from dedalus_mcp.server.context import Context, current, get_context
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.middleware import Incoming
from dedalus_mcp.server.routes import AT_ONCE, Handled
from dedalus_mcp.server.session_lifespan import SessionLife, SessionLifespan
from dedalus_mcp.server.sessions import Session
from dedalus_mcp.server.tool_passage import call_through, typed
from dedalus_mcp.server.tools import ToolCall
from dedalus_mcp.session import ServerSession
from dedalus_mcp.types import InitializeResult, NotificationParams
from dedalus_mcp.types.methods import CANCELLED, CARRIERS, NOTIFICATIONS, REQUESTS
from dedalus_mcp.types.revisions import LATEST_LEGACY, shape

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Intercepting",)

logger = logging.getLogger("dedalus_mcp")

HANDLERS = frozenset({"tools/call", "prompts/get", "resources/read", "completion/complete"})
"""The methods that are answered by code of the author's."""

MAX_NOTICES = 256
"""Notices of one session that may be in its middleware at once; one more is dropped.  Clients send a handful."""


class Intercepting(Answering):
    """The `Handler` of a peer of such a server.

    Args:
        server: See `Answering`.
        session: See there.
    """

    __slots__ = ("_agreeing", "_life", "_notices")

    def __init__(self, server: MCPServer, session: ServerSession | None = None) -> None:
        super().__init__(server, session)
        self._agreeing: anyio.Event | None = None  # set once `initialize` is answered
        self._life: SessionLife | None = None
        self._notices = 0

    def answer(self, call: Inbound) -> Any:
        """Answer one call: see `Answering.answer`."""
        if not (self.server.middleware or self.server.request_middleware):
            return super().answer(call)
        if call.method != "initialize":
            return self._answer(call)
        self._agreeing = agreeing = anyio.Event()
        call.on_cancel(agreeing.set)
        return self._answer_first(call, agreeing)

    def hear(self, notice: Notice) -> None:
        """Take a notice of a session, through the middleware, in a task of its own."""
        if not (self.server.middleware and self.client is not None) or notice.method == CANCELLED.name:
            super().hear(notice)  # a cancellation that comes too late is the engine's, too
        elif self._notices >= MAX_NOTICES:
            logger.warning("dropped %.80r: %d notices wait in the middleware already", notice.method, MAX_NOTICES)
        else:
            peer = self.client.peer
            call = Inbound(Call("", notice.method, notice.params), peer.channel, None, peer)
            self._notices += 1
            peer.run_apart(call, partial(self._hear, notice, call))

    # Requests.

    async def _answer_first(self, call: Inbound, agreeing: anyio.Event) -> Any:
        try:
            return await self._through(call)
        finally:
            agreeing.set()

    async def _answer(self, call: Inbound) -> Any:
        if self._agreeing is not None:
            await self._agreeing.wait()  # what comes after `initialize` is of the session that it begins
        return await self._through(call)

    async def _through(self, call: Inbound) -> Any:
        """Let a request through the middleware of requests."""
        params, terms = self._open(call)
        chain = self.server.request_middleware
        kind = _Leg if chain and terms.modern and call.method in CARRIERS else Context
        context = kind(self.server, call.peer, call, terms, params.meta)
        current.set(context)
        if not chain:
            return await self._begin(params, context)
        answer = _Answer(call.method, partial(self._begin, params, context))
        try:
            outcome = await chain.run(Incoming(call.method, typed(params), context), answer.get)
        except Exception as error:
            told = self._told(error, context)
            if told is error:
                raise
            raise told from error
        return self._shaped(answer.to_send(outcome), terms)

    async def _begin(self, params: Any, context: Context) -> Any:
        """Begin a call, or go on with the one that a retry belongs to."""
        call = context.call
        handled = self._handled(call.method)
        if handled is None:
            return self._shaped(self._at_once(call, params), context.terms)
        if context.modern and call.method in CARRIERS:
            if params.requestState is not None:
                return await self._retry(handled, params, context)
            if self.server.request_middleware:
                handle = partial(self._handle, handled, params)
                return await self.server.parkings.here().begin_apart(context, params.inputResponses, handle)
            if params.inputResponses is not None:
                return await self._retry(handled, params, context)
        return await self._handle(handled, params, context)

    # Calls.

    def _handled(self, method: str) -> Handled | None:
        handled = super()._handled(method)
        if self.server.middleware:
            return partial(self._call, method, handled)
        lifespan = self._lifespan_for(method)
        return handled if handled is None or lifespan is None else partial(self._live, lifespan, handled)

    def _lifespan_for(self, method: str) -> SessionLifespan | None:
        """What is set up for the session, if code of the author's runs, which may use it."""
        runs = method in HANDLERS or (method == "tools/list" and self.server.tools.conditional)
        return self.server.session_lifespan if runs else None

    async def _call(self, method: str, handled: Handled | None, server: MCPServer, params: Any) -> Any:
        """Let a call through, with what is set up for its session."""
        context, end = get_context(), partial(self._end, handled)
        lifespan = self._lifespan_for(method)
        if lifespan is not None:
            async with self._living(lifespan, context):
                return await self._chained(method, params, context, end)
        if self._life is not None:
            context.keep_session_lifespan(self._life.value)
        return await self._chained(method, params, context, end)

    async def _live(self, lifespan: SessionLifespan, handled: Handled, server: MCPServer, params: Any) -> Any:
        """Call a handler of a server that has no middleware."""
        async with self._living(lifespan, get_context()):
            return await handled(server, params)

    async def _chained(self, method: str, params: Any, context: Context, end: Callable[[Any], Awaitable[Any]]) -> Any:
        """Let a call through the middleware."""
        if isinstance(params, ToolCall):
            return await call_through(self.server.middleware, self.server.tools, typed(params), context)
        return await self.server.middleware.run(Incoming(method, params, context), end)

    async def _end(self, handled: Handled | None, params: Any) -> Any:
        """Do what the call is for, when it is through."""
        if handled is not None:
            return await handled(self.server, params)
        return self._at_once(get_context().call, params)

    def _at_once(self, call: Inbound, params: Any) -> Any:
        if call.method == "initialize":
            return self._agree(call, params)
        return hinted(AT_ONCE[call.method](self, call, params), self.server.config.cache_hints.get(call.method))

    def _shaped(self, result: Any, terms: Any) -> Any:
        if isinstance(result, InitializeResult):
            return shape(result, self.revision or LATEST_LEGACY)
        return super()._shaped(result, terms)

    # The lifespan of the session.

    def _agree(self, call: Inbound, params: Any) -> InitializeResult:
        result = super()._agree(call, params)
        if self.server.session_lifespan is not None and self.client is not None:
            self._life = life = self.server.session_lifespan.begin(self.client)
            call.peer.at_end(life.end)
        return result

    @asynccontextmanager
    async def _living(self, lifespan: SessionLifespan, context: Context) -> AsyncGenerator[None]:
        """Use the lifespan of the call's session; where there is none that lasts, it is the call's own."""
        if self._life is not None and not context.modern:
            using = self._life.use()
        else:
            using = lifespan.once(Session(self.server, context.peer, context.terms, context.principal))
        async with using as value:
            context.keep_session_lifespan(value)
            yield

    # Notices.

    async def _hear(self, notice: Notice, call: Inbound) -> None:
        try:
            with call.scope:
                await self._noticed(notice, call)
        except BaseException as error:
            if ends_the_task(error):
                raise
            logger.exception("the middleware failed on %.80r", notice.method)
        finally:
            self._notices -= 1

    async def _noticed(self, notice: Notice, call: Inbound) -> None:
        if self._agreeing is not None:
            await self._agreeing.wait()
        known, agreed = NOTIFICATIONS.get(notice.method), self.session.agreed
        try:
            params = NotificationParams() if known is None else known.decode_params(notice.params)
        except (msgspec.DecodeError, RecursionError) as error:
            logger.debug("dropped a malformed %.80r: %s", notice.method, excerpt(error))
            return
        if agreed is None:
            return
        context = Context(self.server, call.peer, call, agreed, params.meta)
        current.set(context)

        async def take(params: Any) -> None:
            Answering.hear(self, notice)

        await self.server.middleware.run(Incoming(notice.method, params, context, notice=True), take)


class _Leg(Context):
    """One request of a call that may take several: its handler has a context of its own, which goes on in the next."""

    __slots__ = ()

    @property
    def asker(self) -> Asker:
        """Nobody: the client would be asked anew in each request, and none would be the last.

        Raises:
            AskFailed: Always.
        """
        raise AskFailed(METHOD_NOT_FOUND, "request_middleware cannot ask the client: `middleware` can, once for a call")


class _Answer:
    """What a request is answered with: decoded for the middleware, and sent as it came where that leaves it so."""

    __slots__ = ("_came", "_get", "_method", "_read")

    def __init__(self, method: str, get: Callable[[], Awaitable[Any]]) -> None:
        self._method = method
        self._get = get
        self._came: Any = None
        self._read: Any = None

    async def get(self, params: Any) -> Any:
        """Return it, decoded."""
        self._came = self._read = await self._get()
        if isinstance(self._came, Raw):
            self._read = REQUESTS[self._method].decode_outcome(self._came)
        return self._read

    def to_send(self, outcome: Any) -> Any:
        """Return what goes out for what the middleware has returned."""
        return self._came if outcome is self._read else outcome
