"""The four formats: nothing legal is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.schema.formats import FORMATS, is_secret


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("email", "a@b.example"),
        ("email", "postmaster@localhost"),
        ("email", '"a b"@example.org'),
        ("uri", "https://example.org/a?b=c#d"),
        ("uri", "urn:isbn:0451450523"),
        ("uri", "mailto:a@b.example"),
        ("date", "2024-02-29"),
        ("date-time", "2024-02-29T23:59:60Z"),
        ("date-time", "2024-02-29t10:00:00.123456789+05:30"),
    ],
)
def test_what_is_legal_passes(format: str, text: str) -> None:
    """ELIC-08."""
    assert FORMATS[format](text)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("email", "a"),
        ("email", "a@b@c"),
        ("email", "a b@c"),
        ("uri", "example.org"),
        ("uri", "http://a b"),
        ("uri", ""),
        ("date", "2023-02-29"),
        ("date", "20230101"),
        ("date", "2023-1-1"),
        ("date", "2023-01-01\n"),
        ("date-time", ""),
        ("date-time", "2024-02-29"),
        ("date-time", "2024-02-29T10:00:00"),
        ("date-time", "2024-02-30T10:00:00Z"),
        ("date-time", "2024-02-29 10:00:00Z"),
        ("date-time", "2024-02-29T24:00:00Z"),
        ("date-time", "2024-02-29T10:00:00+24:00"),
    ],
)
def test_what_is_illegal_does_not(format: str, text: str) -> None:
    assert not FORMATS[format](text)


@pytest.mark.parametrize(
    ("schema", "secret"),
    [
        ({"type": "string", "format": "password"}, True),
        ({"type": "string", "writeOnly": True}, True),
        ({"type": "string", "writeOnly": False}, False),
        ({"type": "string", "writeOnly": "yes"}, False),
        ({"type": "string", "format": ["password"]}, False),
        ({"type": "string", "title": "Password"}, False),
    ],
    ids=str,
)
def test_a_secret_is_what_its_schema_says_is_one(schema: dict[str, Any], *, secret: bool) -> None:
    """ELIC-21."""
    assert is_secret(schema) is secret
