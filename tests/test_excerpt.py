"""What the other side said, where it can do no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.excerpt import MAX_EXCERPT, excerpt


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a\nb\t c", "a b c"),
        ("ok\r\n2026-01-01 INFO signed in", "ok 2026-01-01 INFO signed in"),
        ("\x1b[2J\x07\x9b1m\0", "\\x1b[2J\\x07\\x9b1m\\x00"),
        ("a\u202eb\u200bc\ud800", "a\\u202eb\\u200bc\\ud800"),
        ("caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"),
        ("x" * 5_000_000, "x" * (MAX_EXCERPT - 3) + "..."),
        ("", ""),
        (ValueError("no\n"), "no"),
    ],
    ids=["lines", "forged", "terminal", "hidden", "any script", "long", "empty", "an error"],
)
def test_an_excerpt_is_one_short_line_of_harmless_characters(said: object, shown: str) -> None:
    assert excerpt(said) == shown


@given(st.text(), st.integers(3, 50))
def test_whatever_was_said_it_is_short_and_printable(said: str, length: int) -> None:
    shown = excerpt(said, length)

    assert shown.isprintable()
    assert len(shown) <= length
