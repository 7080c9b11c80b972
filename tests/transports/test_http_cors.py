"""`Cors`: what browsers are told, for which pages, and that it is never more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp_transports.http_cors import MAX_PARAMS, Cors
from dedalus_mcp_transports.http_headers import Headers

PAGE = "https://app.example.com"
ASKS = (b"access-control-request-method", b"POST")


def told(origin: str | None, *entries: str) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in Cors(entries).headers(origin)}


def preflight(asked: bytes) -> list[str]:
    """The request headers that are allowed when these are asked for."""
    found = Cors([PAGE]).preflight("OPTIONS", Headers([ASKS, (b"access-control-request-headers", asked)]))
    assert found is not None
    return dict(found)[b"access-control-allow-headers"].decode().split(", ")


@pytest.mark.parametrize(
    ("entry", "origin"),
    [
        (PAGE, PAGE),
        (PAGE, "HTTPS://APP.example.com"),
        ("http://localhost:*", "http://localhost:5173"),
        ("https://app.example.com:8443", "https://app.example.com:8443"),
    ],
)
def test_a_page_that_may_is_named_as_it_named_itself(entry: str, origin: str) -> None:
    assert told(origin, entry) == {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate, Retry-After",
        "vary": "Origin",
    }


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", f"{PAGE}:1", f"{PAGE}.evil.example", None])
def test_anybody_else_is_told_nothing_but_that_answers_differ(origin: str | None) -> None:
    assert told(origin, PAGE) == {"vary": "Origin"}


@pytest.mark.parametrize("origin", [PAGE, "null", None])
def test_any_page_is_meant_by_a_star(origin: str | None) -> None:
    assert told(origin, "*")["access-control-allow-origin"] == "*"


@given(st.none() | st.text(), st.sampled_from(["*", PAGE, "http://localhost:*"]))
def test_nothing_is_ever_allowed_for_cookies(origin: str | None, entry: str) -> None:
    assert not any("credentials" in name for name in told(origin, entry))


@pytest.mark.parametrize("entry", ["app.example.com", "https://app.example.com/", "", "https://*.example.com"])
def test_an_entry_that_is_no_origin_is_told_by_the_name_of_its_setting(entry: str) -> None:
    with pytest.raises(ValueError, match=r"^cors_origins takes origins like"):
        Cors([entry])


@pytest.mark.parametrize(("method", "fields"), [("POST", [ASKS]), ("OPTIONS", [])])
def test_what_does_not_ask_is_no_preflight(method: str, fields: list[tuple[bytes, bytes]]) -> None:
    assert Cors([PAGE]).preflight(method, Headers(fields)) is None


def test_the_headers_of_the_protocol_are_allowed_without_being_asked_for() -> None:
    found = dict(Cors([PAGE]).preflight("OPTIONS", Headers([ASKS])) or ())

    allowed = found[b"access-control-allow-headers"].decode().split(", ")
    assert {"authorization", "content-type", "last-event-id", "mcp-session-id", "mcp-protocol-version"} < {*allowed}
    assert found[b"access-control-allow-methods"] == b"GET, POST, DELETE"


def test_headers_of_mirrored_arguments_are_allowed_and_no_others() -> None:
    allowed = preflight(b"Mcp-Param-Region,mcp-param-x.y , X-Evil, mcp-param-, mcp-param-a b, cookie\xe9")

    assert [name for name in allowed if name.startswith("mcp-param")] == ["mcp-param-region", "mcp-param-x.y"]
    assert not {"x-evil", "cookie\xe9"} & {*allowed}


def test_a_flood_of_headers_is_not_repeated() -> None:
    asked = b",".join(b"mcp-param-%d" % n for n in range(10 * MAX_PARAMS))

    assert sum(name.startswith("mcp-param") for name in preflight(asked)) == MAX_PARAMS


@given(st.binary(max_size=300))
def test_what_is_asked_never_breaks_the_answer(asked: bytes) -> None:
    assert all(name.isascii() and name.isprintable() for name in preflight(asked))
