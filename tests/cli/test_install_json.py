"""A document is changed in one place, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.cli.install_json import BrokenJson, drop, holds, put

PATH = ("mcpServers", "new")
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)


def test_an_empty_document_gets_all_that_is_missing() -> None:
    assert put("", PATH, {"command": "a"}) == (
        '{\n  "mcpServers": {\n    "new": {\n      "command": "a"\n    }\n  }\n}\n'
    )


def test_the_rest_of_the_document_stays_byte_for_byte() -> None:
    text = (
        '{\n    "z": 1.0,  "a": [1,2,\n3],\n    "mcpServers": {\n        "old": {"command":"x"}\n    },\n    "n": 1e5}'
    )

    assert put(text, PATH, {"command": "y", "args": []}) == (
        '{\n    "z": 1.0,  "a": [1,2,\n3],\n    "mcpServers": {\n        "old": {"command":"x"},\n'
        '        "new": {\n            "command": "y",\n            "args": []\n        }\n    },\n    "n": 1e5}'
    )


def test_an_entry_of_that_name_is_replaced_where_it_stands() -> None:
    text = '{"mcpServers": {\n\t"new": {"command": "old"},\n\t"other": {}}}'

    assert put(text, PATH, 1) == '{"mcpServers": {\n\t"new": 1,\n\t"other": {}}}'


def test_a_document_on_one_line_stays_on_one_line() -> None:
    assert put('{"mcpServers": {"a": 1}}', PATH, {"b": 2}) == '{"mcpServers": {"a": 1, "new": {"b": 2}}}'


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    text = '\ufeff{\r\n  "mcpServers": {}\r\n}'

    assert put(text, PATH, {"a": 1}) == (
        '\ufeff{\r\n  "mcpServers": {\r\n    "new": {\r\n      "a": 1\r\n    }\r\n  }\r\n}'
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"mcpServers": {"new": 1}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"new": 1, "b": 2}}', '{"mcpServers": {"b": 2}}'),
        ('{"mcpServers": {"a": 1, "new": 2}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"a": 1, "new": 2 , "b": 3}}', '{"mcpServers": {"a": 1 , "b": 3}}'),
        ('{"mcpServers": {"new": 1, "a": 1, "new": 2}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"a": 1}}', '{"mcpServers": {"a": 1}}'),
        ("{}", "{}"),
    ],
)
def test_an_entry_is_taken_out(text: str, left: str) -> None:
    assert drop(text, PATH) == left


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  "a": 1,\n}', r"line [23], column \d+"),  # where it is, or what comes next: Python has both
        ('{\n  // words\n  "a": 1}', "line 2, column 3"),
        ('{"a": NaN}', "NaN"),
        ("[]", "line 1, column 1: the document has to be an object"),
        ('{\n "mcpServers": []}', r"line 2, column 16: 'mcpServers' has to be an object"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(BrokenJson, match=why):
        put(text, PATH, {})
    with pytest.raises(BrokenJson, match=why):
        drop(text, PATH)


@given(document=DOCUMENTS, value=VALUES, indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]))
def test_reading_what_was_put_gives_the_document_and_the_value(document: Any, value: Any, indent: Any) -> None:
    servers = document.setdefault("mcpServers", {})
    if not isinstance(servers, dict):
        servers = document["mcpServers"] = {}
    text = json.dumps(document, indent=indent)
    had_it = "new" in servers

    changed = put(text, PATH, value)

    servers["new"] = value
    assert json.loads(changed) == document
    assert list(json.loads(changed)) == list(document)
    assert holds(changed, PATH)
    if not had_it:
        assert json.loads(drop(changed, PATH)) == json.loads(text)
