"""A client of a web server: whatever is answered, each call ends, and the next one can be made.

Nobody but that server is asked anything, and nobody but it is shown its tokens.

    what is used: "sse" is the older transport, "token" authentication
    ---
    the status of the first answer
    header: value

    the body, in which $ID is the id of the request
    ---
    the second answer; and so on: then the server means well
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx

from dedalus_mcp.client.auth import ClientCredentialsAuth
from dedalus_mcp.client.era import MemoryEras
from dedalus_mcp_transports.http_client import HttpSse, StreamableHttp
from tests.fuzz.loop import nothing_left, play
from tests.fuzz.pieces import CUT, headers, json_object
from tests.fuzz.visit import honest, visit

__all__ = ("target",)

URL = "https://mcp.example/mcp"
HOST = "mcp.example"
ISSUER = "https://as.example"
PIECE = 50
"""Bytes that come at once."""

DOCUMENTS: dict[str, dict[str, Any]] = {
    "/.well-known/oauth-protected-resource/mcp": {"resource": URL, "authorization_servers": [ISSUER]},
    "/.well-known/oauth-authorization-server": {"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token"},
    "/token": {"access_token": "t", "token_type": "Bearer"},
}


class _Body(httpx.AsyncByteStream):
    """A body that comes piece by piece."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), PIECE):
            await asyncio.sleep(0)
            yield self._body[at : at + PIECE]


class _Stream(httpx.AsyncByteStream):
    """The event stream of a server of 2024-11-05, which means well."""

    def __init__(self) -> None:
        self.replies = asyncio.Queue[bytes]()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"event: endpoint\ndata: /mcp\n\n"
        while True:
            yield b"data: " + await self.replies.get() + b"\n\n"


class _Web(httpx.AsyncBaseTransport):
    """All servers that there are.

    Attributes:
        answers: The next ones, before they mean well.
        asked: Those who were asked something.
        tokens_seen_by: Those who were shown a token.
    """

    def __init__(self, answers: Sequence[bytes], *, old: bool) -> None:
        self.answers = list(answers)
        self._stream = _Stream() if old else None
        self.tokens_seen_by: set[str] = set()
        self.asked: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.asked.add(request.url.host)
        if "bearer" in request.headers.get("authorization", "").lower():
            self.tokens_seen_by.add(request.url.host)
        body = await request.aread()
        message = json_object(body) or {}
        if self.answers:
            return _answer(self.answers.pop(0), json.dumps(message.get("id")).encode())
        if request.url.path != "/mcp":
            document = DOCUMENTS.get(request.url.path)
            return httpx.Response(404 if document is None else 200, json=document)
        if request.method != "POST":
            return self._listen()
        if "id" not in message or "method" not in message:
            return httpx.Response(202)
        reply = honest(message)
        if self._stream is None:
            return httpx.Response(200, json=reply)
        self._stream.replies.put_nowait(json.dumps(reply).encode())
        return httpx.Response(202)

    def _listen(self) -> httpx.Response:
        if self._stream is None:
            return httpx.Response(405)
        self._stream = _Stream()
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=self._stream)


def _answer(data: bytes, id: bytes) -> httpx.Response:
    head, _, body = data.partition(b"\n\n")
    status, _, rest = head.partition(b"\n")
    code = int(status[:3]) if status[:3].isdigit() else 200
    return httpx.Response(
        max(200, min(code, 599)), headers=headers(rest), stream=_Body(body.replace(b"$ID", id)), extensions={}
    )


def target(data: bytes) -> None:
    """Visit a server."""
    first, *answers = data.split(CUT)

    async def scene() -> None:
        before = len(asyncio.all_tasks())
        web = _Web(answers, old=b"sse" in first)
        async with httpx.AsyncClient(transport=web) as http:
            auth = None
            if b"token" in first:
                auth = ClientCredentialsAuth(client_id="c", client_secret="s", http_client=http)
            make = HttpSse if b"sse" in first else StreamableHttp
            target = make(URL, http_client=http, auth=auth, max_message=2048)
            await visit(target, web.answers, eras=MemoryEras())
            assert web.tokens_seen_by <= {HOST}
            assert auth is not None or web.asked <= {HOST}
        await nothing_left(before)

    play(scene)
