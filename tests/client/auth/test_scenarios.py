"""The authorization code flow against strict servers: each variation that the official suite knows, and more.

The names of the suite's scenarios stand in the docstrings.
"""

from __future__ import annotations

import base64
import itertools

import httpx
import pytest

from dedalus_mcp.client.auth import (
    AuthConfigError,
    AuthError,
    AuthorizationCodeAuth,
    DiscoveryError,
    TokenError,
)
from tests.client.auth.scene import AS, MCP, Scene
from tests.client.auth.world import CALLBACK, CIMD, AuthorizationServer, Guard, World


async def test_a_user_signs_in_and_the_request_is_sent_again() -> None:
    """auth/metadata-default; AUTH-16, AUTH-17, AUTH-34, AUTH-45."""
    scene = Scene()

    answer = await scene.visit()

    assert answer.json() == {"in": True}
    assert scene.order() == [
        MCP,
        "http://localhost:8001/.well-known/oauth-protected-resource/mcp",
        f"{AS}/.well-known/oauth-authorization-server",
        f"{AS}/register",
        f"{AS}/authorize",
        f"{AS}/token",
        MCP,
    ]
    (asked,), (redeemed,) = scene.server.authorizations, scene.server.redeemed
    assert asked["resource"] == redeemed["resource"] == MCP
    assert "scope" not in asked
    first, *between, last = scene.world.asked
    assert "authorization" not in first.headers
    assert last.headers["authorization"].startswith("Bearer token-")
    assert all("authorization" not in each.headers for each in between)
    assert not any("token-" in asked.url for asked in scene.world.asked)


async def test_metadata_that_no_challenge_names_are_found_by_the_path() -> None:
    """auth/metadata-var1: with OpenID metadata alone; AUTH-17, AUTH-20, AUTH-21."""
    scene = Scene(place=f"{AS}/.well-known/openid-configuration", says_where=False)

    assert (await scene.visit()).status_code == 200
    assert scene.order()[1:4] == [
        "http://localhost:8001/.well-known/oauth-protected-resource/mcp",
        f"{AS}/.well-known/oauth-authorization-server",
        f"{AS}/.well-known/openid-configuration",
    ]


async def test_metadata_at_the_root_speak_for_the_whole_host() -> None:
    """auth/metadata-var2: the resource goes on as it is written, without a slash; AUTH-34, AUTH-35."""
    scene = Scene(
        issuer=f"{AS}/tenant1",
        place=f"{AS}/.well-known/oauth-authorization-server/tenant1",
        says_where=False,
    )
    scene.world.gone(str(scene.guard.place))
    scene.guard.place = "http://localhost:8001/.well-known/oauth-protected-resource"
    scene.guard.metadata["resource"] = "http://localhost:8001"
    scene.guard.__post_init__()
    scene.guard.metadata["resource"] = "http://localhost:8001"

    assert (await scene.visit()).status_code == 200
    assert scene.server.authorizations[0]["resource"] == "http://localhost:8001"
    assert scene.server.redeemed[0]["resource"] == "http://localhost:8001"
    assert f"{AS}/.well-known/oauth-authorization-server" not in scene.order()


async def test_metadata_may_be_anywhere_that_the_challenge_says() -> None:
    """auth/metadata-var3: and those of an issuer with a path at the last of three places; AUTH-17, AUTH-21."""
    scene = Scene(
        issuer=f"{AS}/tenant1",
        place=f"{AS}/tenant1/.well-known/openid-configuration",
    )
    scene.world.gone(str(scene.guard.place))
    scene.guard.place = "http://localhost:8001/custom/metadata/location.json"
    scene.guard.__post_init__()

    assert (await scene.visit()).status_code == 200
    assert scene.order()[1:5] == [
        "http://localhost:8001/custom/metadata/location.json",
        f"{AS}/.well-known/oauth-authorization-server/tenant1",
        f"{AS}/.well-known/openid-configuration/tenant1",
        f"{AS}/tenant1/.well-known/openid-configuration",
    ]


async def test_a_document_is_the_id_where_the_server_can_read_it() -> None:
    """auth/basic-cimd; AUTH-24, AUTH-25, AUTH-26."""
    scene = Scene()
    scene.server.metadata["client_id_metadata_document_supported"] = True

    assert (await scene.visit(client_metadata_url=CIMD)).status_code == 200
    assert scene.server.authorizations[0]["client_id"] == CIMD
    assert scene.server.redeemed[0]["client_id"] == CIMD
    assert scene.server.registered == []


async def test_a_client_registers_where_its_document_is_of_no_use() -> None:
    """AUTH-24, AUTH-26, AUTH-28, AUTH-29."""
    scene = Scene()

    assert (await scene.visit(client_metadata_url=CIMD)).status_code == 200
    (registered,) = scene.server.registered
    body = httpx.Response(200, content=registered.content).json()
    assert body["application_type"] == "native"
    assert body["grant_types"] == ["authorization_code", "refresh_token"]
    assert body["redirect_uris"] == [CALLBACK]
    assert body["token_endpoint_auth_method"] == "none"


async def test_a_web_application_says_that_it_is_one() -> None:
    """AUTH-29."""
    scene = Scene()

    assert (await scene.visit(redirect=scene.world.redirect("https://app.example/callback"))).status_code == 200
    assert b'"application_type":"web"' in scene.server.registered[0].content


@pytest.mark.parametrize(
    "uri", ["http://app.example/callback", "http://10.0.0.1/callback", "app:/callback", "callback"]
)
async def test_a_code_comes_back_by_tls_or_on_this_machine(uri: str) -> None:
    """AUTH-47."""
    scene = Scene()

    with pytest.raises(AuthConfigError, match="legal are https:// URLs, and http:// on this machine"):
        await scene.visit(redirect=scene.world.redirect(uri))
    assert scene.server.registered == []
    assert scene.server.authorizations == []


async def test_a_server_that_refuses_to_register_is_quoted() -> None:
    """AUTH-29."""
    scene = Scene()
    told = {"error": "invalid_redirect_uri", "error_description": "no loopback for web"}
    scene.world.at(f"{AS}/register", lambda request: httpx.Response(400, json=told))

    with pytest.raises(TokenError, match="did not register this client: invalid_redirect_uri, 'no loopback") as caught:
        await scene.visit()

    assert caught.value.code == "invalid_redirect_uri"
    assert scene.server.authorizations == []


# Scopes.


async def test_the_scopes_of_the_challenge_are_asked_for() -> None:
    """auth/scope-from-www-authenticate: whatever the metadata list; AUTH-40, AUTH-41."""
    scene = Scene(scope="mcp:basic", metadata={"scopes_supported": ["mcp:profile"]})

    assert (await scene.visit()).status_code == 200
    assert scene.server.authorizations[0]["scope"] == "mcp:basic"


async def test_without_a_word_in_the_challenge_all_that_is_listed_is_asked_for() -> None:
    """auth/scope-from-scopes-supported; AUTH-40."""
    scene = Scene(metadata={"scopes_supported": ["mcp:basic", "mcp:read", "mcp:write"]})

    assert (await scene.visit()).status_code == 200
    assert scene.server.authorizations[0]["scope"] == "mcp:basic mcp:read mcp:write"


async def test_without_any_word_no_scope_is_asked_for() -> None:
    """auth/scope-omitted-when-undefined; AUTH-40."""
    scene = Scene()
    scene.server.metadata["scopes_supported"] = ["everything"]

    assert (await scene.visit()).status_code == 200
    assert "scope" not in scene.server.authorizations[0]


async def test_what_the_user_wants_is_asked_for_in_place_of_what_is_listed() -> None:
    scene = Scene(metadata={"scopes_supported": ["all"]})

    assert (await scene.visit(scopes="one two")).status_code == 200
    assert scene.server.authorizations[0]["scope"] == "one two"


def for_tools(request: httpx.Request) -> list[str]:
    return ["mcp:write"] if b"tools/call" in request.content else ["mcp:basic"]


def for_admins(request: httpx.Request) -> list[str]:
    return ["mcp:admin"]


def not_today(request: httpx.Request) -> httpx.Response:
    return httpx.Response(403, text="not on Sundays")


async def test_a_call_that_needs_more_gets_more_and_is_sent_again() -> None:
    """auth/scope-step-up: and keeps what it had; AUTH-41, AUTH-42, AUTH-43."""
    scene = Scene(scope="mcp:basic", needs=for_tools, metadata={"scopes_supported": ["mcp:profile"]})
    http = scene.world.client(scene.auth())

    assert (await http.post(MCP, json={"method": "tools/list"})).status_code == 200
    assert (await http.post(MCP, json={"method": "tools/call"})).status_code == 200
    assert (await http.post(MCP, json={"method": "tools/list"})).status_code == 200
    assert [asked["scope"] for asked in scene.server.authorizations] == ["mcp:basic", "mcp:basic mcp:write"]


async def test_a_server_that_never_has_enough_is_given_up() -> None:
    """auth/scope-retry-limit; AUTH-44."""
    scene = Scene(needs=for_admins)
    scene.server.grants_scopes = lambda scopes: set()
    http = scene.world.client(scene.auth())

    assert (await http.post(MCP)).status_code == 403
    assert 1 <= len(scene.server.authorizations) <= 3
    so_far = len(scene.server.authorizations)
    assert (await http.post(MCP)).status_code == 403  # what has led nowhere is not tried again
    assert len(scene.server.authorizations) == so_far


async def test_a_server_that_wants_ever_more_is_given_up_as_well() -> None:
    """AUTH-44."""
    scene = Scene()
    scene.guard.needs = lambda request: [f"scope-{len(scene.server.authorizations)}"]

    assert (await scene.visit()).status_code == 403
    assert len(scene.server.authorizations) == 3


async def test_a_server_that_wants_ever_more_costs_no_more_than_a_url_holds() -> None:
    """AUTH-44: neither the page to sign in nor what is remembered grows without end."""
    scene, auth = Scene(), None
    scene.guard.needs = lambda request: [f"scope-{len(scene.server.authorizations)}-{'x' * 1000}"]
    auth = scene.auth()
    for _ in range(5):
        assert (await scene.visit(auth)).status_code == 403

    assert max(len(asked.url) for asked in scene.world.asked) < 8000


async def test_a_user_who_does_not_agree_to_more_is_not_asked_again() -> None:
    """AUTH-44: the operation fails, and the rest goes on."""
    scene = Scene(scope="mcp:basic", needs=for_tools)
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP, json={"method": "tools/list"})).status_code == 200
    scene.server.answer_user = lambda fields: {**fields, "error": "access_denied"}

    with pytest.raises(TokenError, match="access_denied"):
        await http.post(MCP, json={"method": "tools/call"})

    assert (await http.post(MCP, json={"method": "tools/call"})).status_code == 403
    assert (await http.post(MCP, json={"method": "tools/list"})).status_code == 200
    assert len(scene.server.authorizations) == 2


async def test_a_403_for_another_reason_is_an_answer_like_any_other() -> None:
    scene = Scene(inside=not_today)

    answer = await scene.visit()

    assert (answer.status_code, answer.text) == (403, "not on Sundays")
    assert len(scene.server.authorizations) == 1


# Who the client is.


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_a_client_proves_who_it_is_in_the_way_that_the_server_takes(method: str) -> None:
    """auth/token-endpoint-auth-basic, -post, -none: the server asserts the rest, a percent in the secret included."""
    scene = Scene()
    scene.server.metadata["token_endpoint_auth_methods_supported"] = [method]
    scene.server.method = method

    assert (await scene.visit()).status_code == 200
    redeemed = scene.server.redeemed[0]
    assert ("client_secret" in redeemed) is (method == "client_secret_post")
    assert ("client_id" in redeemed) is (method != "client_secret_basic")


async def test_a_client_that_is_registered_beforehand_says_so() -> None:
    """auth/pre-registration: even where it could register; AUTH-24, AUTH-27."""
    scene = Scene()
    scene.server.metadata |= {"token_endpoint_auth_methods_supported": None}
    scene.server.clients["pre-registered-client"] = "pre-registered-secret"

    answer = await scene.visit(client_id="pre-registered-client", client_secret="pre-registered-secret")

    assert answer.status_code == 200
    assert scene.server.registered == []
    header = scene.world.to("/token")[0].headers["authorization"]
    assert base64.b64decode(header.removeprefix("Basic ")) == b"pre-registered-client:pre-registered-secret"


async def test_a_client_that_cannot_register_says_what_is_missing() -> None:
    """AUTH-24."""
    scene = Scene()
    scene.server.metadata["registration_endpoint"] = None

    with pytest.raises(AuthConfigError, match="register this one there, and give its client_id="):
        await scene.visit()

    assert scene.server.authorizations == []


# Where not to go.


async def test_metadata_of_another_resource_end_the_flow() -> None:
    """auth/resource-mismatch; AUTH-18."""
    scene = Scene(metadata={"resource": "https://evil.example.com/mcp"})

    with pytest.raises(DiscoveryError, match=r"are those of 'https://evil\.example\.com/mcp', not of"):
        await scene.visit()

    assert scene.order()[-1] == str(scene.guard.place)


async def test_metadata_of_another_issuer_are_not_used() -> None:
    """auth/metadata-issuer-mismatch; AUTH-22, B134: both are named."""
    scene = Scene()
    scene.server.metadata["issuer"] = "https://attacker.example.com"

    with pytest.raises(DiscoveryError, match=f"'https://attacker.example.com', not of '{AS}'"):
        await scene.visit()

    assert [asked for asked in scene.order() if not asked.startswith((MCP, "http://localhost:8001/.well"))] == [
        f"{AS}/.well-known/oauth-authorization-server",
        f"{AS}/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("spelt", [f"{AS}/", "HTTP://LOCALHOST:8002"])
async def test_an_issuer_is_what_it_is_written_as(spelt: str) -> None:
    """AUTH-22, AMB-35."""
    scene = Scene()
    scene.server.metadata["issuer"] = spelt

    with pytest.raises(DiscoveryError):
        await scene.visit()


# The answer of the user's browser.


async def test_an_answer_that_names_its_server_is_taken() -> None:
    """auth/iss-supported; AUTH-36, AUTH-37, AUTH-38."""
    scene = Scene()

    assert (await scene.visit()).status_code == 200


async def test_an_answer_need_not_name_its_server_where_none_is_promised() -> None:
    """auth/iss-not-advertised; AUTH-38."""
    scene = Scene()
    del scene.server.metadata["authorization_response_iss_parameter_supported"]

    assert (await scene.visit()).status_code == 200


@pytest.mark.parametrize("failed", [False, True], ids=["a code", "an error"])
@pytest.mark.parametrize(
    ("promised", "iss"),
    [
        pytest.param(True, None, id="auth/iss-supported-missing"),
        pytest.param(True, "https://evil.example.com", id="auth/iss-wrong-issuer"),
        pytest.param(False, "https://evil.example.com", id="auth/iss-unexpected"),
        pytest.param(True, f"{AS}/", id="auth/iss-normalized"),
        pytest.param(True, "", id="empty"),
    ],
)
async def test_an_answer_of_the_wrong_server_is_not_used(promised: bool, iss: str | None, failed: bool) -> None:
    """AUTH-38, AUTH-39: nor shown, whatever it holds."""
    scene = Scene()
    scene.server.metadata["authorization_response_iss_parameter_supported"] = promised
    more = {"error": "evil_error", "error_description": "do this"} if failed else {}
    own = {} if iss is None else {"iss": iss}
    scene.server.answer_user = lambda fields: {"code": fields["code"], "state": fields["state"], **own, **more}

    with pytest.raises(AuthError) as caught:
        await scene.visit()

    assert not isinstance(caught.value, TokenError)
    assert "evil_error" not in str(caught.value)
    assert "do this" not in str(caught.value)
    assert len(scene.server.authorizations) == 1
    assert scene.server.redeemed == []


@pytest.mark.parametrize(
    "change",
    [{"state": "another"}, {"state": ""}, {"state": "ü"}],
    ids=["another", "empty", "not ASCII"],
)
async def test_an_answer_to_another_request_is_not_used(change: dict[str, str]) -> None:
    """AUTH-36."""
    scene = Scene()
    scene.server.answer_user = lambda fields: {**fields, **change, "error": "evil_error"}

    with pytest.raises(AuthError, match="an answer to another request") as caught:
        await scene.visit()

    assert "evil_error" not in str(caught.value)
    assert scene.server.redeemed == []


async def test_a_user_who_does_not_agree_is_believed() -> None:
    scene = Scene()
    scene.server.answer_user = lambda fields: {
        **{name: value for name, value in fields.items() if name != "code"},
        "error": "access_denied",
        "error_description": "the user said\nno" + "!" * 5000,
    }

    with pytest.raises(TokenError, match="did not authorize this client: access_denied") as caught:
        await scene.visit()

    assert caught.value.code == "access_denied"
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


async def test_an_answer_without_a_code_is_none() -> None:
    scene = Scene()
    scene.server.answer_user = lambda fields: {**fields, "code": ""}

    with pytest.raises(TokenError, match="holds no code"):
        await scene.visit()


@pytest.mark.parametrize("methods", [None, [], ["plain"]], ids=["not said", "none", "only the unsafe one"])
async def test_a_server_without_pkce_is_refused(methods: list[str] | None) -> None:
    """AUTH-32, AUTH-33."""
    scene = Scene()
    scene.server.metadata["code_challenge_methods_supported"] = methods

    with pytest.raises(DiscoveryError, match="does not protect codes by S256"):
        await scene.visit()

    assert scene.server.authorizations == []
    assert scene.server.registered == []


# Offline access.


async def test_offline_access_is_asked_for_where_the_server_knows_it() -> None:
    """auth/offline-access-scope; AUTH-48."""
    scene = Scene(metadata={"scopes_supported": ["mcp:basic"]})
    scene.server.metadata["scopes_supported"] = ["mcp:basic", "offline_access"]

    assert (await scene.visit()).status_code == 200
    assert scene.server.authorizations[0]["scope"] == "mcp:basic offline_access"
    assert b"refresh_token" in scene.server.registered[0].content


async def test_offline_access_is_not_asked_for_where_the_server_does_not_know_it() -> None:
    """auth/offline-access-not-supported; AUTH-48."""
    scene = Scene(metadata={"scopes_supported": ["mcp:basic"]})
    scene.server.metadata["scopes_supported"] = ["mcp:basic"]

    assert (await scene.visit()).status_code == 200
    assert scene.server.authorizations[0]["scope"] == "mcp:basic"


# Another authorization server.


async def test_what_was_agreed_with_one_issuer_is_never_shown_to_the_next() -> None:
    """auth/authorization-server-migration; AUTH-30, AUTH-46, B134."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == 200
    other = AuthorizationServer(scene.world, "http://localhost:8003")
    other.names = itertools.count(1000)  # ids that tell the two apart
    scene.guard.server = other
    scene.guard.metadata["authorization_servers"] = [other.issuer]
    old = len(scene.world.asked)

    assert (await http.post(MCP)).status_code == 200
    assert len(other.registered) == 1
    assert other.authorizations[0]["client_id"] == other.redeemed[0]["client_id"] == "client-1000"
    assert scene.world.to(AS)[-1] in scene.world.asked[:old]  # the old one heard no more of it
    for asked in scene.world.to("http://localhost:8003"):
        assert "client-1&" not in asked.url
        assert b"refresh-" not in asked.content


async def test_an_id_that_is_registered_with_one_issuer_is_an_error_at_another() -> None:
    """AUTH-31."""
    scene = Scene()
    scene.server.clients["mine"] = None
    http = scene.world.client(scene.auth(client_id="mine"))
    assert (await http.post(MCP)).status_code == 200
    other = AuthorizationServer(scene.world, "http://localhost:8003")
    scene.guard.server = other
    scene.guard.metadata["authorization_servers"] = [other.issuer]

    with pytest.raises(
        AuthConfigError, match=f"'mine' is registered with '{AS}', and not with 'http://localhost:8003'"
    ):
        await http.post(MCP)

    assert other.authorizations == []


@pytest.mark.parametrize("resource", [f"{MCP}/", "http://localhost:8001", "http://localhost:8001/", None])
async def test_a_secret_is_for_one_issuer_whatever_the_server_calls_itself_now(resource: str | None) -> None:
    """AUTH-30, AUTH-31: a server that was taken over cannot have it shown to others, in the next run either."""
    scene = Scene()
    scene.server.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    scene.server.clients["mine"] = "s3cret"
    assert (await scene.visit(client_id="mine", client_secret="s3cret")).status_code == 200
    scene.server.revoke_all()
    if resource is None:  # as if it were one of 2025-03-26
        scene.world.gone("http://localhost:8001/.well-known/oauth-protected-resource/mcp")
        scene.guard.says_where = False
        other = AuthorizationServer(scene.world, "http://localhost:8001")
    else:
        other = AuthorizationServer(scene.world, "http://localhost:8003")
        scene.guard.metadata.update(resource=resource, authorization_servers=[other.issuer])
    other.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]

    with pytest.raises(AuthConfigError, match=f"'mine' is registered with '{AS}', and not with '{other.issuer}'"):
        await scene.visit(client_id="mine", client_secret="s3cret")

    assert other.redeemed == other.authorizations == []


async def test_of_several_issuers_the_first_is_used_or_the_one_that_was_chosen() -> None:
    """AUTH-19, AUTH-31."""
    scene = Scene()
    other = AuthorizationServer(scene.world, "http://localhost:8003")
    scene.guard.metadata["authorization_servers"] = [other.issuer, AS]

    assert (await scene.visit(issuer=AS)).status_code == 200
    assert other.authorizations == []
    scene.server.revoke_all()
    with pytest.raises(AuthConfigError, match="takes tokens of 'http://localhost:8003, http://localhost:8002', not of"):
        await scene.visit(issuer="https://third.example")


# Servers of 2025-03-26.


async def test_a_server_of_2025_03_26_is_its_own_authorization_server() -> None:
    """auth/2025-03-26-oauth-metadata-backcompat; AUTH-23."""
    world = World()
    server = AuthorizationServer(world, "http://localhost:8001")
    guard = Guard(world, MCP, server, says_where=False)
    world.gone(str(guard.place))
    del server.metadata["code_challenge_methods_supported"]  # which was not asked for then
    auth = AuthorizationCodeAuth(redirect=world.redirect(), http_client=world.client())

    answer = await world.client(auth).post(MCP, headers={"mcp-protocol-version": "2025-03-26"})

    assert answer.status_code == 200
    (found,) = world.to("/.well-known/oauth-authorization-server")
    assert found.headers["mcp-protocol-version"] == "2025-03-26"
    assert "resource" not in server.authorizations[0]


async def test_a_server_of_2025_03_26_may_say_nothing_at_all() -> None:
    """auth/2025-03-26-oauth-endpoint-fallback; AUTH-23."""
    world = World()
    server = AuthorizationServer(world, "http://localhost:8001")
    del server.metadata["authorization_response_iss_parameter_supported"]
    guard = Guard(world, MCP, server, says_where=False)
    world.gone(str(guard.place))
    world.gone(server.place)
    auth = AuthorizationCodeAuth(redirect=world.redirect(), http_client=world.client())

    assert (await world.client(auth).post(MCP)).status_code == 200
    assert world.to("/authorize")
