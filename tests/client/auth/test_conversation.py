"""Whole conversations of a client with a guarded server: both eras, long answers, and refusals in the middle."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import AuthRequiredError, ConnectionLost, Context, ForbiddenError, HttpSse, MCPClient, MCPServer, tool
from dedalus_mcp.client.auth import AuthError, AuthorizationCodeAuth, HeadlessRedirect, Landing, TokenError
from tests.client.auth.mounted import mounted
from tests.client.auth.world import AuthorizationServer, Guard, World
from tests.client.serving import BOTH
from tests.interaction.reach import Heard, text_of
from tests.transports.asgi import Exchange

MCP = "http://localhost:8001/mcp"
AS = "http://localhost:8002"


@tool
async def greet(name: str) -> str:
    return f"Hello, {name}"


class Scene:
    """A guarded server in a world, and the client that speaks with it."""

    def __init__(self, revision: str, *tools: Callable[..., Any]) -> None:
        self.world = World()
        self.server = AuthorizationServer(self.world, AS)
        self.guard = Guard(self.world, MCP, self.server)
        self.mcp = MCPServer("guarded")
        self.mcp.collect(greet, *tools)
        self.auth = AuthorizationCodeAuth(redirect=self.world.redirect(), http_client=self.world.client())
        self.revision = revision

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[MCPClient]:
        async with mounted(self.guard, self.mcp):
            http = self.world.client()
            async with MCPClient.connect(MCP, auth=self.auth, http_client=http, revision=self.revision) as client:
                yield client


@BOTH
async def test_a_client_signs_in_and_goes_on(revision: str) -> None:
    """AUTH-45: the token is on every request."""
    scene = Scene(revision)

    async with scene.client() as client:
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"

    refused = [asked for asked in scene.world.to(MCP) if "authorization" not in asked.headers]
    assert len(refused) == 1
    assert len(scene.server.authorizations) == 1


@BOTH
async def test_progress_comes_while_the_call_runs(revision: str) -> None:
    """The flow does not hold a stream back until it ends."""
    heard = Heard[float]()
    told = anyio.Event()

    @tool
    async def wait(ctx: Context) -> str:
        await ctx.report_progress(1, total=2)
        with anyio.fail_after(20):
            await told.wait()
        return "told"

    scene = Scene(revision, wait)
    async with scene.client() as client, anyio.create_task_group() as group:

        async def call() -> None:
            result = await client.call_tool("wait", progress=lambda progress: heard(progress.progress))
            assert text_of(result) == "told"

        group.start_soon(call)
        with anyio.fail_after(20):
            await heard.wait(1)
        told.set()


@BOTH
async def test_many_calls_with_a_token_that_has_ended_get_one_new_one(revision: str) -> None:
    """B136: and nobody signs in again."""
    scene = Scene(revision)

    async with scene.client() as client:
        scene.server.revoke_all()
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(client.call_tool, "greet", {"name": str(number)})

    grants = [form["grant_type"] for form in scene.server.redeemed]
    assert grants == ["authorization_code", "refresh_token"]
    assert len(scene.server.authorizations) == 1


@BOTH
async def test_a_server_that_refuses_a_fresh_token_ends_the_call_and_not_the_client(revision: str) -> None:
    scene = Scene(revision)

    async with scene.client() as client:
        inside, open = scene.guard.inside, True

        async def moody(request: httpx.Request) -> httpx.Response:
            if open:
                made = inside(request)
                return made if isinstance(made, httpx.Response) else await made
            return httpx.Response(401, headers={"www-authenticate": 'Bearer realm="moods"'}, text="not you")

        scene.guard.inside = moody
        open = False
        with pytest.raises(AuthRequiredError, match="not you") as caught:
            await client.call_tool("greet", {"name": "Ada"})
        open = True
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"

    assert caught.value.www_authenticate == 'Bearer realm="moods"'
    assert len(scene.server.authorizations) <= 3


@BOTH
async def test_a_call_that_needs_more_scopes_gets_them(revision: str) -> None:
    """AUTH-42."""
    scene = Scene(revision)
    scene.guard.needs = lambda request: ["write"] if b"tools/call" in request.content else []

    async with scene.client() as client:
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"

    assert [asked.get("scope") for asked in scene.server.authorizations] == [None, "write"]


@BOTH
async def test_a_call_that_gets_no_more_scopes_is_forbidden(revision: str) -> None:
    """AUTH-44."""
    scene = Scene(revision)
    scene.guard.needs = lambda request: ["write"] if b"tools/call" in request.content else []
    scene.server.grants_scopes = lambda scopes: set()

    async with scene.client() as client:
        with pytest.raises(ForbiddenError) as caught:
            await client.call_tool("greet", {"name": "Ada"})
        assert [each.name for each in (await client.list_tools()).tools] == ["greet"]

    assert 'scope="write"' in str(caught.value.www_authenticate)


@pytest.mark.parametrize("revision", [None, "2025-11-25", "2026-07-28"])
async def test_a_user_who_does_not_agree_is_asked_once(revision: str | None) -> None:
    """The failure ends the attempt to connect: no second handshake opens a second page."""
    scene = Scene("2026-07-28")
    scene.server.answer_user = lambda fields: {**fields, "error": "access_denied"}
    http = scene.world.client()

    async with mounted(scene.guard, scene.mcp):
        with pytest.raises(TokenError) as caught:
            await MCPClient.connect(MCP, auth=scene.auth, http_client=http, revision=revision)

    assert caught.value.code == "access_denied"
    assert len(scene.server.authorizations) == 1


async def test_calls_that_wait_for_one_consent_share_its_end() -> None:
    scene = Scene("2026-07-28")
    errors: list[AuthError] = []

    async with scene.client() as client:
        await scene.auth.forget()
        scene.server.answer_user = lambda fields: {**fields, "error": "access_denied"}

        async def call() -> None:
            with pytest.raises(TokenError) as caught:
                await client.call_tool("greet", {"name": "Ada"})
            errors.append(caught.value)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(call)

    assert len(errors) == 10
    assert len(scene.server.authorizations) == 2  # that of the beginning, and one for all ten


@BOTH
async def test_a_stream_that_breaks_comes_back_once_somebody_has_signed_in(revision: str) -> None:
    """And no page opens by itself, though the token can be neither used nor refreshed any more."""
    scene = Scene(revision)
    heard = Heard[Any]()
    settings: dict[str, Any] = {"auth": scene.auth, "http_client": scene.world.client(), "revision": revision}
    hears: dict[str, Any] = {"tools_list_changed": heard}

    async with mounted(scene.guard, scene.mcp) as exchanges, MCPClient.connect(MCP, **settings, **hears) as client:
        await scene.world.until(lambda: any(map(is_standing, exchanges)))
        await client.list_tools()
        scene.server.revoke_all()
        scene.server.refresh.clear()
        asked = len(scene.world.asked)
        for exchange in filter(is_standing, exchanges):
            exchange.leave()
        await scene.world.until(lambda: any(each.path == "/token" for each in scene.world.asked[asked:]))
        assert len(scene.server.authorizations) == 1

        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"
        assert len(scene.server.authorizations) == 2
        await scene.world.until(lambda: sum(map(is_standing, exchanges)) == 2)
        scene.mcp.collect(another)
        with anyio.fail_after(20):
            await heard.wait(1)


@tool
async def another() -> None: ...


def is_standing(exchange: Exchange) -> bool:
    """Whether this is the stream on which the server speaks by itself, and it has begun."""
    headers = dict(exchange.scope["headers"])
    listens = headers.get(b"mcp-method") == b"subscriptions/listen" or exchange.scope["method"] == "GET"
    return listens and exchange.status == 200


async def test_a_client_signs_in_to_a_server_of_2024_11_05() -> None:
    """By HTTP+SSE."""
    scene = Scene("2024-11-05")
    url = "http://localhost:8001/sse"
    scene.guard.metadata["resource"] = url
    scene.world.at(url, scene.guard.answer)

    async with mounted(scene.guard, scene.mcp, sse_path="/sse"):
        target = HttpSse(url, auth=scene.auth, http_client=scene.world.client())
        async with MCPClient.connect(target) as client:
            assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"

    assert len(scene.server.authorizations) == 1


class Once:
    """Somebody who signs in once, and the second time does not come back."""

    def __init__(self, redirect: HeadlessRedirect) -> None:
        self._redirect = redirect
        self.uri = redirect.uri
        self.sent = 0
        self.away = anyio.Event()

    @asynccontextmanager
    async def listen(self, preferred: Sequence[str]) -> AsyncGenerator[Landing]:
        yield self

    async def send(self, url: str, state: str) -> str:
        self.sent += 1
        if self.sent > 1:
            self.away.set()
            await anyio.sleep_forever()
        return await self._redirect.send(url, state)


@BOTH
async def test_a_client_can_be_closed_while_somebody_signs_in(revision: str) -> None:
    """B023."""
    scene = Scene(revision)
    user = Once(scene.world.redirect())
    scene.auth = AuthorizationCodeAuth(redirect=user, http_client=scene.world.client())
    scene.guard.needs = lambda request: ["write"] if b"tools/call" in request.content else []

    async with scene.client() as client, anyio.create_task_group() as group:

        async def call() -> None:
            with pytest.raises(ConnectionLost):
                await client.call_tool("greet", {"name": "Ada"})

        with anyio.fail_after(20):
            group.start_soon(call)
            await user.away.wait()
            await client.close()
