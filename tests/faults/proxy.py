"""A proxy on loopback between a client and a server of HTTP, which does what a `Line` says.

async with through(port, line) as proxy:
    ... f"http://127.0.0.1:{proxy.port}/mcp"
"""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream

from tests.faults.line import Direction, Line, Shuffle

__all__ = ("Proxy", "through")

LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
# Closing then sends a reset, as a machine does that has lost its power and comes back.
NO_LINGER = struct.pack("ii", 1, 0)


class Proxy:
    """The connections that go through here.

    Args:
        target: The server's port.
        line: What happens to their bytes.
        port: Where it listens.
        shuffle: Holds each piece back for a moment that this chooses, so that what went over different
            connections arrives in another order; None to pass all on at once.
    """

    def __init__(self, target: int, line: Line, port: int, shuffle: Shuffle | None = None) -> None:
        self.line = line
        self.port = port
        self._target = target
        self._shuffle = shuffle
        self._open: set[SocketStream] = set()

    async def relay(self, client: SocketStream) -> None:
        """Carry one connection, until either side ends it or it is cut."""
        if self.line.down:
            await self._close(client)
            return
        try:
            server = await anyio.connect_tcp("127.0.0.1", self._target)
        except OSError:
            await self._close(client)
            return
        if self.line.down:  # since then, and what was open has been closed
            await self._close(client)
            await self._close(server)
            return
        self._open |= {client, server}
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._carry, "up", client, server, group.cancel_scope)
                group.start_soon(self._carry, "down", server, client, group.cancel_scope)
        finally:
            self._open -= {client, server}
            await self._close(client)
            await self._close(server)

    async def _carry(
        self, direction: Direction, one: SocketStream, other: SocketStream, over: anyio.CancelScope
    ) -> None:
        with suppress(*LOST):
            while True:
                pieces, is_cut = self.line.carry(direction, await one.receive())
                for piece in pieces:
                    if self._shuffle is not None:
                        await anyio.sleep(self._shuffle())
                    await other.send(piece)
                if is_cut:
                    break
        if self.line.down:
            for each in list(self._open):
                await self._close(each)
        over.cancel()

    async def _close(self, stream: SocketStream) -> None:
        raw = stream.extra(SocketAttribute.raw_socket)
        with anyio.CancelScope(shield=True), suppress(*LOST):
            if self.line.is_cut:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            await stream.aclose()


@asynccontextmanager
async def through(target: int, line: Line, shuffle: Shuffle | None = None) -> AsyncGenerator[Proxy]:
    """Let connections to one port go to another, and be cut with the end of the context."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(SocketAttribute.local_port)
        proxy = Proxy(target, line, port, shuffle)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, proxy.relay)
            yield proxy
            group.cancel_scope.cancel()
