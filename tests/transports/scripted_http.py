"""An HTTP server that does what a test says, byte by byte.

async with scripted(script) as server:      `await script(asked, talk)` for every request
    async with MCPClient.connect(server.url) as client: ...
    server.asked                            every request, in order

It speaks just enough HTTP/1.1 for an honest client; what it says may be as wrong as it likes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from dedalus_mcp.client.opening import remembered
from dedalus_mcp_transports.http_client import StreamableHttp

__all__ = ("SESSION", "Asked", "Script", "ScriptedHttp", "Talk", "answering", "event", "legacy", "scripted")

SESSION = "session-1"
NEWEST = "2026-07-28"
INFO = {"name": "scripted", "version": "1"}


class Asked:
    """One request."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def message(self) -> dict[str, Any]:
        """Its JSON-RPC message; empty if there is none."""
        found: Any = json.loads(self.body) if self.body else {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    @property
    def what(self) -> str:
        """The JSON-RPC method, or else the HTTP method."""
        return str(self.message.get("method", self.method))


class Talk:
    """The connection that a request came on."""

    def __init__(self, stream: SocketStream, asked: Asked) -> None:
        self._stream = stream
        self._asked = asked
        self.keeps_alive = False

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send(data)

    async def answer(self, status: int, body: Any = b"", **headers: str) -> None:
        """Send a whole answer, JSON unless it is bytes; headers are named with underscores."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("content_type", "application/json")
        lines = [f"HTTP/1.1 {status} Scripted", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.keeps_alive = True
        await self.raw("\r\n".join((*lines, "", "")).encode() + body)

    async def result(self, result: Any, **headers: str) -> None:
        """Answer the call with this result."""
        await self.answer(200, self.reply(result), **headers)

    async def refuse(self, status: int, code: int, message: str, data: Any = None, id: Any = ...) -> None:
        """Answer the call with a JSON-RPC error."""
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        own = self._asked.message.get("id") if id is ... else id
        await self.answer(status, {"jsonrpc": "2.0", "id": own, "error": error})

    def reply(self, result: Any) -> dict[str, Any]:
        """Return the reply to the call."""
        return {"jsonrpc": "2.0", "id": self._asked.message.get("id"), "result": result}

    async def stream(self, *events: bytes, **headers: str) -> None:
        """Begin an event stream, which ends with the connection."""
        lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join((*lines, "", "")).encode() + b"".join(events))

    async def gone(self) -> None:
        """Return when the client has left."""
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await self._stream.receive()


def event(message: Any, id: str | None = None) -> bytes:
    """Return an event with this message."""
    head = b"" if id is None else b"id: " + id.encode() + b"\n"
    return head + b"data: " + (b"" if message is None else json.dumps(message).encode()) + b"\n\n"


Script = Callable[[Asked, Talk], Awaitable[object]]


class ScriptedHttp:
    """The server.

    Attributes:
        url: Where it is.
        asked: Every request, in order.
        open: How many connections there are now.
        made: How many were made.
        most: How many there were at once, at most.
    """

    def __init__(self, script: Script, port: int) -> None:
        self._script = script
        self._news = anyio.Event()
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.asked: list[Asked] = []
        self.open = 0
        self.made = 0
        self.most = 0

    def count(self, what: str) -> int:
        """Return how many requests of one kind there were."""
        return sum(asked.what == what for asked in self.asked)

    async def until(self, what: str, times: int = 1) -> Asked:
        """Return the request of that kind that is the n-th, once it is there."""
        while self.count(what) < times:
            await self._news.wait()
        return [asked for asked in self.asked if asked.what == what][times - 1]

    async def serve(self, stream: SocketStream) -> None:
        self.open += 1
        self.made += 1
        self.most = max(self.most, self.open)
        try:
            async with stream:
                with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                    while await self._serve_one(stream):
                        pass
        finally:
            self.open -= 1

    async def _serve_one(self, stream: SocketStream) -> bool:
        buffered = BufferedByteReceiveStream(stream)
        head = (await buffered.receive_until(b"\r\n\r\n", 65536)).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await buffered.receive_exactly(int(headers.get("content-length", "0")))
        asked = Asked(method, path, headers, body)
        self.asked.append(asked)
        self._news.set()
        self._news = anyio.Event()
        talk = Talk(stream, asked)
        await self._script(asked, talk)
        return talk.keeps_alive


@asynccontextmanager
async def scripted(script: Script) -> AsyncGenerator[ScriptedHttp]:
    """Serve a script on a port of this machine; every wait in the body ends after ten seconds."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = ScriptedHttp(script, listener.extra(SocketAttribute.local_port))
    remembered.forget(StreamableHttp(server.url))  # another server may have had this port before
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, server.serve)
        with anyio.fail_after(20):
            yield server
        group.cancel_scope.cancel()


async def legacy(asked: Asked, talk: Talk, *, revision: str = "2025-11-25", session: str | None = SESSION) -> bool:
    """Answer what belongs to the life of a legacy session; False for all else."""
    match asked.what:
        case "server/discover":
            await talk.refuse(400, -32000, "Bad Request: Mcp-Session-Id header is required", id=None)
        case "initialize":
            result: dict[str, Any] = {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": INFO}
            await talk.result(result, **({} if session is None else {"mcp_session_id": session}))
        case "notifications/initialized" | "notifications/cancelled":
            await talk.answer(202)
        case "GET":
            await talk.answer(405)
        case "DELETE":
            await talk.answer(204)
        case _:
            return False
    return True


def answering(then: Script, revision: str = "2025-11-25") -> Script:
    """A server of one revision whose tool calls do what `then` says."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover" and revision == NEWEST:
            await talk.result({"resultType": "complete", "supportedVersions": [NEWEST], "capabilities": {"tools": {}}})
        elif not await legacy(asked, talk, revision=revision):
            await then(asked, talk)

    return script
