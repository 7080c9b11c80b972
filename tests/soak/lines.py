"""Connections by hand, thousands of them: they say what bytes they are given, and read only what they want to."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.interaction.raw import INFO, envelope

__all__ = ("LEGACY", "MODERN", "Answer", "Line", "lines", "open_session", "request", "tool")

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PARALLEL = 100
"""Connections that are opened at a time: fewer than wait at a socket that listens."""
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Answer(NamedTuple):
    """A response whose end is known."""

    status: int
    head: bytes
    body: bytes

    @property
    def message(self) -> Any:
        """What it says."""
        return json.loads(self.body)

    @property
    def code(self) -> int | None:
        """The code of the error in it; None where there is none."""
        error = self.message.get("error") if self.body else None
        return None if error is None else int(error["code"])


def request(verb: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """Write a request; names of headers with underscores."""
    lines = [
        f"{verb} {path} HTTP/1.1",
        "host: localhost",
        "accept: application/json, text/event-stream",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join((*lines, "", "")).encode() + body


def call(method: str, id: Any, session: str | None = None, **params: Any) -> bytes:
    """Write a POST of a call: of a session, or of 2026-07-28 where there is none."""
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    if session is not None:
        return request("POST", "/mcp", json.dumps(message).encode(), mcp_session_id=session)
    params["_meta"] = {**envelope(), "progressToken": id}
    named = {"mcp_name": str(params["name"])} if "name" in params else {}
    body = json.dumps(message).encode()
    return request("POST", "/mcp", body, mcp_protocol_version=MODERN, mcp_method=method, **named)


def tool(name: str, id: Any = 1, session: str | None = None, **arguments: Any) -> bytes:
    """Write a POST of a call of a tool."""
    return call("tools/call", id, session, name=name, arguments=arguments)


def notice(method: str, session: str, **params: Any) -> bytes:
    """Write a POST of a notice."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
    return request("POST", "/mcp", body, mcp_session_id=session)


class Line:
    """One connection.

    Attributes:
        reader: What comes.
        writer: What goes.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, data: bytes) -> Answer:
        """Send a request and read the answer."""
        self.writer.write(data)
        return await self.answer()

    async def answer(self) -> Answer:
        """Read an answer that has a length."""
        head = await self.head()
        length = _LENGTH.search(head)
        return Answer(int(head[9:12]), head, await self.reader.readexactly(int(length[1])) if length else b"")

    async def head(self) -> bytes:
        """Read the head of an answer."""
        return await self.reader.readuntil(b"\r\n\r\n")

    def close(self) -> None:
        """End it, whatever is on its way."""
        self.writer.transport.abort()


async def line(url: str, **settings: Any) -> Line:
    """Open a connection."""
    address = urlsplit(url)
    assert address.hostname is not None
    return Line(*await asyncio.open_connection(address.hostname, address.port, **settings))


@asynccontextmanager
async def lines(url: str, many: int, **settings: Any) -> AsyncGenerator[list[Line]]:
    """Open so many connections, or as many as can be had."""
    opened: list[Line] = []
    try:
        with suppress(OSError):  # descriptors, or ports, have run out
            while len(opened) < many:
                some = range(min(PARALLEL, many - len(opened)))
                opened += await asyncio.gather(*(line(url, **settings) for _ in some))
        yield opened
    finally:
        for each in opened:
            each.close()
        await asyncio.sleep(0)


async def open_session(on: Line) -> str:
    """Shake hands, and return the id of the session."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = await on.ask(request("POST", "/mcp", json.dumps(message).encode()))
    found = re.search(rb"mcp-session-id: (\S+)", answer.head, re.IGNORECASE)
    assert found is not None, answer
    session = found[1].decode()
    assert (await on.ask(notice("notifications/initialized", session))).status == 202
    return session
