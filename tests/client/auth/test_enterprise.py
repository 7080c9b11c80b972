"""`EnterpriseAuth`: a token by the word of a company's identity provider."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from dedalus_mcp.client.auth.enterprise import EnterpriseAuth, IdentityProvider
from dedalus_mcp.client.auth.failures import AuthConfigError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials
from tests.client.auth.scripted import ISSUER, SERVER, World

IDP = AuthorizationServerMetadata(issuer="https://idp.example", token_endpoint="https://idp.example/exchange")
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ANSWER = {"access_token": "id-jag", "token_type": "N_A", "issued_token_type": ID_JAG, "expires_in": 300}


def make(world: World, server: AuthorizationServerMetadata | str = IDP) -> EnterpriseAuth:
    return EnterpriseAuth(
        client_id="me",
        client_secret="s",
        provider=IdentityProvider(server, ClientCredentials("me-at-idp")),
        identity_token="user",
        scopes="a",
        http_client=world.http,
    )


async def test_the_identity_provider_says_who_the_user_is_and_the_authorization_server_believes_it() -> None:
    """AUTH-55: the ID token goes to the provider alone, and what that gives to the named issuer alone."""
    world = World()
    world.say("idp.example/exchange", 200, ANSWER)

    assert (await world.http.post(SERVER, auth=make(world))).status_code == 200
    assert world.forms("idp.example/exchange") == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": ID_JAG,
            "audience": ISSUER,
            "resource": SERVER,
            "scope": "a",
            "subject_token": "user",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "client_id": "me-at-idp",
        }
    ]
    assert world.forms() == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": "id-jag",
            "scope": "a",
            "resource": SERVER,
        }
    ]
    assert b64decode(world.posted[1].headers["authorization"].partition(" ")[2]) == b"me:s"


async def test_the_provider_is_asked_again_when_there_is_to_be_another_token() -> None:
    world = World()
    auth = make(world)
    for number in "12":
        world.say("idp.example/exchange", 200, {**ANSWER, "access_token": f"id-jag-{number}"})
    await world.http.post(SERVER, auth=auth)
    world.refuse = 1

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    assert [form["assertion"] for form in world.forms()] == ["id-jag-1", "id-jag-2"]


async def test_a_provider_may_be_known_by_its_issuer() -> None:
    world = World()
    metadata = {"issuer": "https://idp.example", "token_endpoint": "https://idp.example/exchange"}
    world.say("idp.example/.well-known/oauth-authorization-server", 200, metadata)
    world.say("idp.example/exchange", 200, ANSWER)

    assert (await world.http.post(SERVER, auth=make(world, "https://idp.example"))).status_code == 200


async def test_metadata_of_another_provider_are_not_used() -> None:
    world = World()
    metadata = {"issuer": "https://evil.example", "token_endpoint": "https://idp.example/exchange"}
    world.say("idp.example/.well-known/oauth-authorization-server", 200, metadata)

    with pytest.raises(DiscoveryError, match="not used"):
        await world.http.post(SERVER, auth=make(world, "https://idp.example"))
    assert world.posted == []


@pytest.mark.parametrize("kind", [None, "urn:ietf:params:oauth:token-type:access_token"])
async def test_what_is_no_id_jag_is_shown_to_nobody(kind: str | None) -> None:
    world = World()
    answer: dict[str, Any] = {**ANSWER, "issued_token_type": kind}
    world.say("idp.example/exchange", 200, answer)

    with pytest.raises(AuthConfigError, match="not a urn:ietf:params:oauth:token-type:id-jag"):
        await world.http.post(SERVER, auth=make(world))
    assert world.forms() == []


async def test_a_policy_that_forbids_it_is_told() -> None:
    world = World()
    world.say("idp.example/exchange", 400, {"error": "access_denied", "error_description": "not for you"})

    with pytest.raises(TokenError, match="not for you") as caught:
        await world.http.post(SERVER, auth=make(world))
    assert caught.value.code == "access_denied"
    assert world.forms() == []


async def test_a_provider_without_a_token_endpoint_is_none() -> None:
    world = World()

    with pytest.raises(AuthConfigError, match="has no token_endpoint"):
        await world.http.post(SERVER, auth=make(world, AuthorizationServerMetadata(issuer="https://idp.example")))
