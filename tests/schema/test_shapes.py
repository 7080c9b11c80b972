"""JSON shapes."""

from __future__ import annotations

from typing import Any

from dedalus_mcp.schema.shapes import is_array, is_number, is_object


def test_shapes_are_told_apart() -> None:
    values: list[Any] = [{}, [], (), 1, 1.5, True, "a", None]

    assert [is_object(value) for value in values] == [True, False, False, False, False, False, False, False]
    assert [is_array(value) for value in values] == [False, True, True, False, False, False, False, False]
    assert [is_number(value) for value in values] == [False, False, False, True, True, False, False, False]
