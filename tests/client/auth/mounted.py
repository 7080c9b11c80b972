"""Our own MCP server behind a guard of the small world, its streams unbuffered.

async with mounted(guard, server):
    async with MCPClient.connect(guard.url, auth=auth, http_client=world.client()) as client: ...
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from dedalus_mcp import MCPServer
from dedalus_mcp.client.opening import remembered
from dedalus_mcp_transports.http_client import StreamableHttp
from tests.client.auth.world import Guard
from tests.transports.asgi import Exchange, serving

__all__ = ("mounted",)


class Body(httpx.AsyncByteStream):
    """The body of a response that is still being sent."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange, read = self._exchange, 0

        def is_news() -> bool:
            return len(exchange.chunks) > read or exchange.over or exchange.returned

        while True:
            await exchange.until(is_news)
            if len(exchange.chunks) == read:
                return
            read += 1
            yield exchange.chunks[read - 1]

    async def aclose(self) -> None:
        self._exchange.leave()


@asynccontextmanager
async def mounted(guard: Guard, server: MCPServer, **settings: Any) -> AsyncGenerator[list[Exchange]]:
    """Let those whom the guard lets in speak with a server; the value grows by what they ask."""
    exchanges: list[Exchange] = []
    remembered.forget(StreamableHttp(guard.url))
    async with serving(server, **settings) as web, anyio.create_task_group() as group:

        async def inside(request: httpx.Request) -> httpx.Response:
            exchange = Exchange(request.method, request.url.raw_path.decode(), dict(request.headers), [request.content])
            group.start_soon(exchange.run, web.app)
            status = await exchange.started()
            exchanges.append(exchange)
            return httpx.Response(status, headers=exchange.headers, stream=Body(exchange))

        guard.inside = inside
        yield exchanges
        group.cancel_scope.cancel()
