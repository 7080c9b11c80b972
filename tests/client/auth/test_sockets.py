"""A whole sign-in over real sockets, with the HTTP clients that are made where none is given."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.client.auth import AuthorizationCodeAuth, BearerAuth, FileTokenStorage, LoopbackRedirect
from tests.client.auth.world import AuthorizationServer, Guard, World
from tests.transports.scripted_http import Asked, ScriptedHttp, Talk, answering, scripted

TOOLS: dict[str, Any] = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}


class Served:
    """The small world at a port of this machine: both servers at one origin."""

    def __init__(self) -> None:
        self.world = World()
        self.inside = answering(self.list_tools, "2026-07-28")
        self.http: ScriptedHttp | None = None

    def settle(self, http: ScriptedHttp) -> None:
        self.http = http
        origin = http.url.removesuffix("/mcp")
        self.server = AuthorizationServer(self.world, origin)
        self.guard = Guard(self.world, http.url, self.server)

    async def list_tools(self, asked: Asked, talk: Talk) -> None:
        await talk.result(TOOLS)

    async def script(self, asked: Asked, talk: Talk) -> None:
        assert self.http is not None
        url = self.http.url.removesuffix("/mcp") + asked.path
        headers = {name: value for name, value in asked.headers.items() if name != "content-length"}
        answer = await self.world.handle_async_request(
            httpx.Request(asked.method, url, headers=headers, content=asked.body)
        )
        if asked.path == "/mcp" and answer.status_code == 200:
            await self.inside(asked, talk)
            return
        kept = {
            name.replace("-", "_"): value
            for name, value in answer.headers.items()
            if name not in ("content-length", "transfer-encoding")
        }
        await talk.answer(answer.status_code, await answer.aread(), **kept)


@asynccontextmanager
async def served() -> AsyncGenerator[tuple[Served, str]]:
    one = Served()
    async with scripted(one.script) as http:
        one.settle(http)
        yield one, http.url


async def browser(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as http:
        assert (await http.get(url)).status_code == 200


async def test_a_user_signs_in_and_the_next_run_need_not(tmp_path: object) -> None:
    async with served() as (one, url):
        for _ in range(2):
            auth = AuthorizationCodeAuth(
                redirect=LoopbackRedirect(open_page=browser), storage=FileTokenStorage(f"{tmp_path}/tokens")
            )
            async with MCPClient.connect(url, auth=auth) as client:
                assert (await client.list_tools()).tools == []

        assert len(one.server.authorizations) == 1
        assert one.server.authorizations[0]["redirect_uri"].startswith("http://127.0.0.1:")


async def test_a_token_that_is_there_already_is_shown() -> None:
    async with served() as (_, url):
        auth = AuthorizationCodeAuth(redirect=LoopbackRedirect(open_page=browser))
        token = (await auth.get_token(url)).access_token

        async with MCPClient.connect(url, auth=BearerAuth(token)) as client:
            assert (await client.list_tools()).tools == []


@pytest.mark.parametrize("server", [None, "http://mcp.example/mcp"])
async def test_a_token_that_is_there_already_is_shown_to_one_server(server: str | None) -> None:
    """AUTH-46."""
    world = World()
    for host in ("mcp.example", "evil.example"):
        world.at(f"http://{host}/mcp", lambda request: httpx.Response(200))
    auth = BearerAuth("token", server=server)

    async with httpx.AsyncClient(transport=world, auth=auth) as http:
        if server is None:
            await http.post("http://mcp.example/mcp")
        await http.post("http://evil.example/mcp")
        await http.post("http://mcp.example/mcp")

    told = [(asked.url, asked.headers.get("authorization")) for asked in world.asked[-2:]]
    assert told == [("http://evil.example/mcp", None), ("http://mcp.example/mcp", "Bearer token")]
