"""`parse_www_authenticate`: every form that a challenge may have, and whatever else a server may send."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.auth.challenge import (
    MAX_CHALLENGES,
    MAX_HEADER,
    MAX_SCOPES,
    WWWAuthenticateChallenge,
    parse_www_authenticate,
    token_challenge,
)

TOKENS = st.text(string.ascii_letters + string.digits + "!#$%&'*+.^_`|~-", min_size=1, max_size=12)
TEXTS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=20)


Read = list[tuple[str, dict[str, str], str | None]]
CASES: list[tuple[str, Read]] = [
    ("Bearer", [("Bearer", {}, None)]),
    ('Bearer realm="a, b"', [("Bearer", {"realm": "a, b"}, None)]),
    ("Bearer realm=a", [("Bearer", {"realm": "a"}, None)]),
    ('bearer Scope = "x y" , Error="e"', [("bearer", {"scope": "x y", "error": "e"}, None)]),
    (r'Bearer realm="a \"b\" \\"', [("Bearer", {"realm": r'a "b" \ '.strip()}, None)]),
    ('Bearer scope="a", scope="b"', [("Bearer", {"scope": "a"}, None)]),
    ("Basic, Bearer", [("Basic", {}, None), ("Bearer", {}, None)]),
    ('Basic realm="x", Bearer scope="y"', [("Basic", {"realm": "x"}, None), ("Bearer", {"scope": "y"}, None)]),
    ('Negotiate a87421000492aa874209af8bc028==, DPoP algs="ES256"',
     [("Negotiate", {}, "a87421000492aa874209af8bc028=="), ("DPoP", {"algs": "ES256"}, None)]),
    (' ,, Bearer  a=1 ,, b="2"', [("Bearer", {"a": "1", "b": "2"}, None)]),
    ('Bearer resource_metadata="https://h/.well-known/x?a=b,c"',
     [("Bearer", {"resource_metadata": "https://h/.well-known/x?a=b,c"}, None)]),
    ("", []),
    ("   ", []),
    ('Bearer realm="open', [("Bearer", {}, None)]),
    ('Bearer a="1", b="open', [("Bearer", {"a": "1"}, None)]),
    ("\x00\x01", []),
]  # fmt: skip


def read(header: str) -> Read:
    return [(each.scheme, dict(each.params), each.token68) for each in parse_www_authenticate(header)]


@pytest.mark.parametrize(("header", "expected"), CASES)
def test_a_header_is_read_as_the_standard_says(header: str, expected: Read) -> None:
    """AUTH-16; AMB-36."""
    found = read(header)

    assert found[: len(expected)] == expected
    assert len(found) >= len(expected)


def test_several_headers_are_read_in_order() -> None:
    found = parse_www_authenticate("Basic", 'Bearer scope="a"')

    assert [each.scheme for each in found] == ["Basic", "Bearer"]


def test_the_parts_of_a_token_challenge_have_names() -> None:
    challenge = token_challenge(
        "Basic", 'Bearer error="insufficient_scope", scope="a  b a", resource_metadata="https://h/m"'
    )

    assert challenge is not None
    assert (challenge.error, challenge.scopes) == ("insufficient_scope", ("a", "b"))
    assert challenge.resource_metadata == "https://h/m"


def test_what_cannot_be_a_scope_is_no_scope() -> None:
    challenge = WWWAuthenticateChallenge("Bearer", {"scope": 'ok bad"quote bad\\slash ü new\nline also:ok'})

    assert challenge.scopes == ("ok", "also:ok")


@pytest.mark.parametrize("scheme", ["bearer", "dpop"])
def test_of_bearer_and_dpop_the_one_that_is_wanted_is_taken_with_what_the_other_says(scheme: str) -> None:
    challenge = token_challenge('Bearer scope="a", DPoP scope="b", algs="ES256"', scheme=scheme)

    assert challenge is not None
    assert challenge.is_for(scheme)
    assert dict(challenge.params) == {"scope": "a" if scheme == "bearer" else "b", "algs": "ES256"}
    assert token_challenge("Bearer", scheme="dpop") == WWWAuthenticateChallenge("Bearer", {})


def test_other_schemes_ask_for_no_token() -> None:
    assert token_challenge('Basic realm="x"', "Negotiate") is None
    assert token_challenge() is None


def test_a_flood_of_challenges_and_scopes_is_cut_off() -> None:
    assert len(parse_www_authenticate(", ".join(["Bearer"] * 1000))) == MAX_CHALLENGES
    assert len(parse_www_authenticate("Bearer " + ", ".join(f"a{n}=1" for n in range(9000)))) == 1
    scopes = " ".join(f"s{number}" for number in range(2000))
    challenge = token_challenge(f'Bearer scope="{scopes}"')
    assert challenge is not None
    assert len(challenge.scopes) == MAX_SCOPES
    assert read(f'Bearer a="{"x" * MAX_HEADER}"') == [("Bearer", {}, None)]


@given(st.text(max_size=300))
def test_no_header_breaks_the_reading(header: str) -> None:
    for challenge in parse_www_authenticate(header):
        assert challenge.scheme
        assert all(name == name.lower() for name in challenge.params)


@given(st.text('Bearer =",\\ab', max_size=120))
def test_no_header_made_of_the_right_letters_breaks_the_reading_either(header: str) -> None:
    assert len(parse_www_authenticate(header)) <= MAX_CHALLENGES


@given(st.lists(st.tuples(TOKENS, st.dictionaries(TOKENS.map(str.lower), TEXTS, max_size=4)), max_size=5))
def test_what_was_written_is_read_back(challenges: list[tuple[str, dict[str, str]]]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    header = ", ".join(
        f"{scheme} {', '.join(f'{name}={quoted(value)}' for name, value in params.items())}".rstrip()
        for scheme, params in challenges
    )

    assert read(header) == [(scheme, params, None) for scheme, params in challenges]
