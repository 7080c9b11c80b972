"""The bare loops of `bare.py` over HTTP: an ASGI application with nothing round them, on the same web server as ours.

    python benchmarks/bare_http.py          answers in the ASGI task
    python benchmarks/bare_http.py --tasks  in a task of its own, with a cancel scope and a context variable

It names its address on stderr.
"""

from __future__ import annotations

import socket
import sys
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import anyio
import anyio.abc
import uvicorn

from benchmarks.bare import Bare, InTasks, decode

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class App:
    """Answers every POST with one JSON object; whoever initializes gets a session id, which means nothing."""

    def __init__(self, *, tasks: bool) -> None:
        self._tasks = tasks
        self._group: anyio.abc.TaskGroup | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        message = decode(body)
        frame = b"" if message.id is None else await self._answer(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(frame))]
        if message.method == "initialize":
            headers.append((b"mcp-session-id", uuid.uuid4().hex.encode()))
        await send({"type": "http.response.start", "status": 200 if frame else 202, "headers": headers})
        await send({"type": "http.response.body", "body": frame})

    async def _answer(self, body: bytes) -> bytes:
        frames: list[bytes] = []
        there = anyio.Event()

        def put(frame: bytes) -> None:
            frames.append(frame)
            there.set()

        (Bare(put) if self._group is None else InTasks(put, self._group)).take(body)
        await there.wait()
        return frames[0]

    async def _live(self, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            self._group = group if self._tasks else None
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"serving at http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(App(tasks="--tasks" in sys.argv), log_level="error", access_log=False, lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
