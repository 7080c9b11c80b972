"""Joins servers, clients and transports: the only place that knows all three.

    serve(server, "stdio")     a program that a desktop client starts
    open_target(target)        whatever a client can connect to, opened

Layer: L6; transports are imported where they are used.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import anyio
import msgspec
from anyio.abc import TaskStatus

from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.session import ServerSession, Terms
from dedalus_mcp.transport import Channel, Duplex, Host, Received, Receiver, Target
from dedalus_mcp.types.revisions import V2025_03_26

if TYPE_CHECKING:
    from dedalus_mcp.client.connecting import Connectable
    from dedalus_mcp_transports.http_serve import HttpServer
    from dedalus_mcp_transports.http_server import HttpApp
    from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("Hosted", "InMemory", "asgi_app", "open_target", "run", "serve", "serve_duplex")

Transport: TypeAlias = str | Host | Target | Duplex
"""What a server can be served on: a transport by name, or an object that is one."""

logger = logging.getLogger("dedalus_mcp")

# A sync tool may be in the middle of something when the client goes.  It gets this long, in
# seconds, before `run` leaves it behind: a thread cannot be stopped, only left.
THREAD_GRACE_SECONDS = 1.0
# A coroutine that swallows its cancellation keeps the event loop from ending; it gets this long.
LOOP_GRACE_SECONDS = 1.0


def run(server: MCPServer, transport: Transport = "stdio", settings: Mapping[str, Any] | None = None) -> None:
    """Serve as a whole program: see `MCPServer.run`."""
    opened = _opened(server, transport, settings or {})
    if _is_host(opened) and getattr(opened, "workers", 1) > 1:
        cast("HttpServer", opened).prefork(Hosted(server), partial(_run_program, server))
    else:
        _run_program(server, opened)


def _run_program(server: MCPServer, opened: Host | Target | Duplex) -> None:
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
    elif _is_target(opened):
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
        from dedalus_mcp_transports.stdio import ServerStdio  # noqa: PLC0415 - likewise

        return ServerStdio()
    if isinstance(transport, str):
        raise ValueError(
            f"Unsupported transport {transport!r:.80}; legal are 'stdio', 'streamable-http', or a transport object"
        )
    if _is_host(transport):
        from dedalus_mcp_transports.http_serve import HttpServer  # noqa: PLC0415 - likewise

        if isinstance(transport, HttpServer):
            return msgspec.structs.replace(transport, settings=_completed(server, transport.settings))
    return transport


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
    return {"use_uvloop": _is_host(opened) and find_spec("uvloop") is not None}


def _is_host(transport: object) -> TypeGuard[Host]:
    return callable(getattr(transport, "serve", None))


def _is_target(transport: object) -> TypeGuard[Target]:
    return callable(getattr(transport, "open", None))


async def serve_duplex(server: MCPServer, duplex: Duplex) -> None:
    """Serve one client on one connection, until it ends."""
    try:
        async with server.running():
            await _conversation(server, duplex).run(drain=server.config.drain_seconds)
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
            try:
                yield value
            finally:
                await self._server.parkings.here().aclose()


class _HostedConversation:
    __slots__ = ("_answering", "_peer")

    def __init__(
        self, server: MCPServer, channel: Channel, session: ServerSession | None = None, mark: str = ""
    ) -> None:
        self._answering = server.answering(session)
        self._peer = Peer(self._answering, channel, answers_malformed=True, limits=server.config.limits, mark=mark)
        if session is not None:
            self._peer.batches = self.revision == V2025_03_26

    @property
    def agreed(self) -> Terms | None:
        return self._answering.agreed

    @property
    def revision(self) -> str | None:
        return self._answering.revision

    def take(self, message: Decoded, channel: Channel) -> None:
        self._peer.take(message, channel)

    def lose(self, reason: str) -> None:
        self._peer.lose(reason)

    def drain(self) -> None:
        self._peer.drain()

    def close(self, reason: str) -> None:
        self._peer.close(reason)

    async def idle(self) -> None:
        await self._peer.idle()


def asgi_app(server: MCPServer, bound_host: str | None, settings: Mapping[str, Any]) -> HttpApp:
    """Make the ASGI application of a server: see `MCPServer.asgi_app`."""
    from dedalus_mcp_transports.http_options import http_settings  # noqa: PLC0415 - loaded where it is used
    from dedalus_mcp_transports.http_server import HttpApp  # noqa: PLC0415 - likewise

    return HttpApp(Hosted(server), _completed(server, http_settings(settings)), bound_host=bound_host)


def _conversation(server: MCPServer, duplex: Duplex) -> Conversation:
    return Conversation(server.answering(), duplex, answers_malformed=True, limits=server.config.limits)


async def _serve_until_stopped(server: MCPServer, duplex: Duplex) -> None:
    """Serve on a connection that is the program's own, so that a signal to the program ends it."""
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            conversation = _conversation(server, duplex)
            # Before the lifespan begins: a signal meanwhile stops it, and what it has set up is taken down.
            await group.start(_stop_at_signal, conversation, group.cancel_scope)
            try:
                async with server.running():
                    await conversation.run(drain=server.config.drain_seconds)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - raised below, out of the group as itself
                failure = error
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await duplex.aclose()
    if failure is not None:
        raise failure


async def _stop_at_signal(
    conversation: Conversation, scope: anyio.CancelScope, *, task_status: TaskStatus[None]
) -> None:
    try:
        receiver = anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)
        with receiver as signals:
            task_status.started()
            async for number in signals:
                await conversation.end_lasting()
                conversation.stop(f"the server was stopped by {number.name}")
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


# Opening what a client connects to.


class InMemory:
    """A server in the same process, as a `Target`: every connection is a pair in memory.

    Args:
        server: The server.
    """

    def __init__(self, server: MCPServer) -> None:
        self._server = server

    async def open(self) -> Duplex:
        """Start serving the other end.

        Raises:
            Exception: What the server's lifespan raised.
        """
        from dedalus_mcp_transports.memory import pair  # noqa: PLC0415 - loaded where it is used

        near, far = pair()
        return await _Served(near).start(self._server, far)


class _Served:
    """The client's end of a pair whose other end is served; closing it waits for that to be over."""

    def __init__(self, near: Duplex) -> None:
        self._near = near
        self._tasks = Tasks()
        self._scope = anyio.CancelScope()
        self._ready = anyio.Event()
        self._error: BaseException | None = None

    async def start(self, server: MCPServer, far: Duplex) -> _Served:
        self._tasks.start(lambda: self._serve(server, far), self._ready.set, detached=True)
        try:
            await self._ready.wait()
        except BaseException:
            self._scope.cancel()
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise
        if self._error is not None:
            raise self._error
        return self

    async def receive(self) -> Sequence[Received]:
        return await self._near.receive()

    async def send(self, frames: Sequence[bytes]) -> None:
        await self._near.send(frames)

    async def aclose(self) -> None:
        await self._near.aclose()
        await self._tasks.wait()

    async def _serve(self, server: MCPServer, far: Duplex) -> None:
        try:
            with self._scope:
                async with server.running():
                    self._ready.set()
                    await _conversation(server, far).run()
        except (Exception, SystemExit) as error:
            self._error = error
            if self._ready.is_set():  # who connected is served, and not to be blamed
                logger.exception("the lifespan of server %r failed", server.name)
        finally:
            with anyio.CancelScope(shield=True):
                await far.aclose()


def open_target(
    target: Connectable, *, headers: Mapping[str, str] | None = None, auth: Any = None, http_client: Any = None
) -> Target:
    """Return the `Target` that `target` is or stands for.

    Args:
        target: What to connect to.
        headers: See `StreamableHttp`; for a URL only, as the next two.
        auth: See there.
        http_client: See there.

    Raises:
        TypeError: It is nothing that can be connected to, or what is for a URL came without one.
        ValueError: It is no URL, though it begins like one.
    """
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        from dedalus_mcp_transports.http_client import StreamableHttp  # noqa: PLC0415 - loaded where it is used

        return StreamableHttp(target, headers=headers, auth=auth, http_client=http_client)
    if not (headers is None and auth is None and http_client is None):
        raise TypeError("headers=, auth= and http_client= go with a URL")
    if isinstance(target, MCPServer):
        return InMemory(target)
    if isinstance(target, type):
        raise TypeError(f"cannot connect to the class {target.__name__}: make one of it, {target.__name__}(...)")
    if isinstance(target, str | os.PathLike):
        raise TypeError(
            f"cannot connect to {target!r:.200}: URLs begin with http:// or https://; "
            "to start a server, pass StdioServer(command, args)"
        )
    if _is_target(target):
        return target
    if callable(getattr(target, "receive", None)) and callable(getattr(target, "send", None)):
        return _Once(cast("Duplex", target))
    raise TypeError(
        f"cannot connect to {type(target).__name__}: legal are a URL, a StdioServer, an MCPServer, "
        "a connection (Duplex) or something that opens connections (Target)"
    )


class _Once:
    """A connection that is there already; it can be taken once."""

    def __init__(self, duplex: Duplex) -> None:
        self._duplex: Duplex | None = duplex

    async def open(self) -> Duplex:
        duplex, self._duplex = self._duplex, None
        if duplex is None:
            raise ConnectionError("this connection was used already; pass a Target to connect again")
        return duplex
