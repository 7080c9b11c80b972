"""Where a soak runs: in memory, over stdio to a child, over HTTP to a child; in one revision each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import Any, TypeAlias

import anyio
import msgspec

from dedalus_mcp import MCPClient
from dedalus_mcp.client.form import Form
from dedalus_mcp.types import ElicitResult
from tests.interaction.reach import ENV, script, text_of
from tests.process.child import INHERITED
from tests.process.http_client import client_at
from tests.soak import vitals
from tests.soak.server import THREADS, make
from tests.soak.vitals import Vitals
from tests.sources import ROOT

__all__ = ("MODULE", "PLACES", "Place", "program", "stdio")

MODULE = "tests.soak.server"
_SERVING = re.compile(rb"http://\S+")


async def accept(question: Form) -> ElicitResult:
    """Say yes to whatever is asked."""
    return question.accept({field.name: True for field in question.fields})


def ignore(_: object) -> None:
    """Hear of a change."""


HANDLERS: dict[str, Any] = {
    "elicitation": accept,
    "tools_list_changed": ignore,
    "resource_updated": ignore,
    "logging": ignore,
}


class Place:
    """A server that is there, and the way to it.

    Args:
        revision: The revision that its clients speak.
        connect: Connects one more client.
        url: Where it is, if that is a URL.
        keeper: The one client that a server on stdio has; None where each visitor is a client.
    """

    def __init__(
        self,
        revision: str,
        connect: Callable[[], AbstractAsyncContextManager[MCPClient]],
        url: str | None = None,
        keeper: MCPClient | None = None,
    ) -> None:
        self.revision = revision
        self.modern = revision == "2026-07-28"
        self.connect = connect
        self.url = url
        self.keeper = keeper

    async def vitals(self) -> dict[str, Vitals]:
        """Look at this process and that of the server, by name."""
        async with self.client() as client, anyio.create_task_group() as group:
            for _ in range(THREADS):
                group.start_soon(client.call_tool, "meet")
        async with self.client() as client:
            there = msgspec.json.decode(text_of(await client.call_tool("vitals")), type=Vitals)
        here = vitals.take()
        return {"both": here} if self.url is None and self.keeper is None else {"server": there, "client": here}

    def client(self) -> AbstractAsyncContextManager[MCPClient]:
        """Return a client that is there already, where the server has but one; else one more."""
        return self.connect() if self.keeper is None else nullcontext(self.keeper)

    async def abandon(self) -> None:
        """Begin a session, open its stream, and never come again."""
        if self.url is not None and not self.modern:
            async with (
                client_at(self.url, self.revision, {"elicitation": {}}) as client,
                client.http.stream("GET", self.url, headers=client.headers) as response,
            ):
                assert response.status_code in (200, 405)  # without sessions there is no stream


Opening: TypeAlias = Callable[[str], AbstractAsyncContextManager[Place]]


@asynccontextmanager
async def memory(revision: str) -> AsyncGenerator[Place]:
    """Client and server in one process."""
    server = make()
    yield Place(revision, lambda: MCPClient.connect(server, revision=revision, **HANDLERS))


@asynccontextmanager
async def stdio(revision: str) -> AsyncGenerator[Place]:
    """A server that is a child of this process."""
    target = script(MODULE, ["stdio"])
    async with MCPClient.connect(target, revision=revision, **HANDLERS) as keeper:
        yield Place(revision, lambda: MCPClient.connect(target, revision=revision, **HANDLERS), keeper=keeper)


@contextmanager
def program(way: str, *before: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """Run the server over HTTP as a child; where it is.

    Args:
        way: See `tests.soak.server`.
        before: Its command, up to the interpreter; this one if not given.
    """
    command = [*(before or (sys.executable,)), "-m", MODULE, way]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**INHERITED, **ENV}, cwd=ROOT)
    assert process.stderr is not None
    try:
        found = _SERVING.search(process.stderr.readline())
        assert found is not None
        yield process, found[0].decode()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def over_http(way: str) -> Opening:
    """Return what opens a server over HTTP."""

    @asynccontextmanager
    async def opening(revision: str) -> AsyncGenerator[Place]:
        with program(way) as (_, url):
            yield Place(revision, lambda: MCPClient.connect(url, revision=revision, **HANDLERS), url)

    return opening


LEGACY, MODERN = "2025-11-25", "2026-07-28"
PLACES: dict[str, tuple[Opening, str]] = {
    "memory-legacy": (memory, LEGACY),
    "memory-modern": (memory, MODERN),
    "stdio-legacy": (stdio, LEGACY),
    "stdio-modern": (stdio, MODERN),
    "http-legacy": (over_http("http"), LEGACY),
    "http-modern": (over_http("http"), MODERN),
    "http-stateless": (over_http("stateless"), LEGACY),
}
