"""Discovery by itself: who gives tokens for a server."""

from __future__ import annotations

import httpx
import pytest

from dedalus_mcp.client.auth import (
    DiscoveryError,
    discover_authorization_server,
    fetch_authorization_server_metadata,
    fetch_resource_metadata,
)
from tests.client.auth.scene import AS, MCP, Scene
from tests.client.auth.world import World


async def test_a_server_is_asked_and_says_who_gives_tokens_for_it() -> None:
    scene = Scene()
    scene.world.gone(str(scene.guard.place))
    scene.guard.place = "http://localhost:8001/custom/location.json"
    scene.guard.__post_init__()

    found = await discover_authorization_server(scene.world.client(), MCP)

    assert found.server.issuer == AS
    assert found.resource is not None
    assert found.resource.resource == MCP
    assert scene.order()[:2] == [MCP, "http://localhost:8001/custom/location.json"]
    assert scene.server.authorizations == []


async def test_a_server_that_lets_everybody_in_is_asked_at_the_usual_places() -> None:
    scene = Scene()
    scene.world.at(MCP, lambda request: httpx.Response(405))

    found = await discover_authorization_server(scene.world.client(), MCP)

    assert found.server.issuer == AS


async def test_the_documents_can_be_had_one_by_one() -> None:
    scene = Scene()
    http = scene.world.client()

    resource = await fetch_resource_metadata(http, MCP)
    assert resource is not None
    assert resource.authorization_servers == (AS,)
    assert (await fetch_authorization_server_metadata(http, AS)).token_endpoint == f"{AS}/token"


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(DiscoveryError, match=r"cannot reach 'http://localhost:8001/mcp': there is no localhost"):
        await discover_authorization_server(World().client(), MCP)


async def test_credentials_of_the_callers_client_are_not_shown() -> None:
    scene = Scene()
    http = httpx.AsyncClient(transport=scene.world, auth=("me", "s3cret"))

    await discover_authorization_server(http, MCP)

    assert [asked for asked in scene.world.asked if "authorization" in asked.headers] == []
