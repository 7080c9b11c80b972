"""`TokenExchangeAuth`: a token for another one."""

from __future__ import annotations

import pytest

from dedalus_mcp.client.auth.failures import AuthConfigError
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.token_exchange import ID_TOKEN, TokenExchangeAuth
from dedalus_mcp.client.client import MCPClient
from tests.client.auth.scripted import ISSUER, SERVER, World

ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


async def test_a_token_is_exchanged_for_one_of_the_server() -> None:
    """RFC 8693, 2.1; AUTH-34."""
    world = World()
    auth = TokenExchangeAuth(client_id="me", subject_token="theirs", scopes=["a"], http_client=world.http)

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    assert world.forms() == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": "theirs",
            "subject_token_type": ACCESS_TOKEN,
            "requested_token_type": ACCESS_TOKEN,
            "resource": SERVER,
            "scope": "a",
            "client_id": "me",
        }
    ]


async def test_whoever_acts_for_another_says_so() -> None:
    world = World()
    auth = TokenExchangeAuth(
        client_id="me", subject_token="user", subject_token_type=ID_TOKEN, actor_token="agent", http_client=world.http
    )

    await world.http.post(SERVER, auth=auth)

    form = world.forms()[0]
    assert (form["subject_token"], form["subject_token_type"]) == ("user", ID_TOKEN)
    assert (form["actor_token"], form["actor_token_type"]) == ("agent", ACCESS_TOKEN)


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_the_token_to_exchange_is_asked_for_whenever_there_is_to_be_a_new_one(kind: str) -> None:
    world = World()
    fresh = iter(["first\n", "second\n"])
    asked: list[str] = []

    def plain(server: AuthorizationServerMetadata) -> str:
        asked.append(server.issuer)
        return next(fresh)

    async def later(server: AuthorizationServerMetadata) -> str:
        return plain(server)

    source = plain if kind == "plain" else later
    auth = TokenExchangeAuth(client_id="me", subject_token=source, http_client=world.http)
    await world.http.post(SERVER, auth=auth)
    world.refuse = 1
    await world.http.post(SERVER, auth=auth)

    assert [form["subject_token"] for form in world.forms()] == ["first", "second"]
    assert asked == [ISSUER, ISSUER]


async def test_nothing_is_exchanged_for_nothing() -> None:
    world = World()
    auth = TokenExchangeAuth(client_id="me", subject_token=lambda server: "", http_client=world.http)

    with pytest.raises(AuthConfigError, match="the text is empty"):
        await world.http.post(SERVER, auth=auth)
    assert world.posted == []


async def test_a_token_that_cannot_be_had_says_why() -> None:
    world = World()

    def gone(server: AuthorizationServerMetadata) -> str:
        raise FileNotFoundError("no such file: token")

    auth = TokenExchangeAuth(client_id="me", subject_token=gone, http_client=world.http)
    with pytest.raises(AuthConfigError, match=r"what to show to 'https://as\.example'.*no such file") as caught:
        await MCPClient.connect(SERVER, auth=auth, http_client=world.http)

    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_the_token_is_not_shown() -> None:
    assert "theirs" not in repr(TokenExchangeAuth(client_id="me", subject_token="theirs"))
