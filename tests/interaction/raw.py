"""Scripted peers: they say exactly what they are told, and keep every message that they get.

async with serving(server) as raw:          a scripted client of a real server
    await raw.open("2025-06-18")
    reply = await raw.call(1, "tools/list")

Scripted(group, script)                     a target whose far end is a script, for a real client
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from dedalus_mcp import MCPServer
from dedalus_mcp.run import open_target
from dedalus_mcp.transport import Duplex, Target
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.memory import pair

__all__ = ("INFO", "Raw", "Scripted", "envelope", "serving")

INFO = {"name": "raw", "version": "1"}

Message = dict[str, Any]


def envelope(revision: str = "2026-07-28", capabilities: Message | None = None) -> Message:
    """The `_meta` that a request of 2026-07-28 must carry."""
    return {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }


class Raw:
    """One end of a conversation.

    Attributes:
        heard: Every message that arrived, in order.
        frames: The same, as bytes.
    """

    def __init__(self, duplex: Duplex) -> None:
        self._duplex = duplex
        self._unread: list[Message] = []
        self._meta: Message = {}
        self._barriers = 0
        self.heard: list[Any] = []
        self.frames: list[bytes] = []

    async def say(self, *messages: Any) -> None:
        """Send messages: bytes as they are, the rest as JSON; mappings get the version of JSON-RPC."""
        await self._duplex.send([_frame(message) for message in messages])

    async def hear(self) -> Any:
        """Return the next message that nobody has returned yet."""
        if not self._unread:
            for frame in await self._duplex.receive():
                assert isinstance(frame, bytes)
                self.frames.append(frame)
                self._unread.append(json.loads(frame))
            self.heard += self._unread
        return self._unread.pop(0)

    async def hear_method(self, method: str) -> Message:
        """Return the next message with that method, dropping those before it."""
        while (message := await self.hear()).get("method") != method:
            pass
        return dict(message)

    async def begin(self, id: Any, method: str, params: Message | None = None, **members: Any) -> None:
        """Send a request in the words of the open revision, and wait for nothing."""
        given = {**(params or {}), **members}
        if self._meta:
            given["_meta"] = {**self._meta, **given.get("_meta", {})}
        await self.say({"id": id, "method": method, **({"params": given} if given else {})})

    async def reply(self, id: Any) -> Message:
        """Return the reply to a request, dropping what comes before it."""
        while not _answers(message := await self.hear(), id):
            pass
        return dict(message)

    async def call(self, id: Any, method: str, params: Message | None = None, **members: Any) -> Message:
        """Send a request and return its reply."""
        await self.begin(id, method, params, **members)
        return await self.reply(id)

    async def tool(self, id: Any, name: str, /, **arguments: Any) -> Message:
        """Call a tool and return the whole reply."""
        return await self.call(id, "tools/call", name=name, arguments=arguments)

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.say({"method": method, **({"params": params} if params else {})})

    async def initialize(self, revision: str, capabilities: Message | None = None, id: Any = "init") -> Message:
        """Send `initialize` and return the reply."""
        return await self.call(
            id, "initialize", protocolVersion=revision, capabilities=capabilities or {}, clientInfo=INFO
        )

    async def open(self, revision: str, capabilities: Message | None = None) -> None:
        """Speak a revision from now on, with a handshake where it has one."""
        if revision in MODERN:
            self._meta = envelope(revision, capabilities)
            return
        self._meta = {}
        agreed = await self.initialize(revision, capabilities)
        assert agreed["result"]["protocolVersion"] == revision
        await self.notify("notifications/initialized")

    async def barrier(self) -> list[Message]:
        """Return all messages that come before the answer to a question asked now."""
        self._barriers += 1
        id = f"barrier {self._barriers}"
        await self.begin(id, "server/discover" if self._meta else "ping")
        before: list[Message] = []
        while not _answers(message := await self.hear(), id):
            before.append(message)
        return before

    async def close(self) -> None:
        """End the connection."""
        await self._duplex.aclose()


@asynccontextmanager
async def serving(target: MCPServer | Target) -> AsyncGenerator[Raw]:
    """Connect a scripted client to a server, in memory or as a child process."""
    raw = Raw(await open_target(target).open())
    try:
        yield raw
    finally:
        await raw.close()


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


def _answers(message: Any, id: object) -> bool:
    if not isinstance(message, dict) or "method" in message:
        return False
    given = cast("dict[str, object]", message).get("id")
    return given == id and type(given) is type(id)  # 1 and 1.0 are equal in Python, and different ids


def _frame(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, dict):
        message = {"jsonrpc": "2.0", **cast("Message", message)}
    return json.dumps(message).encode()
