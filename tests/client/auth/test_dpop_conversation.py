"""Whole conversations with a server that lets in nobody without a proof, and changes its mind about nonces."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx

from dedalus_mcp import Context, MCPClient, MCPServer, tool
from dedalus_mcp.auth import DPoPNonceMismatchError, DPoPValidator
from dedalus_mcp.client.auth import AuthorizationCodeAuth, DPoP
from tests.client.auth.mounted import mounted
from tests.client.auth.world import AuthorizationServer, Guard, World
from tests.client.serving import BOTH
from tests.interaction.reach import Heard, text_of

MCP = "http://localhost:8001/mcp"
AS = "http://localhost:8002"
KEPT = 3
"""Requests for which a nonce is good."""


class BindingServer(AuthorizationServer):
    """Binds every token to the key of the proof that comes with the request for it."""

    def __init__(self, world: World, issuer: str) -> None:
        self.checks = DPoPValidator()
        self.bound: dict[str, str] = {}
        super().__init__(world, issuer)

    def _token(self, request: httpx.Request) -> httpx.Response:
        proof = self.checks.validate_proof(request.headers["dpop"], "POST", f"{self.base}/token")
        given: dict[str, Any] = super()._token(request).json()
        self.bound[given["access_token"]] = proof.thumbprint
        return httpx.Response(200, json={**given, "token_type": "DPoP"})


@dataclass
class ProvingGuard(Guard):
    """Wants a proof with each request, and every few requests another nonce in it."""

    scheme: str = "DPoP"
    checks: DPoPValidator = field(default_factory=DPoPValidator)
    taken: int = 0
    renewed: int = 0

    async def answer(self, request: httpx.Request) -> httpx.Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme != self.scheme or self.server.knows(token) is None:
            return await super().answer(request)
        nonce = f"nonce-{self.taken // KEPT}"
        assert isinstance(self.server, BindingServer)
        try:
            self.checks.validate_proof(
                request.headers["dpop"],
                request.method,
                MCP,
                expected_thumbprint=self.server.bound[token],
                access_token=token,
                expected_nonce=nonce,
            )
        except DPoPNonceMismatchError:
            self.renewed += 1
            wants = {"www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": nonce}
            return httpx.Response(401, headers=wants)
        self.taken += 1
        return await super().answer(request)


class Scene:
    def __init__(self, revision: str, *tools: Any) -> None:
        self.world = World()
        self.server = BindingServer(self.world, AS)
        self.guard = ProvingGuard(self.world, MCP, self.server)
        self.mcp = MCPServer("proving")
        self.mcp.collect(*tools)
        self.auth = AuthorizationCodeAuth(redirect=self.world.redirect(), http_client=self.world.client(), proof=DPoP())
        self.revision = revision

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[MCPClient]:
        async with mounted(self.guard, self.mcp):
            http = self.world.client()
            async with MCPClient.connect(MCP, auth=self.auth, http_client=http, revision=self.revision) as client:
                yield client


@tool
async def double(number: int) -> int:
    return 2 * number


@BOTH
async def test_every_request_has_a_proof_of_its_own_and_the_nonce_of_the_day(revision: str) -> None:
    """SEP-1932; RFC 9449, 7 to 9."""
    scene = Scene(revision, double)

    async with scene.client() as client:
        for number in range(2 * KEPT):
            assert text_of(await client.call_tool("double", {"number": number})) == str(2 * number)

    assert scene.guard.taken > 2 * KEPT
    assert scene.guard.renewed >= 2
    assert len(scene.server.authorizations) == 1


@BOTH
async def test_progress_comes_while_the_call_runs(revision: str) -> None:
    heard, told = Heard[float](), anyio.Event()

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
async def test_a_token_that_is_taken_back_is_replaced_by_one_for_the_same_key(revision: str) -> None:
    scene = Scene(revision, double)

    async with scene.client() as client:
        await client.call_tool("double", {"number": 1})
        scene.server.revoke_all()
        assert text_of(await client.call_tool("double", {"number": 2})) == "4"

    assert len(set(scene.server.bound.values())) == 1
    assert len(scene.server.bound) >= 2


@BOTH
async def test_many_calls_at_once_get_through_and_nobody_signs_in_again(revision: str) -> None:
    """A nonce may be over by the time that a request with it arrives: that says nothing against the token."""
    scene = Scene(revision, double)
    doubled: set[str] = set()

    async with scene.client() as client, anyio.create_task_group() as group:

        async def call(number: int) -> None:
            doubled.add(text_of(await client.call_tool("double", {"number": number})))

        for number in range(3 * KEPT):
            group.start_soon(call, number)

    assert doubled == {str(2 * number) for number in range(3 * KEPT)}
    assert len(scene.server.authorizations) == 1
    assert len(scene.server.bound) == 1
