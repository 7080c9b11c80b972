"""What a client proves to a proxy is nobody else's."""

from __future__ import annotations

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient, MCPServer, tool
from dedalus_mcp.proxies.proxy import proxy
from dedalus_mcp.server.context import Context
from tests.interaction.reach import PATIENCE

MODERN = "2026-07-28"
URL = "http://localhost/mcp"


def served_in_memory(server: MCPServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(server.asgi_app(json_only=True)))


@tool
async def heard(ctx: Context) -> list[str]:
    return sorted(f"{name}: {value}" for name, value in (ctx.headers or {}).items())


@pytest.mark.parametrize("name", ["authorization", "cookie", "x-api-key", "dpop"])
async def test_a_proxy_shows_nothing_that_was_shown_to_it(name: str) -> None:
    """Token passthrough: whoever is behind it trusts the proxy, and has not checked for whom a token was made."""
    behind = MCPServer("behind", version="1")
    behind.collect(heard)
    with anyio.fail_after(PATIENCE):
        async with served_in_memory(behind) as inner:
            front = proxy(URL, http_client=inner, revision=MODERN)
            async with (
                front.running(),
                served_in_memory(front) as outer,
                MCPClient.connect(URL, http_client=outer, revision=MODERN, headers={name: "secret-4711"}) as client,
            ):
                told = (await client.call_tool("heard")).text

    assert "mcp-method: tools/call" in told
    assert "secret-4711" not in told
