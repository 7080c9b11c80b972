"""Opens whatever a client can connect to.

Layer: L6; transports are imported where they are used.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import anyio

from dedalus_mcp.client.configuration import HttpEntry, ServerEntry
from dedalus_mcp.jsonrpc.tasks import Tasks, ends_the_task
from dedalus_mcp.run import conversation, is_target
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.transport import Duplex, Received, Target

if TYPE_CHECKING:
    from dedalus_mcp.client.connecting import Connectable

__all__ = ("InMemory", "open_target", "target_of")

logger = logging.getLogger("dedalus_mcp")


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
                    await conversation(server, far).run()
        except BaseException as error:
            if ends_the_task(error):
                raise
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
        raise TypeError(
            f"headers=, auth= and http_client= go with a URL, not with {type(target).__name__}; "
            "StreamableHttp(url, ...) takes them itself"
        )
    if isinstance(target, MCPServer):
        return InMemory(target)
    if isinstance(target, type):
        raise TypeError(f"cannot connect to the class {target.__name__}: make one of it, {target.__name__}(...)")
    if isinstance(target, str | os.PathLike):
        raise TypeError(
            f"cannot connect to {target!r:.200}: URLs begin with http:// or https://; "
            "to start a server, pass StdioServer(command, args)"
        )
    if is_target(target):
        return target
    if callable(getattr(target, "receive", None)) and callable(getattr(target, "send", None)):
        return _Once(cast("Duplex", target))
    raise TypeError(
        f"cannot connect to {type(target).__name__}: legal are a URL, a StdioServer, an MCPServer, "
        "a connection (Duplex) or something that opens connections (Target)"
    )


def target_of(
    entry: ServerEntry, *, headers: Mapping[str, str] | None = None, auth: Any = None, http_client: Any = None
) -> Target:
    """Return what an entry of a configuration stands for.

    Args:
        entry: The entry.
        headers: See `StreamableHttp`, as for the next two; the entry's own count more.
        auth: See there.
        http_client: See there.

    Raises:
        TypeError: It is a program, and what is for a URL came with it.
        ValueError: Its URL is none.
    """
    if isinstance(entry, HttpEntry):
        from dedalus_mcp_transports.http_client import HttpSse, StreamableHttp  # noqa: PLC0415 - loaded when used

        kind = HttpSse if entry.sse else StreamableHttp
        return kind(entry.url, headers={**(headers or {}), **entry.headers}, auth=auth, http_client=http_client)
    if not (headers is None and auth is None and http_client is None):
        raise TypeError("headers=, auth= and http_client= go with a URL, and this is a program")
    from dedalus_mcp_transports.stdio import StdioServer  # noqa: PLC0415 - likewise

    return StdioServer(entry.command, entry.args, env=entry.env, cwd=entry.cwd)


class _Once:
    """A connection that is there already; it can be taken once."""

    def __init__(self, duplex: Duplex) -> None:
        self._duplex: Duplex | None = duplex

    async def open(self) -> Duplex:
        duplex, self._duplex = self._duplex, None
        if duplex is None:
            raise ConnectionError("this connection was used already; pass a Target to connect again")
        return duplex
