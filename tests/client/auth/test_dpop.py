"""`DPoP` and `DPoPAuth`: tokens that are bound to a key, got and shown with proofs."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp.auth.dpop_proof import generate_dpop_keypair
from dedalus_mcp.auth.dpop_validator import DPoPValidator
from dedalus_mcp.auth.jose import unverified
from dedalus_mcp.client.auth.client_credentials import ClientCredentialsAuth
from dedalus_mcp.client.auth.device_code import DeviceAuthorization, DeviceCodeAuth
from dedalus_mcp.client.auth.dpop import MAX_NONCE, MAX_NONCES, DPoP, DPoPAuth
from dedalus_mcp.client.auth.enterprise import EnterpriseAuth, IdentityProvider
from dedalus_mcp.client.auth.failures import AuthConfigError, TokenError
from dedalus_mcp.client.auth.grant import NONCE_RETRIES
from dedalus_mcp.client.auth.jwt_bearer import JwtBearerAuth
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.oauth import OAuth
from dedalus_mcp.client.auth.storage import MemoryTokenStorage
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials
from dedalus_mcp.client.auth.token_exchange import TokenExchangeAuth
from tests.client.auth.scripted import ISSUER, SERVER, World
from tests.virtual_time import virtual

KEY, _ = generate_dpop_keypair()
TOKEN_ENDPOINT = f"{ISSUER}/token"
WANTS_NONCE = 'DPoP error="use_dpop_nonce"'


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


def world_of_dpop() -> World:
    world = World(device_authorization_endpoint=f"{ISSUER}/device", dpop_signing_alg_values_supported=["ES256"])
    world.token_type = world.challenge = "DPoP"
    return world


def claims_of(headers: httpx.Headers) -> dict[str, Any]:
    return unverified(headers["dpop"]).claims


def credentials(world: World, proof: DPoP, **options: Any) -> ClientCredentialsAuth:
    return ClientCredentialsAuth(client_id="me", client_secret="s", proof=proof, http_client=world.http, **options)


def silently(authorization: DeviceAuthorization) -> None:
    """Show a code to nobody."""


IDP = AuthorizationServerMetadata(issuer="https://idp.example", token_endpoint="https://idp.example/exchange")
ID_JAG = {"access_token": "j", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}
DEVICE = {"device_code": "d", "user_code": "u", "verification_uri": ISSUER, "expires_in": 60}
GRANTS: dict[str, Any] = {
    "client": partial(ClientCredentialsAuth, client_id="me", client_secret="s"),
    "exchange": partial(TokenExchangeAuth, client_id="me", subject_token="t"),
    "statement": partial(JwtBearerAuth, "statement"),
    "device": partial(DeviceCodeAuth, client_id="me", show=silently),
    "enterprise": partial(
        EnterpriseAuth,
        client_id="me",
        provider=IdentityProvider(IDP, ClientCredentials("me")),
        identity_token="user",
    ),
}


@pytest.mark.parametrize("grant", GRANTS)
async def test_every_grant_gets_a_bound_token_and_shows_it_with_a_new_proof_each_time(grant: str) -> None:
    """SEP-1932; RFC 9449, 5 and 7.1."""
    world, checks = world_of_dpop(), DPoPValidator()
    world.say("as.example/device", 200, DEVICE)
    world.say("idp.example/exchange", 200, ID_JAG)
    auth: OAuth = GRANTS[grant](proof=DPoP(KEY), http_client=world.http)

    for _ in range(2):
        assert (await world.http.post(SERVER, auth=auth)).json() == {"shown": "DPoP token-1"}

    token_request = next(posted for posted in world.posted if posted.path == "as.example/token")
    found = checks.validate_proof(
        token_request.headers["dpop"], "POST", TOKEN_ENDPOINT, expected_thumbprint=KEY.thumbprint
    )
    assert found.thumbprint == KEY.thumbprint
    for headers in world.asked[1:]:
        checks.validate_proof(
            headers["dpop"], "POST", SERVER, access_token="token-1", expected_thumbprint=KEY.thumbprint
        )
    assert "dpop" not in world.asked[0]


async def test_a_nonce_that_the_authorization_server_wants_is_used_once_asked_for_and_remembered() -> None:
    """RFC 9449, 8."""
    world = world_of_dpop()
    world.say("as.example/token", 400, {"error": "use_dpop_nonce"}, dpop_nonce="one")
    auth = credentials(world, DPoP(KEY))
    await world.http.post(SERVER, auth=auth)
    world.refuse = 1

    await world.http.post(SERVER, auth=auth)

    proofs = [claims_of(posted.headers) for posted in world.posted]
    assert [proof.get("nonce") for proof in proofs] == [None, "one", "one"]
    assert len({proof["jti"] for proof in proofs}) == 3


async def test_a_nonce_that_the_mcp_server_wants_is_its_own() -> None:
    """RFC 9449, 9: what the authorization server wants to see is nothing to it, and the other way round."""
    world = world_of_dpop()
    world.say("as.example/token", 400, {"error": "use_dpop_nonce"}, dpop_nonce="of the AS")
    auth = credentials(world, DPoP(KEY))
    await world.http.post(SERVER, auth=auth)
    world.say("mcp.example/mcp", 401, {}, www_authenticate=WANTS_NONCE, dpop_nonce="of the server")

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    assert (await world.http.post(SERVER, auth=auth)).status_code == 200

    assert [claims_of(asked).get("nonce") for asked in world.asked[1:]] == [
        None,
        None,
        "of the server",
        "of the server",
    ]
    assert len(world.forms()) == 2  # the token is as good as before


async def test_a_nonce_in_any_answer_is_for_the_next_request() -> None:
    """RFC 9449, 8.2."""
    world = world_of_dpop()
    auth = credentials(world, DPoP(KEY))
    await world.http.post(SERVER, auth=auth)
    world.say("mcp.example/mcp", 200, {}, dpop_nonce="next")

    await world.http.post(SERVER, auth=auth)
    await world.http.post(SERVER, auth=auth)

    assert [claims_of(asked).get("nonce") for asked in world.asked[1:]] == [None, None, "next"]


async def test_a_server_that_never_has_enough_of_nonces_is_given_up() -> None:
    world = world_of_dpop()
    for number in range(9):
        world.say("as.example/token", 400, {"error": "use_dpop_nonce"}, dpop_nonce=str(number))

    with pytest.raises(TokenError, match="use_dpop_nonce"):
        await world.http.post(SERVER, auth=credentials(world, DPoP(KEY)))
    assert len(world.forms()) == 2


async def test_an_mcp_server_that_never_has_enough_of_nonces_is_given_up() -> None:
    world = world_of_dpop()
    auth = credentials(world, DPoP(KEY))
    await auth.get_token(SERVER)
    for number in range(50):
        world.say("mcp.example/mcp", 401, {}, www_authenticate=WANTS_NONCE, dpop_nonce=str(number))

    assert (await world.http.post(SERVER, auth=auth)).status_code == 401
    assert len(world.asked) == 1 + NONCE_RETRIES
    assert len(world.forms()) == 1  # another token would not help


async def test_a_server_that_wants_a_nonce_before_there_is_a_token_is_shown_one() -> None:
    world = world_of_dpop()
    world.challenge = WANTS_NONCE

    assert (await world.http.post(SERVER, auth=credentials(world, DPoP(KEY)))).status_code == 200


async def test_a_server_that_wants_a_nonce_and_gives_none_is_not_asked_again() -> None:
    world = world_of_dpop()
    world.say("as.example/token", 400, {"error": "use_dpop_nonce"})

    with pytest.raises(TokenError, match="use_dpop_nonce"):
        await world.http.post(SERVER, auth=credentials(world, DPoP(KEY)))
    assert len(world.forms()) == 1


async def test_a_token_that_is_not_bound_is_not_taken_for_one_that_is() -> None:
    world = world_of_dpop()
    world.say("as.example/token", 200, {"access_token": "t", "token_type": "Bearer"})

    with pytest.raises(AuthConfigError, match="'Bearer', not DPoP"):
        await world.http.post(SERVER, auth=credentials(world, DPoP(KEY)))


async def test_a_server_that_takes_bound_tokens_only_is_heard_before_anybody_is_asked() -> None:
    world = world_of_dpop()
    world.resource["dpop_bound_access_tokens_required"] = True
    world.challenge = "Bearer"
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)

    with pytest.raises(AuthConfigError, match=r"bound to a key: give proof=DPoP\(\)"):
        await world.http.post(SERVER, auth=auth)
    assert world.posted == []
    assert (await world.http.post(SERVER, auth=credentials(world, DPoP(KEY)))).status_code == 200


async def test_a_bound_token_that_nobody_asked_for_is_not_used() -> None:
    world = world_of_dpop()
    world.challenge = "Bearer"
    auth = ClientCredentialsAuth(client_id="me", client_secret="s", http_client=world.http)

    with pytest.raises(AuthConfigError, match=r"'DPoP', not Bearer \(proof=DPoP\(\) asks for those\)"):
        await world.http.post(SERVER, auth=auth)


async def test_a_token_that_was_kept_is_of_use_with_the_same_key_only() -> None:
    world, storage = world_of_dpop(), MemoryTokenStorage()
    await world.http.post(SERVER, auth=credentials(world, DPoP(KEY), storage=storage))

    await world.http.post(SERVER, auth=credentials(world, DPoP(KEY), storage=storage))
    assert len(world.forms()) == 1
    await world.http.post(SERVER, auth=credentials(world, DPoP(), storage=storage))
    assert len(world.forms()) == 2


async def test_a_token_is_refreshed_with_a_proof() -> None:
    now = 1000.0
    world = world_of_dpop()
    token = {"access_token": "first", "token_type": "DPoP", "refresh_token": "again", "expires_in": 60}
    world.say("as.example/token", 200, token)
    auth = credentials(world, DPoP(KEY), clock=lambda: now)
    await auth.get_token(SERVER)
    now += 59

    await world.http.post(SERVER, auth=auth)

    assert world.forms()[1]["grant_type"] == "refresh_token"
    assert claims_of(world.posted[1].headers)["htu"] == TOKEN_ENDPOINT


async def test_a_statement_of_the_client_is_made_anew_with_the_nonce() -> None:
    """RFC 7523, 3: the server may remember the `jti` of the first one."""
    world = world_of_dpop()
    world.say("as.example/token", 400, {"error": "use_dpop_nonce"}, dpop_nonce="one")
    auth = ClientCredentialsAuth(client_id="me", private_key=KEY, proof=DPoP(KEY), http_client=world.http)

    await world.http.post(SERVER, auth=auth)

    first, second = (unverified(form["client_assertion"]).claims["jti"] for form in world.forms())
    assert first != second


def test_nonces_are_remembered_within_bounds() -> None:
    proof = DPoP(KEY)
    for number in range(MAX_NONCES + 1):
        proof.learn(f"https://h/{number}", {"dpop-nonce": str(number)})
    proof.learn("https://h/1", {"dpop-nonce": "x" * (MAX_NONCE + 1)})
    proof.learn("https://h/1", {"dpop-nonce": ""})
    proof.learn("https://h/1", {})

    known = [claims_of(httpx.Headers(dict(proof.headers("GET", f"https://h/{number}")))) for number in range(3)]
    assert [claims.get("nonce") for claims in known] == [None, "1", "2"]


def test_a_nonce_holds_for_its_url_whatever_the_query_is() -> None:
    proof = DPoP(KEY)
    proof.learn("https://H:443/mcp?a=b", {"dpop-nonce": "n"})

    assert claims_of(httpx.Headers(dict(proof.headers("GET", "https://h/mcp#x"))))["nonce"] == "n"


# Tokens that are there already.


async def test_a_token_that_is_there_is_shown_with_proofs() -> None:
    """The names of RFC 9449 in `DPoPAuth`; a nonce that the server wants is heard."""
    world, checks = world_of_dpop(), DPoPValidator()
    token = (await credentials(world, DPoP(KEY)).get_token(SERVER)).access_token
    auth = DPoPAuth(token, KEY)
    world.say("mcp.example/mcp", 401, {}, www_authenticate=WANTS_NONCE, dpop_nonce="one")

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    for headers, nonce in zip(world.asked, (None, "one"), strict=True):
        checks.validate_proof(headers["dpop"], "POST", SERVER, access_token=token, expected_nonce=nonce)


async def test_many_requests_that_hear_of_a_new_nonce_at_once_all_use_it() -> None:
    without, all_asked = 0, anyio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal without
        if claims_of(request.headers).get("nonce") == "one":
            return httpx.Response(200)
        without += 1
        if without == 5:
            all_asked.set()
        await all_asked.wait()
        return httpx.Response(401, headers={"www-authenticate": WANTS_NONCE, "dpop-nonce": "one"})

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer), auth=DPoPAuth("token", KEY))
    answers: list[int] = []

    async def ask() -> None:
        answers.append((await http.post(SERVER)).status_code)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)

    assert answers == [200] * 5


async def test_another_token_and_a_first_nonce_can_be_set() -> None:
    world = world_of_dpop()
    auth = DPoPAuth("old", KEY, nonce="zero")
    auth.set_access_token((await credentials(world, DPoP(KEY)).get_token(SERVER)).access_token)
    await world.http.post(SERVER, auth=auth)
    auth.set_nonce("one")
    await world.http.post(SERVER, auth=auth)

    assert [claims_of(headers)["nonce"] for headers in world.asked] == ["zero", "one"]
    assert [headers["authorization"] for headers in world.asked] == ["DPoP token-1"] * 2


async def test_a_token_that_is_refused_for_good_is_shown_once() -> None:
    world = world_of_dpop()

    assert (await world.http.post(SERVER, auth=DPoPAuth("wrong", KEY))).status_code == 401
    assert len(world.asked) == 1


def test_the_same_works_without_an_event_loop() -> None:
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.copy())
        wants = {"www-authenticate": WANTS_NONCE, "dpop-nonce": "one"}
        return httpx.Response(401, headers=wants) if len(seen) == 1 else httpx.Response(200)

    with httpx.Client(transport=httpx.MockTransport(answer), auth=DPoPAuth("token", KEY)) as http:
        assert http.get(SERVER).status_code == 200
    assert [claims_of(headers).get("nonce") for headers in seen] == [None, "one"]


def test_nothing_secret_is_shown() -> None:
    auth = DPoPAuth("t0ken", KEY)

    assert "t0ken" not in repr(auth)
    assert auth.thumbprint == KEY.thumbprint
    assert KEY.thumbprint in repr(DPoP(KEY))
