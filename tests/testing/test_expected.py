"""What is expected of messages, and how they are shown to differ."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.testing.expected import MAX_LINES, check, difference, named


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ({"a": 1, "b": [True, None, "x"]}, {"b": [True, None, "x"], "a": 1}),
        (..., {"any": "thing"}),
        ({"a": ...}, {"a": None}),
        ({"a": 1, ...: ...}, {"a": 1, "b": 2}),
        ({...: ...}, {}),
        ([1, ...], [1, 2, 3]),
        ([1, ...], [1]),
        ([{"a": ...}, ...], [{"a": 2}, 5]),
        ((1, 2), [1, 2]),
    ],
    ids=repr,
)
def test_what_is_left_open_may_be_anything(expected: Any, got: Any) -> None:
    assert difference(expected, got) is None


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, True),
        (1, 1.0),
        (0, False),
        ("1", 1),
        (None, "null"),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": ...}, {}),
        ({"a": 1, ...: ...}, {"b": 2}),
        ({"a": 1}, [1]),
        ([1, 2], [2, 1]),
        ([1], [1, 2]),
        ([1, 2, ...], [1]),
        ([1], {"0": 1}),
    ],
    ids=repr,
)
def test_everything_else_is_compared_as_json(expected: Any, got: Any) -> None:
    assert difference(expected, got) is not None


def test_a_difference_shows_the_lines_that_differ_and_nothing_that_was_left_open() -> None:
    expected = {"id": ..., "result": {"text": "a", ...: ...}}
    got = {"id": 7, "result": {"text": "b", "more": 1}}

    with pytest.raises(AssertionError) as caught:
        check(expected, got, "the reply")

    lines = str(caught.value).splitlines()
    assert lines[0] == "the reply differs (- expected, + got):"
    assert [line for line in lines[1:] if line[0] in "+-"] == ['-    "text": "a"', '+    "text": "b"']


def test_a_difference_is_clipped_in_both_directions() -> None:
    found = difference([0] * 500, ["x" * 10_000] * 500)

    assert found is not None
    assert len(found.splitlines()) == MAX_LINES + 1
    assert max(map(len, found.splitlines())) <= 200
    assert len(named({"a": "x" * 10_000})) == 200
