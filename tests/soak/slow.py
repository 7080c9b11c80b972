"""Many calls at once that take their time: all of them run at once, and cost no more time than one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeAlias

from dedalus_mcp import MCPClient
from tests.interaction.reach import script, text_of
from tests.soak.lines import lines, open_session, tool
from tests.soak.places import LEGACY, MODERN, MODULE, program
from tests.soak.server import make

__all__ = ("WAYS", "throughput", "together")

Ask: TypeAlias = Callable[[int, str, dict[str, object]], Awaitable[None]]
"""Calls a tool as one of many callers, and sees to it that it is answered rightly."""
NO_LIMIT = None


@asynccontextmanager
async def memory(_many: int) -> AsyncGenerator[Ask]:
    """Callers of one client in memory."""
    async with MCPClient.connect(make(), timeout=NO_LIMIT) as client:
        yield _asking(client)


@asynccontextmanager
async def stdio(_many: int) -> AsyncGenerator[Ask]:
    """Callers of one client over a pipe."""
    async with MCPClient.connect(script(MODULE, ["stdio"]), timeout=NO_LIMIT) as client:
        yield _asking(client)


def _asking(client: MCPClient) -> Ask:
    async def ask(_: int, name: str, arguments: dict[str, object]) -> None:
        assert text_of(await client.call_tool(name, arguments)) in ("done", "all are here")

    return ask


@asynccontextmanager
async def http(many: int, revision: str) -> AsyncGenerator[Ask]:
    """Callers with a connection each; in one session, if the revision has any."""
    async with AsyncExitStack() as stack:
        _, url = stack.enter_context(program("http"))
        opened = await stack.enter_async_context(lines(url, many))
        session = await open_session(opened[0]) if revision == LEGACY else None

        async def ask(caller: int, name: str, arguments: dict[str, object]) -> None:
            answer = await opened[caller].ask(tool(name, caller + 1, session, **arguments))
            assert (answer.status, answer.code) == (200, None), answer

        yield ask


@asynccontextmanager
async def http_legacy(many: int) -> AsyncGenerator[Ask]:
    """In one session."""
    async with http(many, LEGACY) as ask:
        yield ask


@asynccontextmanager
async def http_modern(many: int) -> AsyncGenerator[Ask]:
    """Without."""
    async with http(many, MODERN) as ask:
        yield ask


WAYS = {"memory": memory, "stdio": stdio, "http-legacy": http_legacy, "http-modern": http_modern}


async def together(way: str, many: int) -> None:
    """Make calls that are answered only once so many run at the same time."""
    async with WAYS[way](many) as ask:
        await asyncio.gather(*(ask(caller, "gather", {"count": many, "key": "all"}) for caller in range(many)))


async def throughput(way: str, many: int, seconds: float, each: int) -> float:
    """Let so many callers make slow calls, one after another; return calls in a second."""
    async with WAYS[way](many) as ask:

        async def use(caller: int) -> None:
            for _ in range(each):
                await ask(caller, "delay", {"seconds": seconds})

        began = time.monotonic()
        await asyncio.gather(*map(use, range(many)))
        return many * each / (time.monotonic() - began)
