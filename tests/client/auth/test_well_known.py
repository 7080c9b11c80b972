"""Where metadata lie, and whom a resource stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.auth.well_known import (
    canonical,
    is_within,
    origin,
    resource_metadata_urls,
    server_metadata_urls,
)

SEGMENTS = st.lists(st.text("abcdef0123456789-._~", min_size=1, max_size=6), max_size=4)


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("https://h/mcp", ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource")),
        ("https://h/a/b/", ("/.well-known/oauth-protected-resource/a/b", "/.well-known/oauth-protected-resource")),
        ("https://h/mcp?x=1#y", ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource")),
        ("https://h", ("/.well-known/oauth-protected-resource",)),
        ("https://h/", ("/.well-known/oauth-protected-resource",)),
    ],
)
def test_the_metadata_of_a_server_are_looked_for_with_its_path_and_then_without(
    url: str, places: tuple[str, ...]
) -> None:
    """AUTH-17."""
    assert resource_metadata_urls(url) == tuple(f"https://h{place}" for place in places)


@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        ("https://h", ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")),
        (
            "https://h/tenant1",
            (
                "/.well-known/oauth-authorization-server/tenant1",
                "/.well-known/openid-configuration/tenant1",
                "/tenant1/.well-known/openid-configuration",
            ),
        ),
    ],
)
def test_the_metadata_of_an_issuer_are_looked_for_in_the_order_of_the_specification(
    issuer: str, places: tuple[str, ...]
) -> None:
    """AUTH-20, AUTH-21."""
    assert server_metadata_urls(issuer) == tuple(f"https://h{place}" for place in places)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTPS://Host.Example:443/MCP/", "https://host.example/MCP"),
        ("http://localhost:80/", "http://localhost"),
        ("http://localhost:8000/mcp?x=1", "http://localhost:8000/mcp"),
        ("https://[::1]:8443/mcp", "https://[::1]:8443/mcp"),
    ],
)
def test_a_server_has_one_name_however_its_url_is_written(url: str, expected: str) -> None:
    """AUTH-35."""
    assert canonical(url) == expected


@pytest.mark.parametrize(
    ("url", "resource", "within"),
    [
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://h/mcp/", True),
        ("https://h/mcp/", "https://h/mcp", True),
        ("https://h/mcp", "https://h", True),
        ("https://h/mcp", "https://h/", True),
        ("https://h:443/mcp", "https://H/mcp", True),
        ("https://h/mcp/deep", "https://h/mcp", True),
        ("https://h/mcpx", "https://h/mcp", False),
        ("https://h/mcp", "https://h/mcp/deep", False),
        ("https://h/mcp", "https://evil.example/mcp", False),
        ("https://h/mcp", "http://h/mcp", False),
        ("https://h/mcp", "https://h:8443/mcp", False),
        ("https://h/mcp", "https://h/mcp#part", False),
        ("https://h/mcp", "https://h.evil.example/mcp", False),
        ("https://h/mcp", "https://h:99999/mcp", False),
        ("https://h/mcp", "https://[/mcp", False),
        ("https://h/mcp", "", False),
    ],
)
def test_a_resource_is_the_server_itself_or_what_it_lies_beneath(url: str, resource: str, within: bool) -> None:
    """AUTH-18; B133."""
    assert is_within(url, resource) is within


@given(SEGMENTS, SEGMENTS)
def test_all_places_are_at_the_origin_and_the_most_special_is_first(path: list[str], more: list[str]) -> None:
    url = "/".join(["https://host.example:8443", *path, *more])

    for places in (resource_metadata_urls(url), server_metadata_urls(url)):
        assert all(origin(place) == "https://host.example:8443" for place in places)
        assert len(set(places)) == len(places)
        assert places[0].endswith("/".join(["", *path, *more]))
    assert is_within(url, "/".join(["https://host.example:8443", *path]))


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_breaks_the_comparison(url: str, resource: str) -> None:
    assert is_within(url, resource) in (True, False)
