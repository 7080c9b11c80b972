"""Text of a server can show nothing but itself."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.cli.harmless import harmless, harmless_json, one_line


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b2Jgone", "\\x9b2Jgone"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\rb", "a\\rb"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\u202eb", "a\\u202eb"),
        ("a\U000e0041", "a\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("नमस्ते 👩‍💻", "नमस्ते 👩‍💻"),
        ("[red]no markup[/]", "[red]no markup[/]"),
    ],
)
def test_what_a_terminal_would_obey_stands_there_by_its_code(said: str, shown: str) -> None:
    assert harmless(said) == shown


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", harmless(text)) is None
    assert "\n" not in one_line(text)


@given(st.text())
def test_json_means_what_it_meant(text: str) -> None:
    shown = harmless_json(json.dumps(text, ensure_ascii=False))

    assert json.loads(shown) == text
    assert harmless(shown) == shown


def test_a_line_is_clipped_however_long_the_text_is() -> None:
    assert one_line("a\n b" + "c" * 1_000_000, 10) == "a bcccccc…"
