"""Somebody who calls tools that ask, and answers them, over every transport alike.

async with asked(server, script, transport, revision, capabilities) as client:
    question = await client.begin("tool")
    await client.answer(question, {...})
    text = await client.text()
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import pytest

from dedalus_mcp import MCPServer
from dedalus_mcp.types.revisions import MODERN
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import script
from tests.transports.asgi import Client, Exchange
from tests.transports.asgi import serving as web_serving

__all__ = ("Asked", "Talking", "asked", "everywhere", "text_of")

everywhere = pytest.mark.parametrize(
    ("anyio_backend", "transport"),
    [("asyncio", "memory"), ("trio", "memory"), ("asyncio", "stdio"), ("asyncio", "http")],
)
"""Over every transport that can ask; a child process runs on its own event loop, so once is enough there."""


class Asked(Protocol):
    """A client; one call at a time."""

    async def begin(self, method: str, params: dict[str, Any]) -> None:
        """Make a call."""

    async def hear(self) -> Any:
        """Return the next message that belongs to it."""

    async def say(self, message: dict[str, Any]) -> None:
        """Send a reply or a notice."""


class _Piped:
    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._id = 0

    async def begin(self, method: str, params: dict[str, Any]) -> None:
        self._id += 1
        await self._raw.begin(self._id, method, params)

    async def hear(self) -> Any:
        return await self._raw.hear()

    async def say(self, message: dict[str, Any]) -> None:
        await self._raw.say(message)


class _Web:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._id = 0
        self._exchange: Exchange | None = None

    async def begin(self, method: str, params: dict[str, Any]) -> None:
        self._id += 1
        self._exchange = self._client.begin(self._id, method, params)

    async def hear(self) -> Any:
        assert self._exchange is not None
        return await self._exchange.message()

    async def say(self, message: dict[str, Any]) -> None:
        exchange = await self._client.say({"jsonrpc": "2.0", **message}).ended()
        assert exchange.status == 202


class _InRounds:
    """Somebody on 2026-07-28, to whom questions come in rounds: each is answered by itself all the same.

    A question bears its key for an id.  The call is retried when all of a round are answered.
    """

    def __init__(self, inner: Asked) -> None:
        self._inner = inner
        self._call: tuple[str, dict[str, Any]] = ("", {})
        self._unheard: list[dict[str, Any]] = []
        self._waiting: set[str] = set()
        self._answers: dict[str, Any] = {}
        self._state: dict[str, Any] = {}

    async def begin(self, method: str, params: dict[str, Any]) -> None:
        self._call = (method, params)
        await self._inner.begin(method, params)

    async def hear(self) -> Any:
        if not self._unheard:
            message = await self._inner.hear()
            result = message.get("result", {})
            if result.get("resultType") != "input_required":
                return message
            self._state = {"requestState": result["requestState"]}
            self._unheard = [{"id": key, **each} for key, each in result["inputRequests"].items()]
            self._waiting = set(result["inputRequests"])
            self._answers = {}
        return self._unheard.pop(0)

    async def say(self, message: dict[str, Any]) -> None:
        self._answers[message["id"]] = message["result"]
        if self._waiting == set(self._answers):
            method, params = self._call
            await self._inner.begin(method, {**params, "inputResponses": self._answers, **self._state})


class Talking:
    """The conversation of a test."""

    def __init__(self, client: Asked) -> None:
        self._client = client

    async def begin(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool, and return the first message: its question, or its reply."""
        return await self.call("tools/call", name=tool, arguments=arguments)

    async def call(self, method: str, /, **params: Any) -> Any:
        """Make a call, and return the first message."""
        await self._client.begin(method, params)
        return await self._client.hear()

    async def hear(self) -> Any:
        """Return the next message."""
        return await self._client.hear()

    async def answer(self, question: Any, result: dict[str, Any]) -> None:
        """Answer a question."""
        await self._client.say({"id": question["id"], "result": result})

    async def refuse(self, question: Any, code: int, message: str) -> None:
        """Answer a question with an error."""
        await self._client.say({"id": question["id"], "error": {"code": code, "message": message}})

    async def notify(self, method: str) -> None:
        """Send a notice."""
        await self._client.say({"method": method})

    async def text(self, question: Any = None, result: dict[str, Any] | None = None) -> str:
        """Return the text of the call's result, after a question has been answered."""
        if question is not None:
            await self.answer(question, result or {})
        return text_of(await self.hear())


def text_of(reply: Any) -> str:
    """The text of a tool's result."""
    (block,) = reply["result"]["content"]
    return str(block["text"])


@asynccontextmanager
async def asked(
    server: MCPServer, module: str, transport: str, revision: str, capabilities: dict[str, Any]
) -> AsyncGenerator[Talking]:
    """Connect to a server, or to a module that serves the same on stdio."""
    if transport == "http":
        async with web_serving(server) as web:
            yield _talking(_Web(await web.open(revision, capabilities)), revision)
        return
    async with serving(server if transport == "memory" else script(module)) as raw:
        await raw.open(revision, capabilities)
        yield _talking(_Piped(raw), revision)


def _talking(client: Asked, revision: str) -> Talking:
    return Talking(_InRounds(client) if revision in MODERN else client)
