"""A client that speaks MCP by hand over httpx, with no code of ours but the parser of events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from dedalus_mcp_transports.sse import Events
from tests.interaction.raw import INFO, envelope
from tests.interaction.reach import PATIENCE

__all__ = ("MODERN", "Client", "Stream", "client_at")

MODERN = "2026-07-28"


class Stream:
    """A response that is being read, message by message."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_bytes()
        self.events = Events()
        self._unread: list[dict[str, Any]] = []

    async def message(self) -> dict[str, Any]:
        """Return the next message."""
        with anyio.fail_after(PATIENCE):
            while not self._unread:
                chunk = await anext(self._chunks)
                self._unread += [json.loads(event.data) for event in self.events.feed(chunk) if event.is_message]
        return self._unread.pop(0)

    async def rest(self) -> list[dict[str, Any]]:
        """Return the messages that are left when it ends."""
        with anyio.fail_after(PATIENCE):
            async for chunk in self._chunks:
                self._unread += [json.loads(event.data) for event in self.events.feed(chunk) if event.is_message]
        return self._unread


class Client:
    """Speaks MCP by hand over httpx."""

    def __init__(self, http: httpx.AsyncClient, url: str, revision: str) -> None:
        self.http = http
        self.url = url
        self.revision = revision
        self.headers = {"accept": "application/json, text/event-stream"}

    async def open(self, capabilities: dict[str, Any] | None = None) -> Client:
        if self.revision == MODERN:
            self.headers["mcp-protocol-version"] = MODERN
            return self
        params = {"protocolVersion": self.revision, "capabilities": capabilities or {}, "clientInfo": INFO}
        reply = await self.post({"id": 0, "method": "initialize", "params": params})
        assert reply.json()["result"]["protocolVersion"] == self.revision
        self.headers |= {"mcp-session-id": reply.headers["mcp-session-id"], "mcp-protocol-version": self.revision}
        assert (await self.post({"method": "notifications/initialized"})).status_code == 202
        return self

    async def post(self, message: dict[str, Any], **headers: str) -> httpx.Response:
        return await self.http.post(self.url, json={"jsonrpc": "2.0", **message}, headers={**self.headers, **headers})

    def _call(self, id: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": {"progressToken": id}}
        headers = dict(self.headers)
        if self.revision == MODERN:
            params["_meta"] |= envelope()
            headers |= {"mcp-method": "tools/call", "mcp-name": name}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return {"json": message, "headers": headers}

    async def tool(self, id: int, name: str, **arguments: Any) -> Any:
        """Call a tool that is answered at once; return the text of its result."""
        reply = await self.http.post(self.url, **self._call(id, name, arguments))
        assert reply.headers["content-type"] == "application/json", reply.text
        return reply.json()["result"]["content"][0]["text"]

    @asynccontextmanager
    async def stream(self, id: int, name: str, **arguments: Any) -> AsyncGenerator[Stream]:
        """Call a tool and read what comes."""
        async with self.http.stream("POST", self.url, **self._call(id, name, arguments)) as response:
            yield Stream(response)


@asynccontextmanager
async def client_at(url: str, revision: str, capabilities: dict[str, Any] | None = None) -> AsyncGenerator[Client]:
    """Somebody who speaks this revision there."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        yield await Client(http, url, revision).open(capabilities)
