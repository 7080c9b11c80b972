"""The pages that a user may be sent to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.schema.page_urls import fault_of_page


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/pay?for=a%20b&to=me@example.com#end",
        "HTTPS://EXAMPLE.COM:8443/",
        "http://localhost:3000/oauth",
        "http://[::1]:3000/",
        "https://bücher.example/ü",
    ],
)
def test_a_page_is_let_through(url: str) -> None:
    """ELIC-06."""
    assert fault_of_page(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript://example.com/%0aalert(1)",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "vbscript:x",
        "blob:https://example.com/1",
        "ms-settings:",
        "ftp://example.com/",
        "example.com",
        "//example.com",
        "/pay",
        "https:",
        "https:///pay",
        "https://:443/",
        "https://[::1",
        "https://example.com:port/",
        "https://example.com/a b",
        "https://example.com/\u202egpj.exe",
        "https://example.com/\x00",
        "https://example.com\n.evil.example/",
        " https://example.com/",
        "",
    ],
    ids=ascii,
)
def test_nothing_else_is(url: str) -> None:
    """SEC-11: what a browser or the system would run, or show otherwise than it is, goes nowhere."""
    fault = fault_of_page(url)

    assert fault is not None
    assert fault.startswith("must be ")


@pytest.mark.parametrize(
    "url", ["https://me:word@example.com/", "https://example.com@evil.example", "https://@a.example"]
)
def test_a_url_that_signs_in_is_refused_and_not_repeated(url: str) -> None:
    """ELIC-26."""
    assert fault_of_page(url) == "must hold no user name and no password: whoever has it would be signed in"


@given(st.text() | st.builds("https://{}".format, st.text()) | st.builds("{}://example.com/".format, st.text()))
def test_any_text_is_let_through_or_refused(url: str) -> None:
    fault = fault_of_page(url)

    assert fault is not None or url[:4].lower() == "http"
    assert len(fault or "") < 300
