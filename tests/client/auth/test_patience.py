"""A person who signs in takes the time that they take: no call times out meanwhile."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient, RequestTimeout
from dedalus_mcp.client.auth import AuthorizationCodeAuth, HeadlessRedirect, Landing
from tests.client.auth.mounted import mounted
from tests.client.auth.world import AuthorizationServer, Guard, World
from tests.client.serving import BOTH, echo, offering
from tests.virtual_time import virtual

MCP = "http://localhost:8001/mcp"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


class Slow:
    """Somebody who takes five times as long as the server may take to answer."""

    def __init__(self, redirect: HeadlessRedirect) -> None:
        self._redirect = redirect
        self.uri = redirect.uri

    @asynccontextmanager
    async def listen(self, preferred: Sequence[str]) -> AsyncGenerator[Landing]:
        yield self

    async def send(self, url: str, state: str) -> str:
        await anyio.sleep(5)  # in virtual time
        return await self._redirect.send(url, state)


@BOTH
async def test_a_handshake_waits_for_whoever_signs_in(revision: str) -> None:
    """Design: a call's timeout pauses while a person is asked on its behalf."""
    world = World()
    guard = Guard(world, MCP, AuthorizationServer(world, "http://localhost:8002"))
    auth = AuthorizationCodeAuth(redirect=Slow(world.redirect()), http_client=world.client())

    async with mounted(guard, offering(echo)):
        begun = anyio.current_time()
        http = world.client()
        async with MCPClient.connect(MCP, auth=auth, http_client=http, revision=revision, timeout=1) as client:
            assert anyio.current_time() - begun >= 5
            assert [each.name for each in (await client.list_tools()).tools] == ["echo"]


async def never(request: httpx.Request) -> httpx.Response:
    await anyio.sleep_forever()
    raise AssertionError("for ever")


async def test_the_clock_runs_again_when_they_have_signed_in() -> None:
    world = World()
    guard = Guard(world, MCP, AuthorizationServer(world, "http://localhost:8002"))
    auth = AuthorizationCodeAuth(redirect=Slow(world.redirect()), http_client=world.client())

    async with mounted(guard, offering(echo)):
        guard.inside = never
        with pytest.raises(RequestTimeout):
            await MCPClient.connect(MCP, auth=auth, http_client=world.client(), revision="2026-07-28", timeout=1)
