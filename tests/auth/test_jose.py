"""`jose`: tokens that are signed, and what is made of those of others."""

from __future__ import annotations

import sys
from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk, jws

from dedalus_mcp.auth.jose import ALGORITHMS, MAX_TOKEN, InvalidToken, SigningKey, thumbprint, unverified, verify

KEY = SigningKey.generate()
OTHER = SigningKey.generate()

# The example of RFC 7638, 3.1.
RSA_OF_THE_RFC = {
    "kty": "RSA",
    "n": (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj"
        "hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQv"
        "RL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqD"
        "Kgw"
    ),
    "e": "AQAB",
    "alg": "RS256",
    "kid": "2011-04-29",
}


def part(value: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


KEYS: dict[str, Any] = {
    "ES256": jwk.ECKey.generate_key("P-256"),
    "ES384": jwk.ECKey.generate_key("P-384"),
    "ES512": jwk.ECKey.generate_key("P-521"),
    "RS256": jwk.RSAKey.generate_key(2048),
    "Ed25519": jwk.OKPKey.generate_key("Ed25519"),
}


@pytest.mark.parametrize("algorithm", KEYS)
@pytest.mark.parametrize("form", ["JWK", "PEM", "encrypted PEM"])
def test_a_key_of_any_kind_and_form_signs_with_what_is_usual_for_it(algorithm: str, form: str) -> None:
    theirs = KEYS[algorithm]
    password = "open" if form == "encrypted PEM" else None
    given = theirs.as_dict(private=True) if form == "JWK" else theirs.as_pem(private=True, password=password)

    key = SigningKey(given, password=password)

    assert key.algorithm == algorithm
    assert key.thumbprint == theirs.thumbprint()
    assert verify(key.sign({"typ": "JWT"}, {"sub": "me"}), key.public, [algorithm]) == (
        {"alg": algorithm, "typ": "JWT"},
        {"sub": "me"},
    )


def test_a_key_may_say_itself_how_it_signs_and_what_it_is_called() -> None:
    key = SigningKey({**KEYS["RS256"].as_dict(private=True), "alg": "PS384", "kid": "mine"})

    token = key.sign({}, {})

    assert unverified(token).header == {"alg": "PS384", "kid": "mine"}
    assert verify(token, key.public).claims == {}


def test_a_name_that_is_given_wins_but_an_algorithm_has_to_be_the_key_s_own() -> None:
    given = {**KEYS["RS256"].as_dict(private=True), "alg": "PS384", "kid": "mine"}

    assert unverified(SigningKey(given, key_id="ours").sign({}, {})).header == {"alg": "PS384", "kid": "ours"}
    with pytest.raises(ValueError, match="none for RS512"):
        SigningKey(given, "RS512")


@pytest.mark.parametrize("algorithm", ["HS256", "none", "ES256K"])
def test_an_algorithm_that_is_not_known_is_refused(algorithm: str) -> None:
    with pytest.raises(ValueError, match="legal are ES256"):
        SigningKey(KEYS["ES256"].as_pem(private=True), algorithm)


def test_a_key_that_is_none_for_an_algorithm_is_refused() -> None:
    with pytest.raises(ValueError, match="none for RS256"):
        SigningKey(KEYS["ES256"].as_pem(private=True), "RS256")


@pytest.mark.parametrize(
    "given",
    [
        b"",
        "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----",
        {},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "EC", "crv": "P-256", "x": "secret", "y": "secret", "d": "secret"},
        KEYS["ES256"].as_pem(),
        KEYS["ES256"].as_dict(),
    ],
    ids=["nothing", "no key in it", "empty JWK", "symmetric", "not on the curve", "public PEM", "public JWK"],
)
def test_what_is_no_private_key_is_refused_and_not_shown(given: Any) -> None:
    with pytest.raises(ValueError, match="no private key: legal are a PEM text and a JWK") as caught:
        SigningKey(given)

    assert "secret" not in str(caught.value)


def test_a_key_shows_nothing_private() -> None:
    private = KEYS["ES256"].as_dict(private=True)["d"]

    key = SigningKey(KEYS["ES256"].as_dict(private=True))

    assert str(private) not in repr(key) + str(key.public)
    assert key.thumbprint in repr(key)


@pytest.mark.parametrize("password", [None, "open"])
def test_a_key_can_be_kept_for_another_run(password: str | None) -> None:
    again = SigningKey(KEY.pem(password), password=password)

    assert again.thumbprint == KEY.thumbprint
    assert verify(again.sign({}, {"sub": "me"}), KEY.public).claims == {"sub": "me"}


def test_a_key_that_is_encrypted_is_no_key_without_the_password() -> None:
    with pytest.raises(ValueError, match="no private key"):
        SigningKey(KEY.pem("open"), password="shut")


def test_a_thumbprint_is_that_of_the_rfc() -> None:
    assert thumbprint(RSA_OF_THE_RFC) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


@pytest.mark.parametrize("key", [{}, {"kty": "EC"}, {"kty": 5}, {"kty": []}, {"kty": "oct", "k": "x"}, {"kty": "RSA"}])
def test_there_is_no_thumbprint_of_what_is_no_public_key(key: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken, match="no public key"):
        thumbprint(key)


def test_a_token_of_another_key_is_refused() -> None:
    with pytest.raises(InvalidToken, match="not signed with the key that it should be"):
        verify(OTHER.sign({}, {"sub": "me"}), KEY.public)


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_a_token_that_was_changed_is_refused(changed: int) -> None:
    parts = KEY.sign({}, {"sub": "me"}).split(".")
    parts[changed] = [part({"alg": "ES256", "x": 1}), part({"sub": "you"}), OTHER.sign({}, {}).split(".")[2]][changed]

    with pytest.raises(InvalidToken, match="not signed with the key"):
        verify(".".join(parts), KEY.public)


def test_a_public_key_is_no_shared_secret() -> None:
    secret = jwk.OctKey.import_key(KEY.public["x"])
    forged = jws.serialize_compact({"alg": "HS256"}, b"{}", secret)

    with pytest.raises(InvalidToken, match="not signed with"):
        verify(forged, KEY.public, ["HS256", "ES256"])
    with pytest.raises(InvalidToken, match="no public key"):
        thumbprint(secret.as_dict(private=True))


def test_a_token_without_a_signature_is_refused() -> None:
    header, claims, _ = KEY.sign({}, {}).split(".")

    for unsigned in (
        f"{part({'alg': 'none'})}.{claims}.",
        f"{part({'alg': 'none'})}.{claims}.x",
        f"{header}.{claims}.",
    ):
        with pytest.raises(InvalidToken):
            verify(unsigned, KEY.public)


def test_an_algorithm_beside_those_that_are_wanted_is_refused() -> None:
    with pytest.raises(InvalidToken, match="not signed with ES384 or PS256"):
        verify(KEY.sign({}, {}), KEY.public, ["ES384", "PS256"])


def test_what_must_be_understood_and_is_not_makes_a_token_void() -> None:
    with pytest.raises(InvalidToken, match="crit"):
        verify(KEY.sign({"typ": "JWT", "crit": ["typ"]}, {}), KEY.public)


def test_a_key_that_is_not_on_its_curve_verifies_nothing() -> None:
    with pytest.raises(InvalidToken):
        verify(KEY.sign({}, {}), {**KEY.public, "x": KEY.public["y"]})


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c.d",
        "....",
        "a b.c.d",
        "é.c.d",
        f"{part([])}.{part({})}.x",
        f"{part({})}.{part('x')}.x",
        f"{part({})}.!!!.x",
        f"{part({})}.a.x",
        f"{urlsafe_b64encode(b'[' * 9000).decode().rstrip('=')}.{part({})}.x",
        "a" * MAX_TOKEN + ".b.c",
    ],
    ids=range(12),
)
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidToken):
        unverified(token)


@given(token=st.text(st.sampled_from("aeyJhbGciOiJFUzI1NiJ9._-=\n"), max_size=40) | st.text(max_size=20))
def test_any_text_is_a_token_or_refused(token: str) -> None:
    with pytest.raises(InvalidToken):
        verify(token, KEY.public)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda some: st.lists(some, max_size=3))


@given(key=st.dictionaries(st.sampled_from(["kty", "crv", "x", "y", "e", "n", "d", "k"]), JSON))
def test_any_key_from_elsewhere_verifies_nothing(key: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken):
        verify(KEY.sign({}, {}), key)


@given(kind=st.sampled_from(["EC", "RSA", "OKP"]), members=st.lists(st.text(max_size=8), min_size=4, max_size=4))
def test_a_key_of_wrong_members_verifies_nothing(kind: str, members: list[str]) -> None:
    x, y, n, e = members
    algorithm = {"EC": "ES256", "RSA": "RS256", "OKP": "Ed25519"}[kind]
    token = f"{part({'alg': algorithm})}.{part({})}.{KEY.sign({}, {}).split('.')[2]}"

    with pytest.raises(InvalidToken):
        verify(token, {"kty": kind, "crv": "P-256" if kind == "EC" else "Ed25519", "x": x, "y": y, "n": n, "e": e})


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)

    with pytest.raises(ImportError, match=r"signed tokens need the extra 'auth': pip install 'dedalus-mcp\[auth\]'"):
        SigningKey.generate()


def test_every_algorithm_is_one_of_the_library() -> None:
    assert set(ALGORITHMS) <= set(jws.JWSRegistry.algorithms)
