"""A world with one guarded server, and somebody who wants in."""

from __future__ import annotations

from typing import Any

import httpx

from dedalus_mcp.client.auth import AuthorizationCodeAuth, MemoryTokenStorage
from tests.client.auth.world import AuthorizationServer, Guard, World

__all__ = ("AS", "MCP", "Scene")

MCP = "http://localhost:8001/mcp"
AS = "http://localhost:8002"


class Scene:
    """A world with one guarded server, and somebody who wants in."""

    def __init__(self, *, issuer: str = AS, place: str | None = None, **guard: Any) -> None:
        self.world = World()
        self.server = AuthorizationServer(self.world, issuer, place=place)
        self.guard = Guard(self.world, MCP, self.server, **guard)
        self.storage = MemoryTokenStorage()
        self.time = 1_000_000.0

    def auth(self, **settings: Any) -> AuthorizationCodeAuth:
        settings = {
            "redirect": self.world.redirect(),
            "http_client": self.world.client(),
            "storage": self.storage,
            "clock": lambda: self.time,
            **settings,
        }
        return AuthorizationCodeAuth(**settings)

    async def visit(self, auth: AuthorizationCodeAuth | None = None, **settings: Any) -> httpx.Response:
        """Send a request, with a token if one is wanted."""
        return await self.world.client(auth or self.auth(**settings)).post(MCP, json={"method": "tools/list"})

    def grants(self) -> list[str]:
        """What the token endpoint was asked for."""
        return [form["grant_type"] for form in self.server.redeemed]

    def order(self) -> list[str]:
        return [asked.url.partition("?")[0] for asked in self.world.asked]
