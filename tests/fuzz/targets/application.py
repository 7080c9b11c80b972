"""The whole web application: whatever is requested, each request is answered by the rules of ASGI and of HTTP.

No answer tells of a failure of ours.  After that, a session that was there before is still served, and a
request that stands alone is; and when all have gone and some time has passed, nothing is left.

    POST /mcp
    header: value

    body, in which $SESSION is the session that was begun last, $STATE the newest state, $EVENT the newest event
    ---
    GET /mcp
    ...

What is beneath /stateless, /json and /stream is served with these settings, all else with few.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import anyio

from dedalus_mcp.run import Hosted
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.fuzz.loop import nothing_left, play, settled
from tests.fuzz.pieces import CUT, headers
from tests.fuzz.server import make
from tests.transports.asgi import BOTH, Client, Exchange

__all__ = ("target",)

KEYS = [b"k" * 32]
STATUSES = frozenset({200, 202, 204, 400, 403, 404, 405, 406, 408, 409, 413, 415, 421, 429, 431, 503})
MAX_REQUESTS = 8
NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
VALUE = re.compile(rb"[\t -~\x80-\xff]*")
USUAL = [(b"host", b"localhost"), (b"accept", BOTH.encode()), (b"content-type", b"application/json")]


def _app(server: MCPServer, path: str, **settings: Any) -> HttpApp:
    return HttpApp(Hosted(server), HttpSettings(path=path, max_body=2048, max_head=4096, max_headers=32, **settings))


APPS = {
    "mcp": _app(make(), "/mcp", sse_path="/sse", cors_origins=["https://app.example"]),
    "stateless": _app(make(state_keys=KEYS), "/stateless", stateless=True, state_keys=KEYS),
    "json": _app(make(), "/json", json_only=True, session_idle_seconds=60.0),
    "stream": _app(make(state_keys=KEYS), "/stream", always_stream=True, retry_milliseconds=1, state_keys=KEYS),
}


class Visitor:
    """Somebody who makes requests one after another, and remembers what a client would.

    Attributes:
        exchanges: The requests.
    """

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self.exchanges: list[Exchange] = []
        self._group = group
        self._known = {b"$SESSION": b"none", b"$STATE": b"none", b"$EVENT": b"none"}

    async def request(self, data: bytes) -> None:
        """Make a request, and return when nothing more comes of it by itself."""
        for word, value in self._known.items():
            data = data.replace(word, value)
        line, _, rest = data.partition(b"\n")
        head, _, body = b"\n".join((b"", rest)).partition(b"\n\n")
        method, _, path = line.decode("latin-1").partition(" ")
        exchange = Exchange(method or "GET", path or "/mcp", {}, [body])
        exchange.scope["headers"] = _completed(headers(head), body)
        self.exchanges.append(exchange)
        self._group.start_soon(exchange.run, APPS.get(path.strip("/").partition("/")[0], APPS["mcp"]))
        await settled()
        self._remember(exchange)

    def _remember(self, exchange: Exchange) -> None:
        session = exchange.headers.get("mcp-session-id")
        if session is not None:
            self._known[b"$SESSION"] = session.encode("latin-1")
        for found in re.findall(rb'"requestState":"([^"]+)"', exchange.body):
            self._known[b"$STATE"] = found
        for found in re.findall(rb"(?m)^id: (.+)$", exchange.body):
            self._known[b"$EVENT"] = found

    async def leave(self) -> None:
        """Close every connection, and see to it that each was served well."""
        for exchange in self.exchanges:
            if exchange.returned:
                assert exchange.status is not None, f"{exchange.scope} has no answer"
            exchange.leave()
        await settled()
        for exchange in self.exchanges:
            assert exchange.returned, f"{exchange.scope} is served for ever"
            assert exchange.faults == []
            _is_sound(exchange)


def _completed(given: list[tuple[bytes, bytes]], body: bytes) -> list[tuple[bytes, bytes]]:
    """The headers that a web server would let through, with those that every client sends."""
    kept = [(name, value) for name, value in given if NAME.fullmatch(name) and VALUE.fullmatch(value)]
    names = {name for name, _ in kept}
    if b"content-length" not in names and body:
        kept.append((b"content-length", str(len(body)).encode()))
    return [*((name, value) for name, value in USUAL if name not in names), *kept]


def _is_sound(exchange: Exchange) -> None:
    if exchange.status is None:
        return  # the client has left before
    assert exchange.status in STATUSES, f"{exchange.status}: {exchange.body!r:.300}"
    assert all(value.isprintable() for value in exchange.headers.values())
    if exchange.headers.get("content-type") == "application/json" and exchange.over:
        json.loads(exchange.body)
    for event in exchange.events:
        if event.is_message:
            json.loads(event.data)


def target(data: bytes) -> None:
    """Visit."""

    async def scene() -> None:
        for app in APPS.values():
            await app.begin()
        before = len(asyncio.all_tasks())
        async with anyio.create_task_group() as group:
            session = await Client(APPS["mcp"], group, "/mcp").open("2025-11-25")
            visitor = Visitor(group)
            for request in data.split(CUT)[:MAX_REQUESTS]:
                await visitor.request(request)
            await visitor.leave()
            assert await session.use(1, "echo", text="still here") == "still here"
            name = list(APPS)[len(data) % len(APPS)]
            modern = await Client(APPS[name], group, f"/{name}").open("2026-07-28")
            assert await modern.use(1, "echo", text="still here") == "still here"
            await session.delete()
        await nothing_left(before)

    play(scene)
