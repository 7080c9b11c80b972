"""Entries as text: aligned, clipped, and harmless."""

from __future__ import annotations

import json

import pytest

from dedalus_mcp.cli.trace_entries import Entry
from dedalus_mcp.cli.trace_lines import as_block, as_json_line, as_line

CALL = Entry(1, 0.0125, "client", "request", "tools/call", 3, None, {"id": 3, "params": {"name": "add"}})
ANSWER = Entry(1, 0.015, "server", "result", "tools/call", 3, 0.0025, {"id": 3, "result": {"content": []}})
EVIL = Entry(1, 0.0, "server", "junk", None, "\x1b[2J", None, "\x1b]0;owned\x07\nnext \u202ereversed")


def test_a_line_has_time_direction_method_id_and_what_matters_of_the_message() -> None:
    assert as_line(CALL) == '     12.5 ms  → request      tools/call #3  {"name": "add"}'
    assert as_line(ANSWER) == '     15.0 ms  ← result       tools/call #3 (2.5 ms)  {"content": []}'


def test_a_second_connection_is_numbered_and_an_end_has_its_reason() -> None:
    line = as_line(Entry(2, 0.0, "server", "ended", message="it died"))

    assert line.split() == ["[2]", "0.0", "ms", "←", "ended", "it", "died"]


def test_a_long_message_is_clipped_in_a_line_and_whole_in_a_block() -> None:
    entry = Entry(1, 0.0, "server", "result", "a", 1, 0.0, {"result": {"text": "x" * 1000}})

    assert len(as_line(entry)) < 250
    assert "x" * 1000 in as_block(entry)
    assert as_block(CALL).split("\n")[1:3] == ["    {", '      "id": 3,']


@pytest.mark.parametrize("written", [as_line(EVIL), as_block(EVIL), as_json_line(EVIL)])
def test_nothing_in_an_entry_is_obeyed_by_a_terminal(written: str) -> None:
    assert "\x1b" not in written
    assert "\x07" not in written
    assert "\u202e" not in written


def test_a_line_of_json_is_one_line_and_says_all() -> None:
    line = as_json_line(EVIL)

    assert "\n" not in line
    assert json.loads(line)["message"] == EVIL.message
