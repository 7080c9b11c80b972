"""A way to a server that can be watched, cut and blocked."""

from __future__ import annotations

import anyio

from dedalus_mcp import MCPServer
from dedalus_mcp.reaching import open_target
from dedalus_mcp.transport import Duplex

__all__ = ("Line",)


class Line:
    """A `Target` that leads to a server in this process.

    Attributes:
        opened: The connections that were made.
        down: Whether none can be made now.
        stuck: Whether none is made, or refused, for ever.
        slow: What each waits for, while it is made; None for nothing.
        tried: How many were begun.
    """

    never_silent = True

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self.opened: list[Duplex] = []
        self.down = False
        self.stuck = False
        self.slow: anyio.Event | None = None
        self.tried = 0

    async def open(self) -> Duplex:
        """Connect."""
        self.tried += 1
        if self.stuck:
            await anyio.sleep_forever()
        if self.down:
            raise ConnectionRefusedError("nobody is there")
        if self.slow is not None:
            await self.slow.wait()
        duplex = await open_target(self._server).open()
        self.opened.append(duplex)
        return duplex

    async def cut(self) -> None:
        """End all connections."""
        for duplex in self.opened:
            await duplex.aclose()
