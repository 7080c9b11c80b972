"""`dpop_validator`: which proofs hold."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk

from dedalus_mcp.auth.dpop_proof import compute_access_token_hash, generate_dpop_keypair, generate_dpop_proof
from dedalus_mcp.auth.dpop_validator import (
    MAX_JTI,
    MAX_PROOF,
    DPoPExpiredError,
    DPoPMethodMismatchError,
    DPoPNonceMismatchError,
    DPoPReplayError,
    DPoPThumbprintMismatchError,
    DPoPUrlMismatchError,
    DPoPValidationError,
    DPoPValidator,
    DPoPValidatorConfig,
    InvalidDPoPProofError,
)
from dedalus_mcp.auth.jose import SigningKey

KEY, PUBLIC = generate_dpop_keypair()
OTHER, OTHER_PUBLIC = generate_dpop_keypair()
URL = "https://mcp.example/mcp"


def proof_with(header: dict[str, Any] | None = None, key: SigningKey = KEY, **claims: Any) -> str:
    """A proof for `URL` at the time 1000, but for what is said otherwise; None leaves a claim out."""
    usual = {"jti": "1", "htm": "POST", "htu": URL, "iat": 1000, **claims}
    given = {name: value for name, value in usual.items() if value is not None}
    return key.sign({"typ": "dpop+jwt", "jwk": key.public, **(header or {})}, given)


def validator(clock: Callable[[], float] = lambda: 1000.0, **config: Any) -> DPoPValidator:
    return DPoPValidator(DPoPValidatorConfig(clock=clock, **config))


def test_a_proof_that_is_made_here_holds_here() -> None:
    proof = generate_dpop_proof(KEY, "POST", f"{URL}?x=1", "token", "nonce")

    found = DPoPValidator().validate_proof(
        proof, "POST", URL, expected_thumbprint=KEY.thumbprint, access_token="token", expected_nonce="nonce"
    )

    assert found.thumbprint == KEY.thumbprint
    assert len(found.jti) >= 16


def test_the_proof_of_the_rfc_holds() -> None:
    """The example of RFC 9449, 4.1, and the thumbprint of its key from 6.1."""
    header = {
        "typ": "dpop+jwt",
        "alg": "ES256",
        "jwk": {
            "kty": "EC",
            "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
            "crv": "P-256",
        },
    }
    claims = {
        "jti": "-BwC3ESc6acc2lTc",
        "htm": "POST",
        "htu": "https://server.example.com/token",
        "iat": 1562262616,
    }
    signature = "2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"

    found = validator(lambda: 1562262618.0).validate_proof(
        f"{part(header)}.{part(claims)}.{signature}",
        "POST",
        "https://server.example.com/token",
        expected_thumbprint="0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
    )

    assert found.jti == "-BwC3ESc6acc2lTc"


def test_a_proof_holds_once() -> None:
    checks = validator()
    assert checks.validate_proof(proof_with(), "POST", URL).issued_at == 1000

    with pytest.raises(DPoPReplayError):
        checks.validate_proof(proof_with(), "POST", URL)


def test_the_ids_of_one_key_s_proofs_are_nothing_to_those_of_another() -> None:
    checks = validator()
    checks.validate_proof(proof_with(), "POST", URL)

    assert checks.validate_proof(proof_with(key=OTHER), "POST", URL).thumbprint == OTHER.thumbprint


@pytest.mark.parametrize(
    "wrong",
    [
        {"expected_thumbprint": OTHER.thumbprint},
        {"access_token": "another"},
        {"expected_nonce": "another"},
        {"method": "GET"},
        {"url": "https://mcp.example/other"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_proof_that_does_not_hold_is_not_used_up(wrong: dict[str, str]) -> None:
    checks = validator()
    proof = proof_with(ath=compute_access_token_hash("token"), nonce="nonce")
    right = {"method": "POST", "url": URL, "access_token": "token", "expected_nonce": "nonce"}

    with pytest.raises(DPoPValidationError):
        checks.validate_proof(proof, **{**right, **wrong})
    assert checks.validate_proof(proof, **right)


@pytest.mark.parametrize("claimed", [None, "another", 5], ids=repr)
def test_a_proof_for_another_token_or_for_none_does_not_hold_with_a_token(claimed: object) -> None:
    with pytest.raises(DPoPThumbprintMismatchError, match="'ath' is another, or missing"):
        validator().validate_proof(proof_with(ath=claimed), "POST", URL, access_token="token")


@pytest.mark.parametrize("claimed", [None, "another", 5], ids=repr)
def test_a_proof_without_the_nonce_does_not_hold(claimed: object) -> None:
    with pytest.raises(DPoPNonceMismatchError):
        validator().validate_proof(proof_with(nonce=claimed), "POST", URL, expected_nonce="nonce")


def test_a_proof_of_another_key_does_not_hold() -> None:
    with pytest.raises(DPoPThumbprintMismatchError, match="another key"):
        validator().validate_proof(proof_with(), "POST", URL, expected_thumbprint=OTHER.thumbprint)


@pytest.mark.parametrize("method", [None, "GET", "post", 5], ids=repr)
def test_a_proof_for_another_method_does_not_hold(method: object) -> None:
    with pytest.raises(DPoPMethodMismatchError):
        validator().validate_proof(proof_with(htm=method), "POST", URL)


@pytest.mark.parametrize("url", [None, "", 5, "http://[", "https://mcp.example/", f"{URL}/", f"{URL}2"], ids=repr)
def test_a_proof_for_another_url_does_not_hold(url: object) -> None:
    with pytest.raises(DPoPUrlMismatchError):
        validator().validate_proof(proof_with(htu=url), "POST", URL)


@pytest.mark.parametrize("url", ["https://MCP.example:443/mcp", f"{URL}?a=b", f"{URL}#c"])
def test_a_proof_for_the_same_url_in_another_form_holds(url: str) -> None:
    assert validator().validate_proof(proof_with(htu=url), "POST", URL)
    assert validator().validate_proof(proof_with(), "POST", url)


@pytest.mark.parametrize("issued_at", [939, 1061, -5, 10**30, 1e300], ids=repr)
def test_a_proof_from_long_ago_or_from_the_future_does_not_hold(issued_at: float) -> None:
    with pytest.raises(DPoPExpiredError, match="within 60 seconds"):
        validator().validate_proof(proof_with(iat=issued_at), "POST", URL)


@pytest.mark.parametrize("issued_at", [940, 1060, 999.5], ids=repr)
def test_a_clock_may_be_a_little_wrong(issued_at: float) -> None:
    assert validator().validate_proof(proof_with(iat=issued_at), "POST", URL).issued_at == issued_at


@pytest.mark.parametrize("issued_at", [None, "1000", True, [], {}], ids=repr)
def test_a_proof_that_does_not_say_when_it_was_made_is_none(issued_at: object) -> None:
    with pytest.raises(InvalidDPoPProofError, match="'iat'"):
        validator().validate_proof(proof_with(iat=issued_at), "POST", URL)


@pytest.mark.parametrize("jti", [None, "", 5, "x" * (MAX_JTI + 1)], ids=["missing", "empty", "a number", "long"])
def test_a_proof_without_an_id_is_none(jti: object) -> None:
    with pytest.raises(InvalidDPoPProofError, match="'jti'"):
        validator().validate_proof(proof_with(jti=jti), "POST", URL)


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "JWT"},
        {"typ": 5},
        {"jwk": None},
        {"jwk": OTHER_PUBLIC},
        {"jwk": {**PUBLIC, "d": "x"}},
        {"jwk": {"kty": "oct", "k": "x"}},
        {"jwk": {}},
    ],
    ids=["a token", "no type", "no key", "another key", "a private key", "a shared secret", "an empty key"],
)
def test_what_is_no_proof_is_refused(header: dict[str, Any]) -> None:
    without = {"typ": "dpop+jwt", "jwk": PUBLIC, **header}
    proof = KEY.sign({name: value for name, value in without.items() if value not in (None, 5)}, {"jti": "1"})

    with pytest.raises(InvalidDPoPProofError):
        validator().validate_proof(proof, "POST", URL)


@pytest.mark.parametrize("proof", ["", "x", "a.b.c", "a" * (MAX_PROOF + 1)], ids=["", "x", "a.b.c", "long"])
def test_any_text_is_no_proof(proof: str) -> None:
    with pytest.raises(InvalidDPoPProofError):
        validator().validate_proof(proof, "POST", URL)


def test_proofs_are_signed_with_what_is_allowed() -> None:
    rsa = SigningKey(jwk.RSAKey.generate_key(2048).as_pem(private=True))

    with pytest.raises(InvalidDPoPProofError, match="ES256"):
        validator().validate_proof(proof_with(key=rsa), "POST", URL)
    assert validator(allowed_algorithms=["RS256"]).validate_proof(proof_with(key=rsa), "POST", URL)


def test_what_is_too_old_to_hold_is_forgotten() -> None:
    now = 1000.0
    checks = validator(lambda: now, jti_cache_size=2)
    checks.validate_proof(proof_with(jti="a", iat=1000), "POST", URL)
    checks.validate_proof(proof_with(jti="b", iat=1001), "POST", URL)
    now = 1061.5

    for jti in "cd":  # there is room again, so nothing is forgotten too soon
        checks.validate_proof(proof_with(jti=jti, iat=1003), "POST", URL)
    assert checks.validate_proof(proof_with(jti="e", iat=1004), "POST", URL)


def test_a_proof_that_had_to_be_forgotten_does_not_hold_again() -> None:
    checks = validator(jti_cache_size=2)
    proofs = [proof_with(jti=str(at), iat=at) for at in (990, 991, 992)]
    for proof in proofs:
        checks.validate_proof(proof, "POST", URL)

    for proof, refused in zip(proofs, (DPoPExpiredError, DPoPReplayError, DPoPReplayError), strict=True):
        with pytest.raises(refused):
            checks.validate_proof(proof, "POST", URL)
    assert checks.validate_proof(proof_with(jti="new", iat=993), "POST", URL)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda some: st.lists(some, max_size=2) | st.dictionaries(st.text(max_size=3), some, max_size=2),
)


@given(claims=st.dictionaries(st.sampled_from(["jti", "htm", "htu", "iat", "ath", "nonce"]), JSON))
def test_whatever_a_proof_says_it_holds_or_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(DPoPValidationError):
        validator().validate_proof(proof_with(None, KEY, **{"ath": None, **claims}), "GET", URL, access_token="token")


@given(header=st.dictionaries(st.sampled_from(["typ", "jwk", "crit", "b64", "kid", "x5c", "jku"]), JSON))
def test_whatever_a_proof_says_of_itself_another_s_signature_does_not_make_it_one(header: dict[str, Any]) -> None:
    claims = part({"jti": "1", "htm": "POST", "htu": URL, "iat": 1000})
    signature = proof_with(key=OTHER).rpartition(".")[2]
    proof = f"{part({'alg': 'ES256', 'typ': 'dpop+jwt', 'jwk': PUBLIC, **header})}.{claims}.{signature}"

    with pytest.raises(InvalidDPoPProofError):
        validator().validate_proof(proof, "POST", URL)


def part(value: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")
