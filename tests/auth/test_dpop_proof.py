"""`dpop_proof`: what a proof says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.auth.dpop_proof import (
    compute_access_token_hash,
    compute_jwk_thumbprint,
    generate_dpop_keypair,
    generate_dpop_proof,
    target_of,
)
from dedalus_mcp.auth.jose import verify

KEY, PUBLIC = generate_dpop_keypair()


def test_a_proof_is_signed_by_the_key_in_it_and_for_one_request() -> None:
    """The claims of RFC 9449, 4.2."""
    proof = generate_dpop_proof(KEY, "POST", "https://mcp.example/mcp?token=x#part")

    header, claims = verify(proof, PUBLIC, ["ES256"])
    assert header == {"typ": "dpop+jwt", "alg": "ES256", "jwk": PUBLIC}
    assert set(claims) == {"jti", "htm", "htu", "iat"}
    assert (claims["htm"], claims["htu"]) == ("POST", "https://mcp.example/mcp")
    assert isinstance(claims["iat"], int)


def test_the_public_half_is_all_that_is_shown_of_a_key() -> None:
    assert set(PUBLIC) == {"kty", "crv", "x", "y"}
    assert compute_jwk_thumbprint(PUBLIC) == KEY.thumbprint


def test_no_two_proofs_are_alike() -> None:
    proofs = {verify(generate_dpop_proof(KEY, "GET", "http://h"), PUBLIC).claims["jti"] for _ in range(20)}

    assert len(proofs) == 20


def test_a_proof_carries_the_hash_of_the_token_and_the_nonce_that_was_asked_for() -> None:
    proof = generate_dpop_proof(KEY, "GET", "http://h", "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", "eyJ7S_zG")

    claims = verify(proof, PUBLIC).claims
    assert claims["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"  # of RFC 9449, 7.1
    assert claims["nonce"] == "eyJ7S_zG"


def test_the_hash_of_a_token_is_that_of_the_rfc() -> None:
    assert compute_access_token_hash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU") == (
        "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"
    )


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h", "http://h/"),
        ("HTTPS://User@Example.COM:443/A?b#c", "https://example.com/A"),
        ("http://h:8080/a", "http://h:8080/a"),
        ("http://h:80", "http://h/"),
        ("http://[::1]:3000/mcp", "http://[::1]:3000/mcp"),
        ("http://h/%7euser/%2f%c3%a4", "http://h/~user/%2F%C3%A4"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/a/..", "http://h/"),
        ("http://h/../..", "http://h/"),
        ("http://h/a/.", "http://h/a/"),
        ("http://h/a//b/", "http://h/a//b/"),
    ],
)
def test_urls_that_mean_the_same_have_one_form(url: str, target: str) -> None:
    assert target_of(url) == target


@pytest.mark.parametrize("url", ["", "mcp", "/mcp", "ftp://h/", "http://", "file:///x", "http://h:x/", "http://[h/"])
def test_there_is_no_proof_for_what_is_no_url_of_a_server(url: str) -> None:
    with pytest.raises(ValueError, match=r"no proof can be made for|[Pp]ort|IPv6"):
        generate_dpop_proof(KEY, "GET", url)


@given(path=st.text(st.sampled_from("/.%2eEfFaA~"), max_size=12))
def test_the_form_of_a_url_is_its_own(path: str) -> None:
    once = target_of(f"http://h/{path}")

    assert target_of(once) == once
