"""One request for consent: the page to open, and the one answer that counts."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.auth.authorization_request import AuthorizationRequest
from dedalus_mcp.client.auth.failures import AuthError, TokenError
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.pkce import code_challenge, code_verifier

AS = "https://as.example"
BACK = "http://127.0.0.1:3000/callback"


def make(*, endpoint: str = f"{AS}/authorize", promised: bool | None = True, **more: str) -> AuthorizationRequest:
    server = AuthorizationServerMetadata(issuer=AS, authorization_response_iss_parameter_supported=promised)
    return AuthorizationRequest.to(server, endpoint, client_id="me & you", redirect_uri=BACK, more=more)


def answer(request: AuthorizationRequest, **changes: str | None) -> str:
    fields = {"code": "c", "state": request.state, "iss": AS, **changes}
    return f"{BACK}?{urlencode({name: value for name, value in fields.items() if value is not None})}"


def test_the_page_holds_all_that_is_asked_for() -> None:
    """AUTH-32, AUTH-34, AUTH-36."""
    request = make(scope="a b", resource="https://h/mcp")

    query = parse_qs(urlsplit(request.url).query, strict_parsing=True)
    assert query == {
        "response_type": ["code"],
        "client_id": ["me & you"],
        "redirect_uri": [BACK],
        "state": [request.state],
        "code_challenge": [code_challenge(request.verifier)],
        "code_challenge_method": ["S256"],
        "scope": ["a b"],
        "resource": ["https://h/mcp"],
    }
    assert request.verifier not in request.url


def test_a_query_that_the_endpoint_has_already_stays() -> None:
    """RFC 6749, 3.1."""
    request = make(endpoint=f"{AS}/authorize?tenant=a%20b")

    assert request.url.startswith(f"{AS}/authorize?tenant=a%20b&response_type=code&")


def test_every_request_has_secrets_of_its_own() -> None:
    requests = [make() for _ in range(50)]

    assert len({request.state for request in requests}) == 50
    assert len({request.verifier for request in requests}) == 50
    assert min(len(request.state) for request in requests) >= 43


def test_a_verifier_is_challenged_as_the_standard_shows() -> None:
    """RFC 7636, appendix B."""
    assert (
        code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )
    assert 43 <= len(code_verifier()) <= 128


def test_the_answer_holds_the_code() -> None:
    request = make()

    assert request.code_in(answer(request)) == "c"
    assert request.code_in(answer(request, code="a+b c&d", more="x")) == "a+b c&d"
    assert make(promised=None).code_in is not None


@pytest.mark.parametrize("promised", [True, False, None])
@pytest.mark.parametrize(
    ("iss", "counts"),
    [(AS, None), (None, None), ("https://evil.example", False), (f"{AS}/", False), (AS.upper(), False), ("", False)],
)
def test_the_table_of_issuers(promised: bool | None, iss: str | None, counts: bool | None) -> None:
    """AUTH-38: counts, unless it is another; none at all counts where none is promised."""
    request = make(promised=promised)
    wanted = counts if counts is not None else iss is not None or not promised

    if wanted:
        assert request.code_in(answer(request, iss=iss)) == "c"
    else:
        with pytest.raises(AuthError, match="is not used"):
            request.code_in(answer(request, iss=iss))


def test_an_issuer_is_compared_as_it_is_decoded_from_the_form() -> None:
    """AUTH-38."""
    request = make()

    assert request.code_in(f"{BACK}?code=c&state={request.state}&iss=https%3A%2F%2Fas%2Eexample") == "c"


@pytest.mark.parametrize(
    "more",
    ["&code=other", "&state=other", "&iss=https://evil.example", "&error=x&error=y"],
)
def test_an_answer_that_says_something_twice_says_nothing(more: str) -> None:
    request = make()

    with pytest.raises(AuthError, match="says something twice"):
        request.code_in(answer(request) + more)


@pytest.mark.parametrize("text", ["", "http://[", "?" + "&".join(f"a{n}=1" for n in range(100)), "x" * 100_000])
def test_what_is_no_answer_is_an_error(text: str) -> None:
    with pytest.raises(AuthError):
        make().code_in(text)


def test_an_error_is_told_once_it_is_known_whose_it_is() -> None:
    """AUTH-39."""
    request = make()

    with pytest.raises(TokenError, match="access_denied, 'not today'") as caught:
        request.code_in(answer(request, code=None, error="access_denied", error_description="not today"))
    assert (caught.value.code, caught.value.description) == ("access_denied", "'not today'")
    with pytest.raises(AuthError) as other:
        request.code_in(answer(request, state="x", error="access_denied"))
    assert not isinstance(other.value, TokenError)


@given(st.text(max_size=200))
def test_no_text_is_an_answer(text: str) -> None:
    with pytest.raises(AuthError):
        make().code_in(text)


@given(st.dictionaries(st.sampled_from(["code", "state", "iss", "error", "error_description"]), st.text(max_size=20)))
def test_no_fields_are_an_answer_without_the_state(fields: dict[str, Any]) -> None:
    with pytest.raises(AuthError) as caught:
        make(promised=False).code_in(f"{BACK}?{urlencode(fields)}")
    assert not isinstance(caught.value, TokenError)
