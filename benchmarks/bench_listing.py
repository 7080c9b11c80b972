"""Registering a thousand tools, and listing them: ours against the encoding of the same bytes.  CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from benchmarks.measure import Effort, Row, Sampler, cpu, take
from dedalus_mcp import MCPServer, ServerConfig, tool
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.transport import Reply
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, MODERN, V2024_11_05

__all__ = ("TITLE", "run")

TITLE = "Lists of tools: CPU for a server that has 1,000 of them"

TOOLS = 1000
encode = msgspec.json.Encoder().encode


class Kept:
    """A channel that keeps what goes out."""

    carrier = None
    takes_calls = True
    full = False
    unsent = False

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def reply(self, reply: Reply | None) -> None:
        if reply is not None:
            self.frames.append(reply.frame)

    async def ready(self) -> None: ...

    async def flush(self) -> None: ...


def function(number: int) -> Callable[..., Any]:
    async def search(text: str, limit: int = 10, *, exact: bool = False) -> list[str]:
        """Search the documents for a text.

        Args:
            text: What to look for.
            limit: How many documents to return, at most.
            exact: Whether case counts.
        """
        return [text] * limit if exact else []

    return tool(f"search_{number}")(search)


@functools.cache
def functions() -> list[Callable[..., Any]]:
    return [function(number) for number in range(TOOLS)]


def server(page: int) -> MCPServer:
    made = MCPServer("bench", config=ServerConfig(pagination_limit=page))
    made.collect(*functions())
    return made


class Client:
    """What a client sends, and nothing else of it: the replies are not read."""

    def __init__(self, server: MCPServer, revision: str) -> None:
        self.channel = Kept()
        self._peer = Peer(server.answering(), self.channel, answers_malformed=True)
        self._meta: dict[str, Any] = {}
        if revision in MODERN:
            self._meta = {"_meta": {PROTOCOL_VERSION_KEY: revision, CLIENT_CAPABILITIES_KEY: {}}}
        else:
            self.send(
                "initialize",
                {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
            )

    def send(self, method: str, params: dict[str, Any]) -> bytes:
        frame = encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.channel.frames.clear()
        self._peer.feed(frame, self.channel)
        return self.channel.frames[0]

    def ask(self, cursor: str | None = None) -> bytes:
        return self.send("tools/list", self._meta if cursor is None else {**self._meta, "cursor": cursor})

    def pages(self) -> list[tuple[str | None, Any]]:
        """The cursors of all pages, and what is on each."""
        found: list[tuple[str | None, Any]] = []
        cursor: str | None = None
        while not found or cursor is not None:
            result = msgspec.json.decode(self.ask(cursor))["result"]
            found.append((cursor, result))
            cursor = result.get("nextCursor")
        return found


def listing(page: int, revision: str) -> dict[str, Sampler]:
    """The whole list, page by page, and the encoding of the same pages."""
    client = Client(server(page), revision)
    pages = client.pages()
    whole = [{"jsonrpc": "2.0", "id": 1, "result": result} for _, result in pages]

    def ours(number: int) -> None:
        for _ in range(number):
            for cursor, _ in pages:
                client.ask(cursor)

    def bare(number: int) -> None:
        for _ in range(number):
            for message in whole:
                encode(message)

    return {"ours": cpu(ours, 20), "bare": cpu(bare, 20)}


def anew(revision: str) -> dict[str, Sampler]:
    """The whole list in one page, after a change each time: nothing is left of the time before.

    Against the same objects, which lie far apart in memory, as whatever is registered one by one does.
    """
    client = Client(changing := server(TOOLS), revision)
    definitions = changing.tools.definitions

    def ours(number: int) -> None:
        for _ in range(number):
            changing.tools.catalogue.changed()
            client.ask()

    def bare(number: int) -> None:
        for _ in range(number):
            encode(definitions)

    return {"ours": cpu(ours, 20), "bare": cpu(bare, 20)}


def registering(number: int) -> None:
    for _ in range(number):
        server(50)


def run(effort: Effort) -> list[Row]:
    """Measure, in an event loop, though nothing waits in it."""
    return anyio.run(_run, effort)


async def _run(effort: Effort) -> list[Row]:
    rows = [take(f"register {TOOLS} tools", "us", {"ours": cpu(registering, 1)}, effort.rounds)]
    for revision in (V2024_11_05, LATEST_LEGACY, LATEST):
        rows += [
            take(f"tools/list, {words}, {revision}", "us", listing(page, revision), effort.rounds)
            for words, page in (("20 pages of 50", 50), ("one page", TOOLS))
        ]
        rows.append(take(f"tools/list, one page, after a change, {revision}", "us", anew(revision), effort.rounds))
    return rows
