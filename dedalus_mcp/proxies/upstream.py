"""The upstream server, as one event loop uses it: which connection carries what, and what is heard of it.

    the one connection         what is listed, watched, and changes; calls that need no other
    a client's own connection  calls of a client that may be asked by a legacy server, or wants its logs

A legacy server may keep things for a session, so a session of ours has one there; a client without a
session has one for each call.  A server of 2026-07-28 keeps nothing, and asks in the results of the call.

Layer: L6.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple, TypeVar

import anyio
import msgspec

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.notices import ListChangedHandler
from dedalus_mcp.client.settings import ClientSettings
from dedalus_mcp.client.timeouts import Default, TimeoutLike
from dedalus_mcp.errors import INTERNAL_ERROR, DedalusError, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.proxies.connections import Connect, Connection, OwnConnection
from dedalus_mcp.proxies.face import Face
from dedalus_mcp.proxies.failures import told
from dedalus_mcp.proxies.relaying import Relayed, in_rounds, relay
from dedalus_mcp.server.changes import Change, updated
from dedalus_mcp.server.context import Context, active_context
from dedalus_mcp.types import RequestParams
from dedalus_mcp.types.meta import LOG_LEVEL_KEY, PROGRESS_TOKEN_KEY
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.revisions import META_KEYS, MODERN

__all__ = ("Rules", "Upstream")

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")

CLOSING_SECONDS = 10.0
"""How long the connections of clients may take to end, with the proxy; a process is killed before that."""

ATTEMPT_SECONDS = 300.0
"""How long connecting may go on when whoever asked has left: some programs are installed at their first start."""


class Rules(NamedTuple):
    """How an upstream server is used.

    Attributes:
        max_own: Connections of clients' own, at most; none are made if it is 0.
        given: Whether the one connection is somebody else's: it hears of no changes, and is not ended here.
        alike: Whether all connections lead to the same server; with stdio, each starts one of its own.
        timeout: How long a call may take; the client's own if not given.
        masked: Whether our clients read nothing of why a connection was lost: see `ServerConfig.mask_errors`.
    """

    max_own: int
    given: bool
    alike: bool
    timeout: TimeoutLike | Default
    masked: bool


class Upstream:
    """The upstream server.

    Args:
        name: Of the proxy.
        connect: Connects to it.
        face: Shows what it offers.
        hear: Told what changes there.
        rules: How it is used.
    """

    def __init__(self, name: str, connect: Connect, face: Face, hear: Callable[[Change], None], rules: Rules) -> None:
        self._name = name
        self._connect = connect
        self._face = face
        self._hear = hear
        self._rules = rules
        self._main = Connection(self._open, given=rules.given)
        self._own: dict[Peer, OwnConnection] = {}
        self._for_one_call = 0
        self._tasks = Tasks()
        self._attempt: _Attempt | None = None
        self._watched: Counter[str] = Counter()
        self._watching = anyio.Lock()

    async def open(self) -> None:
        """Connect, and find out what there is.

        Raises:
            Exception: See `MCPClient.connect`.
        """
        await self._patiently()

    async def aclose(self) -> None:
        """End all connections."""
        if self._attempt is not None:
            self._attempt.scope.cancel()
        for peer in list(self._own):
            self._leave(peer)
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            await self._main.aclose()
            await self._tasks.wait()

    async def forward(self, method: Method[P, R], params: P) -> R:
        """Make the request of the call that is being answered, or of nobody's, and return its result.

        Raises:
            McpError: The server's own error; see `told` for the others.
        """
        context, timeout = active_context(), self._rules.timeout
        with self._told(modern=context is None or context.modern):
            if context is None:
                return await (await self._main.client()).request(method, params, timeout=timeout)
            async with self._connection(context) as connection:

                async def work(call: Relayed) -> R:
                    if isinstance(connection, OwnConnection):
                        client = await connection.ready(context)
                    else:
                        client = await connection.client()
                    asked = msgspec.structs.replace(params, meta=_meta(context, client))
                    if client.revision in MODERN:
                        return await in_rounds(client, method, asked, call, timeout)
                    progress = call.hear if context.progress_token is not None else None
                    return await client.request(method, asked, timeout=timeout, progress=progress)

                return await relay(context, connection.calls, work)

    @asynccontextmanager
    async def watched(self, uri: str) -> AsyncGenerator[None]:
        """Hear of the changes of a resource meanwhile.

        Raises:
            McpError: The server does not tell of it, or see `told`.
        """
        with self._told():
            async with self._watching:
                if not self._watched[uri]:
                    await (await self._main.client()).subscribe_resource(uri)
                self._watched[uri] += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._unwatch(uri)

    async def refresh(self, method: str) -> None:
        """List anew what a request of this method lists, where the server does not say when that changes.

        Raises:
            McpError: See `told`.
        """
        with self._told():
            client = await self._patiently()
            theirs = client.server_capabilities
            kind = method.partition("/")[0]
            offered = getattr(theirs, kind)
            if not self._rules.given and offered is not None and offered.listChanged:
                return
            read = {"tools": self._face.read_tools, "prompts": self._face.read_prompts}
            await read.get(kind, self._face.read_resources)(client)

    def _told(self, *, modern: bool = True) -> AbstractContextManager[None]:
        return told(self._name, modern=modern, masked=self._rules.masked)

    # Connections.

    async def _patiently(self) -> MCPClient:
        """Return the client of the one connection, which is made to its end even if whoever waits for it leaves."""
        if not self._main.there:
            if self._attempt is None:
                self._attempt = _Attempt()
                self._tasks.start(partial(self._try, self._attempt), detached=True)
            attempt = self._attempt
            await attempt.over.wait()
            if attempt.error is not None:
                raise attempt.error
        return await self._main.client()

    async def _try(self, attempt: _Attempt) -> None:
        try:
            with attempt.scope:
                await self._main.client()
        except Exception as error:  # noqa: BLE001 - raised by who waits for it
            attempt.error = error
        finally:
            self._attempt = None
            attempt.over.set()

    @asynccontextmanager
    async def _connection(self, context: Context) -> AsyncGenerator[Connection]:
        """Give the connection that carries a call."""
        main = await self._main.client()
        logs = context.terms.log_level is not None and main.server_capabilities.logging is not None
        peer = context.peer
        spared = main.revision in MODERN and (not logs or (self._full and peer not in self._own))  # logs are no need
        if not self._rules.max_own or spared:
            yield self._main
            return
        if context.call.channel.carrier is None or (context.terms.lasting and not context.modern):
            if (own := self._own.get(peer)) is None:
                self._own[peer] = own = self._new(context)
                peer.at_end(lambda: self._leave(peer))
            yield own
            return
        connection = self._new(context)
        self._for_one_call += 1
        try:
            yield connection
        finally:
            self._for_one_call -= 1
            with anyio.CancelScope(shield=True):
                await connection.aclose()

    @property
    def _full(self) -> bool:
        return len(self._own) + self._for_one_call >= self._rules.max_own

    def _new(self, context: Context) -> OwnConnection:
        if self._full:
            raise McpError(
                INTERNAL_ERROR, f"Too many connections to the upstream server: {self._rules.max_own} are the limit"
            )
        if self._rules.alike:
            return OwnConnection(self._connect, context, ())

        async def connect(settings: ClientSettings) -> MCPClient:
            heard = self._telling(connection)
            heard.update(settings)
            return await self._connect(heard)

        connection = OwnConnection(connect, context, self._watched.keys())
        return connection

    def _leave(self, peer: Peer) -> None:
        """The client is gone, and so is what the server kept for it."""
        connection = self._own.pop(peer, None)
        if connection is not None:
            self._tasks.start(connection.aclose, detached=True)

    async def _open(self) -> MCPClient:
        client = await self._connect(self._telling(self._main))
        try:
            await self._face.read(client)
            for uri in list(self._watched):
                with suppress(McpError):  # it may be gone, and the rest is not
                    await client.subscribe_resource(uri)
                self._hear(updated(uri))  # nobody says what was missed
        except BaseException:
            if not self._rules.given:
                with anyio.CancelScope(shield=True):
                    await client.close()
            raise
        return client

    # What changes there.

    def _telling(self, connection: Connection) -> ClientSettings:
        """What is heard on a connection."""

        def reading(read: Callable[[MCPClient], Awaitable[None]]) -> ListChangedHandler:
            async def read_again() -> None:
                try:
                    await read(await connection.client())
                except (DedalusError, OSError) as error:
                    logger.warning("%r: what there is upstream now cannot be listed: %s", self._name, excerpt(error))
                except Exception:
                    logger.exception("%r: what there is upstream now cannot be shown", self._name)

            return _Latest(read_again, self._tasks).wanted

        return ClientSettings(
            tools_list_changed=reading(self._face.read_tools),
            prompts_list_changed=reading(self._face.read_prompts),
            resources_list_changed=reading(self._face.read_resources),
            resource_updated=lambda params: self._hear(updated(params.uri)),
        )

    async def _unwatch(self, uri: str) -> None:
        async with self._watching:
            self._watched[uri] -= 1
            if self._watched[uri]:
                return
            del self._watched[uri]
            with anyio.move_on_after(CLOSING_SECONDS), suppress(DedalusError, OSError):
                await (await self._main.client()).unsubscribe_resource(uri)


class _Attempt:
    """The making of the one connection, for all who wait for it."""

    __slots__ = ("error", "over", "scope")

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.over = anyio.Event()
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + ATTEMPT_SECONDS)


class _Latest:
    """Does something for the latest of many notices: once for all that come while it is done before."""

    def __init__(self, work: Callable[[], Awaitable[None]], tasks: Tasks) -> None:
        self._work = work
        self._tasks = tasks
        self._wanted = False
        self._running = False

    def wanted(self, notice: object) -> None:
        """There is something new."""
        self._wanted = True
        if not self._running:
            self._running = True
            self._tasks.start(self._run, detached=True)

    async def _run(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                await self._work()
        finally:
            self._running = False


def _meta(context: Context, client: MCPClient) -> dict[str, object] | None:
    """The `_meta` of our client's request, without what belongs to its conversation with us."""
    ours = {*META_KEYS, PROGRESS_TOKEN_KEY}
    meta: dict[str, object] = {key: value for key, value in context.meta.items() if key not in ours}
    if client.revision in MODERN and context.terms.log_level is not None:
        meta[LOG_LEVEL_KEY] = context.terms.log_level
    return meta or None
