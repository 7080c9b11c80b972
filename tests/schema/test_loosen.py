"""What models get wrong and JSON does not mind."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.schema.loosen import loosen

INTEGER = {"type": "integer"}
LIST = {"type": "array", "items": INTEGER}
MODEL = {"type": "object", "properties": {"n": INTEGER}, "additionalProperties": LIST}
TREE = {
    "Tree": {
        "type": "object",
        "properties": {"n": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    }
}


@pytest.mark.parametrize(
    ("value", "schema", "result"),
    [
        ("5", INTEGER, 5),
        ("5.0", INTEGER, 5),
        (" 5 ", INTEGER, 5),
        ("1e2", {"type": "number"}, 100.0),
        ("1", {"type": "number"}, 1),
        ("false", {"type": "boolean"}, False),
        ("[1]", LIST, [1]),
        ('["1", 2.0]', LIST, [1, 2]),
        ('{"n": "1", "rest": "[3]"}', MODEL, {"n": 1, "rest": [3]}),
        ({"n": "1"}, MODEL, {"n": 1}),
        (["1", "2", "3"], {"type": "array", "prefixItems": [{"type": "string"}], "items": INTEGER}, ["1", 2, 3]),
        ("null", {"anyOf": [INTEGER, {"type": "null"}]}, None),
        ("7", {"anyOf": [INTEGER, {"type": "null"}]}, 7),
        ("1", {"enum": [1, 2]}, 1),
        ({"kids": [{"n": "1"}]}, {"$ref": "#/$defs/Tree"}, {"kids": [{"n": 1}]}),
        (
            {"t": "b", "n": "1"},
            {
                "anyOf": [
                    {"type": "object", "properties": {"t": {"enum": ["a"]}}},
                    {**MODEL, "additionalProperties": True},
                ]
            },
            {"t": "b", "n": 1},
        ),
    ],
    ids=repr,
)
def test_strings_of_json_are_read_where_no_string_is_legal(value: Any, schema: Any, result: Any) -> None:
    """B110."""
    assert loosen(value, schema, TREE, strings=True) == result


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("5", {"type": "string"}),
        ("5", {"anyOf": [INTEGER, {"type": "string"}]}),
        ("5", {}),
        ("5.5", INTEGER),
        ("yes", {"type": "boolean"}),
        ("True", {"type": "boolean"}),
        ("[", LIST),
        ("[" * 100_000, LIST),
        ("\ud800", INTEGER),
        ("5", {"type": "boolean"}),
        (1.5, INTEGER),
        (None, INTEGER),
        ({"n": "x"}, {"anyOf": [MODEL, {"type": "null"}]}),
    ],
    ids=lambda it: repr(it)[:20],
)
def test_everything_else_is_left_as_it_is(value: Any, schema: Any) -> None:
    """B109, B110."""
    assert loosen(value, schema, {}, strings=True) == value


def test_integral_floats_are_integers_unless_numbers_are_legal() -> None:
    whole = loosen([1.0, 2.0], LIST, {}, strings=False)

    assert whole == [1, 2]
    assert all(isinstance(item, int) for item in whole)
    assert isinstance(loosen(1.0, {"anyOf": [INTEGER, {"type": "number"}]}, {}, strings=True), float)


def test_strings_stay_strings_when_they_are_not_to_be_read() -> None:
    assert loosen({"n": "1"}, MODEL, {}, strings=False) == {"n": "1"}


def test_deep_alternatives_take_no_exponential_time() -> None:
    left = {"type": "object", "properties": {"l": {"$ref": "#/$defs/E"}}, "required": ["l"]}
    right = {"type": "object", "properties": {"r": {"$ref": "#/$defs/E"}}, "required": ["r"]}
    expression = {"E": {"anyOf": [left, right, INTEGER]}}
    value: Any = "1"
    result: Any = 1
    for depth in range(60):
        key = "l" if depth % 2 else "r"
        value, result = {key: value}, {key: result}

    assert loosen(value, expression["E"], expression, strings=True) == result


def test_the_value_is_not_changed() -> None:
    value = {"n": "1", "rest": ["2"]}
    loosen(value, MODEL, {}, strings=True)

    assert value == {"n": "1", "rest": ["2"]}
