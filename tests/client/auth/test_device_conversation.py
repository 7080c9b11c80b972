"""A whole conversation in which the user signs in on another device, and takes their time.  In virtual time."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient, MCPServer, tool
from dedalus_mcp.client.auth import DeviceAuthorization, DeviceCodeAuth
from tests.client.auth.mounted import mounted
from tests.client.auth.world import AuthorizationServer, Guard, Issued, World, refusal
from tests.client.serving import BOTH
from tests.interaction.reach import text_of
from tests.virtual_time import virtual

MCP = "http://localhost:8001/mcp"
AS = "http://localhost:8002"
POLLS = 6  # one each second: the server of these tests is given ten


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


@tool
async def greet(name: str) -> str:
    return f"Hello, {name}"


@BOTH
async def test_calls_wait_for_a_user_longer_than_for_a_server(revision: str) -> None:
    world = World()
    server = AuthorizationServer(world, AS)
    server.metadata["device_authorization_endpoint"] = f"{AS}/device"
    told = {
        "device_code": "d",
        "user_code": "ABC",
        "verification_uri": f"{AS}/activate",
        "expires_in": 60,
        "interval": 1,
    }
    world.at(f"{AS}/device", lambda request: httpx.Response(200, json=told))

    def answer(form: dict[str, str]) -> httpx.Response:
        if len(server.redeemed) < POLLS:
            return refusal(400, "authorization_pending")
        server.tokens["t"] = Issued(form["client_id"], frozenset(), form["resource"])
        return httpx.Response(200, json={"access_token": "t", "token_type": "Bearer"})

    server.answer_token = answer
    shown: list[DeviceAuthorization] = []
    auth = DeviceCodeAuth(client_id="tv", show=shown.append, http_client=world.client())
    mcp = MCPServer("guarded")
    mcp.collect(greet)
    guard = Guard(world, MCP, server)
    begin = anyio.current_time()

    async with (
        mounted(guard, mcp),
        MCPClient.connect(MCP, auth=auth, http_client=world.client(), revision=revision, timeout=2) as client,
    ):
        assert text_of(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada"
        assert anyio.current_time() - begin >= POLLS

    assert [each.user_code for each in shown] == ["ABC"]
