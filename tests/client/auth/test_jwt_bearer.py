"""`JwtBearerAuth`: a token for a signed statement, with or without a client."""

from __future__ import annotations

import pytest

from dedalus_mcp.client.auth.failures import TokenError
from dedalus_mcp.client.auth.jwt_bearer import JwtBearerAuth
from dedalus_mcp.client.client import MCPClient
from tests.client.auth.scripted import SERVER, World

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


async def test_a_workload_shows_what_its_platform_says_of_it_and_nothing_else() -> None:
    """SEP-1933."""
    world = World(grant_types_supported=[JWT_BEARER])
    auth = JwtBearerAuth("statement", http_client=world.http)

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    assert world.forms() == [{"grant_type": JWT_BEARER, "assertion": "statement", "resource": SERVER}]
    assert "authorization" not in world.posted[0].headers


async def test_a_client_may_show_who_it_is_besides() -> None:
    world = World(token_endpoint_auth_methods_supported=["client_secret_post"])
    auth = JwtBearerAuth("statement", client_id="me", client_secret="s", http_client=world.http)

    await world.http.post(SERVER, auth=auth)

    assert (world.forms()[0]["client_id"], world.forms()[0]["client_secret"]) == ("me", "s")


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_scope", "unauthorized_client"])
async def test_a_statement_that_was_refused_is_not_shown_again_nor_anything_else(code: str) -> None:
    """SEP-1933: neither retried, nor replaced by another grant."""
    world = World()
    world.say("as.example/token", 400, {"error": code})
    auth = JwtBearerAuth("statement", http_client=world.http)

    for _ in range(3):
        with pytest.raises(TokenError, match=code):
            await world.http.post(SERVER, auth=auth)

    assert [form["grant_type"] for form in world.forms()] == [JWT_BEARER]


async def test_a_client_that_connects_does_not_show_it_twice_either() -> None:
    world = World()
    world.say("as.example/token", 400, {"error": "invalid_grant"})

    with pytest.raises(TokenError, match="invalid_grant"):
        await MCPClient.connect(SERVER, auth=JwtBearerAuth("statement", http_client=world.http), http_client=world.http)
    assert len(world.forms()) == 1
    assert len(world.asked) == 1


async def test_another_statement_is_another_matter() -> None:
    world = World()
    world.say("as.example/token", 400, {"error": "invalid_grant"})
    fresh = iter(["old", "new"])
    auth = JwtBearerAuth(lambda server: next(fresh), http_client=world.http)
    with pytest.raises(TokenError):
        await world.http.post(SERVER, auth=auth)

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200


async def test_a_server_that_fails_has_refused_nothing() -> None:
    world = World()
    world.say("as.example/token", 503, "down")
    auth = JwtBearerAuth("statement", http_client=world.http)
    with pytest.raises(TokenError):
        await world.http.post(SERVER, auth=auth)

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200


def test_a_secret_needs_a_client() -> None:
    with pytest.raises(ValueError, match="need a client_id="):
        JwtBearerAuth("statement", client_secret="s")
