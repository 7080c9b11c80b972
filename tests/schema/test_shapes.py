"""JSON shapes."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.schema.shapes import has_more, is_array, is_number, is_object, parts


def test_shapes_are_told_apart() -> None:
    values: list[Any] = [{}, [], (), 1, 1.5, True, "a", None]

    assert [is_object(value) for value in values] == [True, False, False, False, False, False, False, False]
    assert [is_array(value) for value in values] == [False, True, True, False, False, False, False, False]
    assert [is_number(value) for value in values] == [False, False, False, True, True, False, False, False]


def test_a_value_and_all_that_is_in_it_are_its_parts() -> None:
    assert list(parts({"a": [1, ()], "b": "xy"})) == [
        ({"a": [1, ()], "b": "xy"}, 0),
        ([1, ()], 1),
        (1, 2),
        ((), 2),
        ("xy", 1),
    ]
    assert list(parts(None)) == [(None, 0)]


@pytest.mark.parametrize(("number", "more"), [(0, True), (3, True), (4, False)])
def test_whether_there_is_more_than_so_much_is_told_by_counting_no_further(number: int, more: bool) -> None:
    endless: list[list[int]] = [[]] * 10_000_000

    assert has_more([1, [2]], number) is more
    assert has_more(endless, 1000) is True
