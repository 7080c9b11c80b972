"""Nothing secret is shown: not in any `repr`, not in an error, not in a log, whatever happens."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth import (
    AuthError,
    BearerAuth,
    ClientCredentials,
    ClientInformation,
    DPoPAuth,
    MemoryTokenStorage,
    Registration,
    TokenResponse,
)
from dedalus_mcp.client.auth.authorization_request import AuthorizationRequest
from dedalus_mcp.client.auth.login import Login
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.token_endpoint import read_token
from tests.client.auth.scene import AS, MCP, Scene
from tests.client.auth.world import refusal

SECRET = "s3cret"
TOKEN = TokenResponse(
    access_token=f"access-{SECRET}", refresh_token=f"refresh-{SECRET}", id_token=f"id-{SECRET}", expires_in=60
)
INFORMATION = ClientInformation(
    client_id="me", client_secret=f"client-{SECRET}", registration_access_token=f"reg-{SECRET}"
)
SERVER = AuthorizationServerMetadata(issuer=AS)


def holders() -> Iterator[object]:
    """Everything that holds a secret."""
    storage = MemoryTokenStorage()
    yield TOKEN
    yield INFORMATION
    yield Login(server=MCP, issuer=AS, token=TOKEN, got_at=0)
    yield ClientCredentials("me", f"client-{SECRET}")
    yield Registration(client_id="me", client_secret=f"client-{SECRET}")
    yield BearerAuth(f"access-{SECRET}")
    yield storage
    yield Scene().auth(client_id="me", client_secret=f"client-{SECRET}")
    yield AuthorizationRequest(
        url=f"{AS}/authorize?state={SECRET}",
        redirect_uri="http://localhost/callback",
        state=SECRET,
        verifier=SECRET,
        issuer=AS,
        has_iss=True,
    )


@pytest.mark.parametrize("holder", list(holders()), ids=lambda holder: type(holder).__name__)
def test_nothing_that_holds_a_secret_shows_it(holder: Any) -> None:
    """AUTH-47, AUTH-48."""
    shown = [repr(holder), str(holder), f"{holder!r:.9999}", repr([holder])]
    if hasattr(holder, "__rich_repr__"):
        shown.append(repr(list(holder.__rich_repr__())))

    assert not any(SECRET in each for each in shown)


def test_what_is_no_secret_is_shown() -> None:
    assert repr(TOKEN) == (
        "TokenResponse(access_token='***', token_type='Bearer', expires_in=60, refresh_token='***', id_token='***')"
    )
    assert repr(ClientCredentials("me", SECRET)) == "ClientCredentials('me', method=None)"


def given_back(form: dict[str, str]) -> httpx.Response:
    """A server that says back what it was sent, in the one place where it may: its own words."""
    return refusal(400, "invalid_request", error_description="no")


ANSWERS: list[Callable[[dict[str, str]], httpx.Response]] = [
    given_back,
    lambda form: httpx.Response(500, text=f"access-{SECRET}"),
    lambda form: httpx.Response(200, json={"access_token": {"nested": f"access-{SECRET}"}}),
    lambda form: httpx.Response(200, json={"access_token": f"access-{SECRET}\r\nx: y"}),
    lambda form: httpx.Response(200, json={"access_token": f"access-{SECRET}", "token_type": "mac"}),
    lambda form: httpx.Response(200, json={"access_token": f"access-{SECRET}", "expires_in": "soon"}),
    lambda form: httpx.Response(200, text=f"access_token=access-{SECRET}&token_type=bearer"),
    lambda form: httpx.Response(200, content=b'{"access_token": "access-' + SECRET.encode() + b"\xff"),
]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
async def test_no_failure_to_get_a_token_shows_a_secret(number: int, caplog: pytest.LogCaptureFixture) -> None:
    """AUTH-48: neither what was sent nor what came."""
    caplog.set_level(logging.DEBUG)
    scene = Scene()
    scene.server.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    scene.server.clients["me"] = f"client-{SECRET}"
    scene.server.answer_token = ANSWERS[number]

    with pytest.raises(AuthError) as caught:
        await scene.visit(client_id="me", client_secret=f"client-{SECRET}")

    sent = scene.server.redeemed[0]
    kept = [f"access-{SECRET}", f"client-{SECRET}", sent["code"], sent["code_verifier"]]
    told = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(caught.value.__dict__)
    assert [each for each in kept if each in told] == []


async def test_no_log_of_a_whole_conversation_shows_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene = Scene()
    http = scene.world.client(scene.auth())
    await http.post(MCP)
    scene.server.revoke_all()
    await http.post(MCP)

    secrets = [*scene.server.spent, *scene.server.tokens, *scene.server.refresh]
    secrets += [value for form in scene.server.redeemed for name, value in form.items() if name in ("code_verifier",)]
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("dedalus_mcp"))
    assert len(secrets) >= 3
    assert [each for each in secrets if each in ours] == []


async def test_what_is_kept_and_cannot_be_read_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    await scene.storage.save(f"token {MCP}", b'{"token": "access-' + SECRET.encode())

    assert (await scene.visit()).status_code == 200
    assert "is no Login any more" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("token", [f"{SECRET}\r\nx", f"{SECRET} ", f" {SECRET}", f"a {SECRET}", f"{SECRET}\u20ac", ""])
def test_a_token_that_no_header_can_hold_is_refused_and_not_said(token: str) -> None:
    with pytest.raises(AuthError, match="is none that a header could hold") as caught:
        read_token(200, json.dumps({"access_token": token}).encode(), AS)

    assert SECRET not in str(caught.value)
    with pytest.raises(ValueError, match="a token is printable ASCII without spaces"):
        BearerAuth(token)
    with pytest.raises(ValueError, match="a token is printable ASCII without spaces"):
        DPoPAuth(token, SigningKey.generate())


async def test_the_secrets_of_an_answer_are_those_of_the_server() -> None:
    """What a server says is quoted, so it must be short: it may be anything."""
    scene = Scene()
    long = "x" * 10_000
    scene.server.answer_token = lambda form: refusal(400, long, error_description=long)

    with pytest.raises(AuthError) as caught:
        await scene.visit()

    assert len(str(caught.value)) < 500
    assert SERVER.issuer in str(caught.value)
