"""Serves: joins servers and transports.  What clients connect to is opened in `reaching`.

    serve(server, "stdio")     a program that a desktop client starts

Layer: L6; transports are imported where they are used.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import anyio
import msgspec
from anyio.abc import TaskStatus

from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import current_loop
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.session import ServerSession, Terms
from dedalus_mcp.transport import Channel, Duplex, Host, Receiver, Target
from dedalus_mcp.types.revisions import V2025_03_26

if TYPE_CHECKING:
    from dedalus_mcp_transports.http_serve import HttpServer
    from dedalus_mcp_transports.http_server import HttpApp
    from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("Hosted", "asgi_app", "conversation", "is_target", "run", "serve", "serve_duplex")

Transport: TypeAlias = str | Host | Target | Duplex
"""What a server can be served on: a transport by name, or an object that is one."""

ENTRY_POINTS = "dedalus_mcp.transports"
"""Where distributions name transports: each is what makes one when it is called, without arguments."""

logger = logging.getLogger("dedalus_mcp")

# A sync tool may be in the middle of something when the client goes.  It gets this long, in
# seconds, before `run` leaves it behind: a thread cannot be stopped, only left.
THREAD_GRACE_SECONDS = 1.0
# A coroutine that swallows its cancellation keeps the event loop from ending; it gets this long.
LOOP_GRACE_SECONDS = 1.0


def run(server: MCPServer, transport: Transport = "stdio", settings: Mapping[str, Any] | None = None) -> None:
    """Serve as a whole program: see `MCPServer.run`."""
    if _loop_runs():
        raise RuntimeError("an event loop runs in this thread already: `await server.serve(...)` serves in it")
    opened = _opened(server, transport, settings or {})
    if _is_host(opened) and getattr(opened, "workers", 1) > 1:
        cast("HttpServer", opened).prefork(Hosted(server), partial(_run_program, server))
    else:
        _run_program(server, opened)


def _loop_runs() -> bool:
    try:
        current_loop()
    except RuntimeError:
        return False
    return True


def _run_program(server: MCPServer, opened: Host | Target | Duplex) -> None:
    gc.freeze()  # the program, as far as it is there now, is no garbage, and need not be looked through for any
    # From a thread, since the loop itself is what may be stuck.
    leaving = threading.Timer(THREAD_GRACE_SECONDS + LOOP_GRACE_SECONDS, os._exit, (0,))
    leaving.daemon = True
    try:
        anyio.run(_serve_program, server, opened, leaving.start, backend_options=_loop_for(opened))
    finally:
        leaving.cancel()


async def serve(server: MCPServer, transport: Transport = "stdio", settings: Mapping[str, Any] | None = None) -> None:
    """Serve until the client ends or the program is told to stop: see `MCPServer.serve`."""
    await _serve(server, _opened(server, transport, settings or {}))


async def _serve(server: MCPServer, opened: Host | Target | Duplex) -> None:
    if _is_host(opened):
        await opened.serve(Hosted(server))
    elif is_target(opened):
        await _serve_until_stopped(server, await opened.open())
    else:
        await serve_duplex(server, cast("Duplex", opened))


def _opened(server: MCPServer, transport: Transport, settings: Mapping[str, Any]) -> Host | Target | Duplex:
    """Return the transport that is meant, with the settings of the server where it has none of its own."""
    if transport in ("streamable-http", "streamable_http", "shttp", "http"):
        from dedalus_mcp_transports.http_options import http_server  # noqa: PLC0415 - loaded where it is used

        host = http_server(settings)
        return msgspec.structs.replace(host, settings=_completed(server, host.settings))
    if settings:
        named = repr(transport) if isinstance(transport, str) else type(transport).__name__
        raise TypeError(f"Unsupported settings for {named}: {', '.join(settings)}; they go with 'streamable-http'")
    if transport == "stdio":
        from dedalus_mcp_transports.stdio_server import ServerStdio  # noqa: PLC0415 - likewise

        return ServerStdio()
    if isinstance(transport, str):
        return _installed(transport)
    if _is_host(transport):
        from dedalus_mcp_transports.http_serve import HttpServer  # noqa: PLC0415 - likewise

        if isinstance(transport, HttpServer):
            return msgspec.structs.replace(transport, settings=_completed(server, transport.settings))
    return transport


def _installed(name: str) -> Host | Target | Duplex:
    """Return a transport of somebody else's by the name that its distribution gives it."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - loaded where it is used

    found = entry_points(group=ENTRY_POINTS)
    for point in found.select(name=name):
        made: Host | Target | Duplex = point.load()()
        return made
    legal = ", ".join(map(repr, ("stdio", "http", "streamable-http", *sorted(found.names))))
    raise ValueError(f"Unsupported transport {name!r:.80}; legal are {legal}, or a transport object")


def _completed(server: MCPServer, settings: HttpSettings) -> HttpSettings:
    """The settings of an application, and for those left open what the server or the environment says."""
    from dedalus_mcp_transports.http_options import keys_of_environment  # noqa: PLC0415 - loaded where it is used

    keys = settings.state_keys or server.state_keys or keys_of_environment(os.environ)
    if not server.state_keys:  # what it seals itself is sealed under the same
        server.seal_under(keys)
    security = settings.security or server.http_security
    return msgspec.structs.replace(settings, security=security, state_keys=keys)


def _loop_for(opened: Host | Target | Duplex) -> dict[str, Any]:
    """The faster event loop where it is installed, for what has many clients."""
    if not _is_host(opened):
        return {}
    from importlib.util import find_spec  # noqa: PLC0415 - loaded where it is used

    return {"use_uvloop": find_spec("uvloop") is not None}


def _is_host(transport: object) -> TypeGuard[Host]:
    return callable(getattr(transport, "serve", None))


def is_target(transport: object) -> TypeGuard[Target]:
    """Whether that opens connections."""
    return callable(getattr(transport, "open", None))


def _look_at(server: MCPServer) -> None:
    """Tell who has decorated functions and forgotten to register them, once all that sets up has run."""
    there = server.capabilities
    if not (server.includes or there.tools or there.prompts or there.resources or there.completions):
        logger.warning("server %r offers nothing: functions are registered by server.collect(...)", server.name)


async def serve_duplex(server: MCPServer, duplex: Duplex) -> None:
    """Serve one client on one connection, until it ends."""
    try:
        async with server.running():
            await conversation(server, duplex).run(drain=server.config.drain_seconds)
    finally:
        with anyio.CancelScope(shield=True):
            await duplex.aclose()


class Hosted:
    """A server as an `Application` for hosts of exchanges.

    Args:
        server: The server.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server

    def converse(self, channel: Channel) -> Receiver:
        """Begin a conversation."""
        return _HostedConversation(self._server, channel)

    def converse_once(self, channel: Channel, agreed: Terms | None, mark: str) -> Receiver:
        """Begin a conversation of which nothing is kept."""
        return _HostedConversation(self._server, channel, ServerSession(agreed, lasting=False), mark)

    def input_schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool; None if there is no such tool."""
        definition = self._server.tools.definition(tool)
        return None if definition is None else definition.inputSchema

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Any]:
        """Hold the server's lifespan open; calls that wait for their next round end before it does."""
        async with self._server.running() as value:
            _look_at(self._server)
            try:
                yield value
            finally:
                parking = self._server.parkings.known()
                if parking is not None:
                    await parking.aclose()


class _HostedConversation(Peer):
    """A peer of a server that a host of exchanges carries: a `Receiver`."""

    __slots__ = ("_answering",)

    def __init__(
        self, server: MCPServer, channel: Channel, session: ServerSession | None = None, mark: str = ""
    ) -> None:
        self._answering = answering = server.answering(session)
        super().__init__(answering, channel, answers_malformed=True, limits=server.config.limits, mark=mark)
        if session is not None:
            self.batches = self.revision == V2025_03_26

    @property
    def agreed(self) -> Terms | None:
        """The terms that the handshake agreed on."""
        return self._answering.agreed

    @property
    def revision(self) -> str | None:
        """The legacy revision that it agreed on."""
        return self._answering.revision


def asgi_app(server: MCPServer, bound_host: str | None, settings: Mapping[str, Any]) -> HttpApp:
    """Make the ASGI application of a server: see `MCPServer.asgi_app`."""
    from dedalus_mcp_transports.http_options import http_settings  # noqa: PLC0415 - loaded where it is used
    from dedalus_mcp_transports.http_server import HttpApp  # noqa: PLC0415 - likewise

    return HttpApp(Hosted(server), _completed(server, http_settings(settings)), bound_host=bound_host)


def conversation(server: MCPServer, duplex: Duplex) -> Conversation:
    """Return the conversation of a server on a connection, to be run."""
    return Conversation(server.answering(), duplex, answers_malformed=True, limits=server.config.limits)


async def _serve_until_stopped(server: MCPServer, duplex: Duplex) -> None:
    """Serve on a connection that is the program's own, so that a signal to the program ends it."""
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            talk = conversation(server, duplex)
            # Before the lifespan begins: a signal meanwhile stops it, and what it has set up is taken down.
            await group.start(_stop_at_signal, talk, group.cancel_scope)
            try:
                async with server.running():
                    _look_at(server)
                    await talk.run(drain=server.config.drain_seconds)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - raised below, out of the group as itself
                failure = error
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await duplex.aclose()
    if failure is not None:
        raise failure


async def _stop_at_signal(talk: Conversation, scope: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    try:
        receiver = anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)
        with receiver as signals:
            task_status.started()
            async for number in signals:
                await talk.end_lasting()
                talk.stop(f"the server was stopped by {number.name}")
                scope.cancel()
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not in the main thread
        task_status.started()


async def _serve_program(server: MCPServer, opened: Host | Target | Duplex, served: Callable[[], object]) -> None:
    await _serve(server, opened)
    served()
    pools = [each.threads for each in (server, *server.included())]
    with anyio.move_on_after(THREAD_GRACE_SECONDS):
        for threads in pools:
            await threads.idle()
    if any(threads.busy for threads in pools):
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # None without such a descriptor; closed; broken
                stream.flush()
        os._exit(0)  # the interpreter would wait for the thread, for ever if need be
