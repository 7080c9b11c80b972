"""What is posted to a token endpoint, and what its answers mean."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.auth.failures import AuthConfigError, TokenError
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, ClientInformation
from dedalus_mcp.client.auth.token_endpoint import (
    ClientCredentials,
    authenticated,
    read_token,
    refusal_of,
    refused,
)

AS = "https://as.example"


def server(*methods: str) -> AuthorizationServerMetadata:
    return AuthorizationServerMetadata(issuer=AS, token_endpoint_auth_methods_supported=methods or None)


def sent(client: ClientCredentials, *methods: str) -> tuple[dict[str, str], dict[str, str]]:
    return authenticated({"grant_type": "x"}, client, server(*methods))


def test_a_public_client_gives_its_name_alone() -> None:
    for methods in ((), ("none",), ("client_secret_basic",)):
        assert sent(ClientCredentials("me"), *methods) == ({"grant_type": "x", "client_id": "me"}, {})


@pytest.mark.parametrize(
    ("id", "secret", "decoded"),
    [
        ("me", "secret", "me:secret"),
        ("me:and:you", "a b%+ü/", "me%3Aand%3Ayou:a%20b%25%2B%C3%BC%2F"),
        ("a-b._~9", "A-b._~9", "a-b._~9:A-b._~9"),
    ],
)
def test_basic_is_name_and_secret_each_encoded_as_in_a_form(id: str, secret: str, decoded: str) -> None:
    form, headers = sent(ClientCredentials(id, secret), "client_secret_basic", "client_secret_post")

    assert form == {"grant_type": "x"}
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode() == decoded


def test_without_a_word_of_the_server_basic_is_used() -> None:
    """RFC 8414, 2: the default."""
    assert "authorization" in sent(ClientCredentials("me", "secret"))[1]


def test_a_secret_goes_in_the_form_where_the_server_wants_it_there() -> None:
    form, headers = sent(ClientCredentials("me", "secret"), "client_secret_post", "none")

    assert form == {"grant_type": "x", "client_id": "me", "client_secret": "secret"}
    assert headers == {}


def test_what_was_agreed_when_registering_counts() -> None:
    information = ClientInformation(
        client_id="me", client_secret="secret", token_endpoint_auth_method="client_secret_post"
    )

    form, _ = sent(ClientCredentials.of(information), "client_secret_basic", "client_secret_post")
    assert form["client_secret"] == "secret"
    assert sent(ClientCredentials("me", "secret", "none"))[0] == {"grant_type": "x", "client_id": "me"}


def test_a_signed_statement_is_made_for_the_server_and_preferred() -> None:
    seen: list[str] = []

    def sign(server: AuthorizationServerMetadata) -> str:
        seen.append(server.issuer)
        return "signed"

    form, headers = sent(ClientCredentials("me", "secret", assertion=sign), "private_key_jwt", "client_secret_basic")

    assert form["client_assertion"] == "signed"
    assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert form["client_id"] == "me"
    assert headers == {}
    assert seen == [AS]


@pytest.mark.parametrize("method", ["private_key_jwt", "tls_client_auth", "client_secret_jwt"])
def test_a_client_that_cannot_do_what_is_wanted_says_what_it_can(method: str) -> None:
    with pytest.raises(AuthConfigError, match=f"takes '{method}', but client 'me' can only client_secret_basic"):
        sent(ClientCredentials("me", "secret"), method)
    with pytest.raises(AuthConfigError, match=f"is to use '{method}', but can only"):
        sent(ClientCredentials("me", "secret", method))


# Answers.


def answer(**members: Any) -> bytes:
    return json.dumps(members).encode()


def test_a_token_is_read_with_all_its_parts() -> None:
    token = read_token(
        200, answer(access_token="t", token_type="bearer", expires_in="3600", refresh_token=None, more=[1]), AS
    )

    assert (token.access_token, token.token_type, token.expires_in, token.refresh_token) == ("t", "bearer", 3600, None)
    assert token.scope is None


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, answer(error="invalid_grant", error_description="too\nlate"), r"invalid_grant, 'too\\nlate'"),
        (400, answer(error="invalid_grant"), "invalid_grant$"),
        (401, b"", "401"),
        (500, b"<html>", "500"),
        (200, answer(error="bad_verification_code"), "bad_verification_code"),
        (200, b"access_token=a&scope=b", "is no JSON"),
        (200, answer(token_type="bearer"), "missing required field `access_token`"),
        (200, answer(access_token=""), "none that a header could hold"),
        (200, answer(access_token="ü"), "none that a header could hold"),
        (200, b"[]", "is no TokenResponse"),
        (201, answer(access_token="t"), "201"),
        (302, b"", "302"),
    ],
)
def test_whatever_gives_no_token_is_an_error_that_says_why(status: int, body: bytes, text: str) -> None:
    with pytest.raises(TokenError, match=text) as caught:
        read_token(status, body, AS)

    assert caught.value.status == status


def test_an_error_keeps_what_the_server_said() -> None:
    error = refused(400, answer(error="invalid\x00_scope" + "x" * 200, error_description="d"), AS, "gave no token")

    assert error.code is not None
    assert error.code.startswith("invalid_scopexxx")
    assert len(error.code) == 64
    assert (error.description, error.status) == ("'d'", 400)


@given(st.binary(max_size=200))
def test_no_body_breaks_the_reading(body: bytes) -> None:
    refusal_of(body)
    with pytest.raises(TokenError):
        read_token(400, body, AS)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["error", "access_token", "expires_in", "token_type"]), inner, max_size=4)
        ),
        max_leaves=9,
    )
)
def test_no_document_breaks_the_reading(document: Any) -> None:
    try:
        token = read_token(200, json.dumps(document).encode(), AS)
    except TokenError:
        return
    assert token.access_token


@pytest.mark.parametrize("seconds", ['"NaN"', '"Infinity"', '"-Infinity"', "1e999"])
def test_a_life_that_never_ends_or_never_was_is_no_number(seconds: str) -> None:
    with pytest.raises(TokenError, match=r"\$\.expires_in"):
        read_token(200, f'{{"access_token": "t", "expires_in": {seconds}}}'.encode(), "https://as.example/token")
