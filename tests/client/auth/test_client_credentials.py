"""`ClientCredentialsAuth`: tokens for a program of its own."""

from __future__ import annotations

from base64 import b64decode

import anyio
import msgspec
import pytest

from dedalus_mcp.auth.jose import SigningKey, verify
from dedalus_mcp.client.auth.client_credentials import ClientCredentialsAuth
from dedalus_mcp.client.auth.failures import AuthConfigError, TokenError
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import DedalusError
from tests.client.auth.scripted import ISSUER, SERVER, World

KEY = SigningKey.generate()


async def test_the_token_is_got_when_it_is_needed_and_kept() -> None:
    """AUTH-53: asked for when the server wants one, shown from then on (AUTH-34, AUTH-45)."""
    world = World()
    auth = ClientCredentialsAuth(client_id="me", client_secret="s3cret", scopes="a b", http_client=world.http)

    answers = [await world.http.post(SERVER, auth=auth) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert world.forms() == [{"grant_type": "client_credentials", "scope": "a b", "resource": SERVER}]
    assert [asked.get("authorization") for asked in world.asked] == [None, *["Bearer token-1"] * 3]


async def test_a_secret_is_shown_in_the_header_where_nothing_is_said() -> None:
    world = World()
    auth = ClientCredentialsAuth(client_id="me:too", client_secret="s%cret", http_client=world.http)

    await world.http.post(SERVER, auth=auth)

    scheme, _, shown = world.posted[0].headers["authorization"].partition(" ")
    assert (scheme, b64decode(shown)) == ("Basic", b"me%3Atoo:s%25cret")
    assert "client_id" not in world.posted[0].form


async def test_a_secret_is_shown_in_the_form_where_the_server_wants_it_there() -> None:
    world = World(token_endpoint_auth_methods_supported=["client_secret_post"])
    auth = ClientCredentialsAuth(client_id="me", client_secret="s3cret", http_client=world.http)

    await world.http.post(SERVER, auth=auth)

    assert world.forms()[0]["client_id"] == "me"
    assert world.forms()[0]["client_secret"] == "s3cret"
    assert "authorization" not in world.posted[0].headers


async def test_a_key_signs_a_statement_for_this_authorization_server_alone() -> None:
    """AUTH-53: RFC 7523, 3."""
    world = World(token_endpoint_auth_methods_supported=["private_key_jwt"])
    auth = ClientCredentialsAuth(client_id="me", private_key=KEY, http_client=world.http)

    await world.http.post(SERVER, auth=auth)

    form = world.forms()[0]
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    claims = verify(form["client_assertion"], KEY.public, ["ES256"]).claims
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", ISSUER)
    assert 0 < claims["exp"] - claims["iat"] <= 300
    assert len(claims["jti"]) >= 16


async def test_no_statement_is_made_twice() -> None:
    world = World()
    auth = ClientCredentialsAuth(client_id="me", private_key=KEY, http_client=world.http)
    await world.http.post(SERVER, auth=auth)
    world.refuse = 1

    await world.http.post(SERVER, auth=auth)

    first, second = (verify(form["client_assertion"], KEY.public).claims["jti"] for form in world.forms())
    assert first != second


async def test_a_key_that_the_server_cannot_check_is_not_used() -> None:
    world = World(token_endpoint_auth_signing_alg_values_supported=["PS256"])
    auth = ClientCredentialsAuth(client_id="me", private_key=KEY, http_client=world.http)

    with pytest.raises(AuthConfigError, match=r"PS256.*the key of client 'me' is for ES256"):
        await world.http.post(SERVER, auth=auth)
    assert world.posted == []


async def test_a_token_is_got_anew_before_its_end() -> None:
    now = 1000.0
    world = World()
    world.life = 600
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http, clock=lambda: now)
    await world.http.post(SERVER, auth=auth)

    now += 569
    await world.http.post(SERVER, auth=auth)
    assert len(world.forms()) == 1
    now += 2
    await world.http.post(SERVER, auth=auth)

    assert len(world.forms()) == 2
    assert [asked.get("authorization") for asked in world.asked] == [
        None,
        "Bearer token-1",
        "Bearer token-1",
        "Bearer token-2",
    ]


async def test_a_token_that_is_refused_is_replaced_once() -> None:
    world = World()
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)
    await world.http.post(SERVER, auth=auth)
    world.refuse = 1

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    world.refuse = 10
    assert (await world.http.post(SERVER, auth=auth)).status_code == 401

    assert len(world.forms()) == 3


async def test_what_the_server_says_against_the_client_is_told() -> None:
    world = World()
    world.say("as.example/token", 401, {"error": "invalid_client", "error_description": "who?"})
    auth = ClientCredentialsAuth(client_id="me", client_secret="s3cret", http_client=world.http)

    with pytest.raises(TokenError, match="invalid_client") as caught:
        await world.http.post(SERVER, auth=auth)

    assert (caught.value.code, caught.value.status) == ("invalid_client", 401)
    assert "s3cret" not in str(caught.value)


async def test_a_secret_is_for_the_issuer_that_is_named_and_no_other() -> None:
    """AUTH-31."""
    world = World()
    auth = ClientCredentialsAuth(
        client_id="me", client_secret="s", issuer="https://other.example", http_client=world.http
    )

    with pytest.raises(AuthConfigError, match=r"not of 'https://other\.example'"):
        await world.http.post(SERVER, auth=auth)
    assert world.posted == []


async def test_one_token_is_got_for_all_who_wait_for_it() -> None:
    world = World()
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(lambda: world.http.post(SERVER, auth=auth))

    assert len(world.forms()) == 1


async def test_a_token_can_be_got_ahead_of_time() -> None:
    world = World()
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)

    assert (await auth.get_token(SERVER)).access_token == "token-1"
    assert world.asked == []


async def test_a_client_says_that_it_speaks_the_extension_by_which_it_gets_its_tokens() -> None:
    """AUTH-53; what the user declares besides is declared as well."""
    world = World()
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)
    connecting = MCPClient.connect(SERVER, auth=auth, http_client=world.http, extensions={"com.example/x": {"a": 1}})

    with pytest.raises(DedalusError):  # what answers is no MCP server
        await connecting

    declared = msgspec.json.decode(world.bodies[0])["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared["extensions"] == {"io.modelcontextprotocol/oauth-client-credentials": {}, "com.example/x": {"a": 1}}


def test_a_client_has_a_secret_or_a_key() -> None:
    with pytest.raises(ValueError, match="client_secret= or private_key="):
        ClientCredentialsAuth(client_id="me")
    with pytest.raises(ValueError, match="not by both"):
        ClientCredentialsAuth(client_id="me", client_secret="s", private_key=KEY)
    with pytest.raises(ValueError, match="client_id= is empty"):
        ClientCredentialsAuth(client_id="", client_secret="s")


def test_nothing_secret_is_shown() -> None:
    assert "s3cret" not in repr(ClientCredentialsAuth(client_id="me", client_secret="s3cret"))
