"""The raw peers of `dedalus_mcp.testing`, as the tests here use them: without a clock of their own.

async with serving(server) as raw:          a raw client of a real server
    await raw.open("2025-06-18")
    reply = await raw.call(1, "tools/list")

Scripted(group, script)                     a target whose far end is a script, in the test's own task group
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import anyio
from anyio.abc import TaskGroup

from dedalus_mcp import MCPServer
from dedalus_mcp.testing.raw import INFO, Message, envelope, raw_client
from dedalus_mcp.testing.raw import RawPeer as Raw
from dedalus_mcp.transport import Duplex, Target
from dedalus_mcp_transports.memory import pair

__all__ = ("INFO", "Message", "Raw", "Scripted", "envelope", "serving")


def serving(target: MCPServer | Target) -> AbstractAsyncContextManager[Raw]:
    """Connect a raw client to a server, in memory or as a child process."""
    return raw_client(target, patience=None)


class Scripted:
    """A target for real clients whose far end is a script; each connection takes the next one."""

    def __init__(self, group: TaskGroup, *scripts: Callable[[Raw], Awaitable[None]]) -> None:
        self._group = group
        self._scripts = list(scripts)
        self.ends: list[Raw] = []

    async def open(self) -> Duplex:
        """Start the next script at the other end; the connection ends with it."""
        near, far = pair()
        raw = Raw(far)
        self.ends.append(raw)
        self._group.start_soon(self._run, self._scripts.pop(0), raw)
        return near

    async def _run(self, script: Callable[[Raw], Awaitable[None]], raw: Raw) -> None:
        try:
            await script(raw)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return  # the client has gone, which is not the script's business
        finally:
            await raw.close()
