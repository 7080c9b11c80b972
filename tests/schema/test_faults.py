"""What is wrong with a value: every place, in words, without the value."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dedalus_mcp.schema.faults import at, faults, fits, legal, quote, resolve, type_of, types_of, worst
from tests.ids import shown

NONE: set[str] = set()
TREE = {"Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}


def found(value: Any, schema: Any, definitions: dict[str, Any] | None = None) -> list[str]:
    return list(faults(value, schema, definitions or {}, "it"))


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "integer"),
        (1.0, "integer"),
        (1.5, "number"),
        (math.nan, "no JSON value"),
        ("a", "string"),
        ({}, "object"),
        ([], "array"),
        ((), "array"),
        (object(), "no JSON value"),
    ],
    ids=shown,
)
def test_types_are_those_of_json_schema(value: object, type: str) -> None:
    assert type_of(value) == type


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({}, NONE),
        (True, NONE),
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"enum": [1, "a"]}, {"integer", "string"}),
        ({"const": None}, {"null"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"anyOf": [{"type": "string"}, {}]}, NONE),
        ({"$ref": "#/$defs/Tree"}, {"object"}),
    ],
    ids=shown,
)
def test_types_of_a_schema(schema: Any, types: set[str]) -> None:
    assert types_of(schema, TREE) == types


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "any JSON value"),
        (False, "nothing"),
        ({"type": "integer", "minimum": 1}, "an integer, >= 1"),
        ({"type": "string", "minLength": 2, "pattern": "^a"}, "a string, at least 2 characters, matching '^a'"),
        ({"type": "string", "format": "date"}, "a string, in the format date"),
        ({"type": "array", "maxItems": 3}, "an array, at most 3 items"),
        ({"type": ["string", "null"]}, "null or a string"),
        ({"type": "fancy"}, "fancy"),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["a", 1, None]}, "one of 'a', 1, None"),
        ({"const": "a"}, "one of 'a'"),
        ({"enum": list(range(25))}, f"one of {', '.join(map(str, range(20)))}, ..."),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "null"}]}, "a string or null"),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}, "one of 'a', 'b'"),
        ({"$ref": "#/$defs/Tree", "description": "beside"}, "an object"),
    ],
    ids=shown,
)
def test_what_is_legal_is_said_in_words(schema: Any, words: str) -> None:
    assert legal(schema, TREE) == words


@pytest.mark.parametrize(
    ("value", "schema", "problems"),
    [
        ("x", {"type": "integer"}, ["it: expected an integer, got a string"]),
        (True, {"type": "integer"}, ["it: expected an integer, got true or false"]),
        (1.5, {"type": "integer"}, ["it: expected an integer, got a number"]),
        (object(), {"type": "integer"}, ["it: expected an integer, got no JSON value"]),
        (0, {"type": "integer", "minimum": 1}, ["it: expected an integer, >= 1"]),
        (2, {"type": "number", "maximum": 1}, ["it: expected a number, <= 1"]),
        (1, {"type": "number", "exclusiveMinimum": 1}, ["it: expected a number, > 1"]),
        (1, {"type": "number", "exclusiveMaximum": 1}, ["it: expected a number, < 1"]),
        (3, {"type": "integer", "multipleOf": 2}, ["it: expected an integer, a multiple of 2"]),
        ("a", {"type": "string", "minLength": 2}, ["it: expected a string, at least 2 characters"]),
        ("abc", {"type": "string", "maxLength": 2}, ["it: expected a string, at most 2 characters"]),
        ("abc", {"type": "string", "pattern": "^b"}, ["it: expected a string, matching '^b'"]),
        ("abc", {"type": "string", "format": "date"}, ["it: expected a string, in the format date"]),
        ("?", {"type": "string", "contentEncoding": "base64"}, ["it: expected a string, in base64"]),
        ([], {"type": "array", "minItems": 1}, ["it: expected an array, at least 1 items"]),
        ([1, 2], {"type": "array", "maxItems": 1}, ["it: expected an array, at most 1 items"]),
        ({}, {"type": "object", "minProperties": 1}, ["it: expected an object, at least 1 members"]),
        ({"a": 1}, {"type": "object", "maxProperties": 0}, ["it: expected an object, at most 0 members"]),
        ("c", {"enum": ["a", "b"]}, ["it: expected one of 'a', 'b'"]),
        (True, {"enum": [1]}, ["it: expected one of 1, got true or false"]),
        ([True], {"enum": [[1]]}, []),
        (1, False, ["it: expected nothing"]),
    ],
    ids=shown,
)
def test_one_fault_says_what_is_legal(value: Any, schema: Any, problems: list[str]) -> None:
    assert found(value, schema) == problems


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1, {"type": "number"}),
        (1.0, {"type": "integer"}),
        ("x", {}),
        ("x", True),
        ("x", {"type": "string", "pattern": r"\p{L}"}),
        ("x", {"type": "string", "format": "something"}),
        ("x", {"type": "string", "contentEncoding": "base32"}),
        ("eA==", {"type": "string", "contentEncoding": "base64"}),
        ("2020-01-01", {"type": "string", "format": "date"}),
        ({"a": 1}, {"type": "object", "additionalProperties": True}),
        ([1, "a"], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}),
        (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
    ids=shown,
)
def test_what_fits_has_no_fault(value: Any, schema: Any) -> None:
    assert found(value, schema) == []
    assert fits(value, schema, {})


def test_all_faults_are_found_each_with_its_path() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}}},
        "required": ["n", "m"],
        "additionalProperties": False,
    }

    assert found({"l": ["a", 1, None], "x": 1}, schema) == [
        "it.n: required, expected an integer",
        "it.m: required, expected any JSON value",
        "it.l[1]: expected a string, got an integer",
        "it.l[2]: expected a string, got null",
        "it.x: unknown; legal here: n, l",
    ]
    assert found({"x": 1}, {"type": "object", "additionalProperties": False}) == ["it.x: unknown; legal here: nothing"]


def test_items_of_a_tuple_and_values_of_a_map_are_looked_at() -> None:
    assert found([1, 2], {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}}) == [
        "it[0]: expected a string, got an integer",
        "it[1]: expected null, got an integer",
    ]
    assert found({"a": 1}, {"type": "object", "additionalProperties": {"type": "string"}}) == [
        "it.a: expected a string, got an integer"
    ]


def test_recursive_schemas_are_followed() -> None:
    assert found({"kids": [{"kids": [{"kids": 1}]}]}, {"$ref": "#/$defs/Tree"}, TREE) == [
        "it.kids[0].kids[0].kids: expected an array, got an integer"
    ]


def test_the_only_branch_that_was_meant_is_explained() -> None:
    model = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert found({"n": "x"}, {"anyOf": [model, {"type": "null"}]}) == ["it.n: expected an integer, got a string"]
    assert found("x", {"oneOf": [model, {}]}) == []
    assert found("x", {"anyOf": [{"enum": ["a"]}, {"type": "string", "format": "date"}, {"type": "null"}]}) == [
        "it: expected one of 'a' or a string, in the format date"
    ]
    assert found(1, {"anyOf": [model, {"type": "null"}]}) == ["it: expected an object or null, got an integer"]


ADD = {"type": "object", "properties": {"t": {"enum": ["add"]}, "l": {"$ref": "#/$defs/E"}}, "required": ["t", "l"]}
MUL = {"type": "object", "properties": {"t": {"enum": ["mul"]}, "r": {"$ref": "#/$defs/E"}}, "required": ["t", "r"]}
EXPRESSION = {"E": {"anyOf": [ADD, MUL, {"type": "integer"}]}}


def test_the_branch_is_chosen_by_what_lies_one_level_deep() -> None:
    assert found({"t": "mul", "r": "x"}, EXPRESSION["E"], EXPRESSION) == [
        "it.r: expected an object or an integer, got a string"
    ]
    lists = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "integer"}}]}
    assert found([1, "x"], lists) == ["it[1]: expected an integer, got a string"]
    assert found([[1]], {"anyOf": [{"type": "array", "items": lists}, {"type": "null"}]}) == []


def test_deep_alternatives_take_no_exponential_time() -> None:
    value: Any = "x"
    for depth in range(60):
        value = {"t": "add", "l": value} if depth % 2 else {"t": "mul", "r": value}

    assert found(value, EXPRESSION["E"], EXPRESSION) == [
        f"it{'.l.r' * 30}: expected an object or an integer, got a string"
    ]


def test_a_reader_gets_no_more_faults_than_can_be_read() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}

    assert worst(["x"], schema, {}, "it") == ["it[0]: expected an integer, got a string"]
    assert worst(["x"] * 1000, schema, {}, "it")[19:] == ["it[19]: expected an integer, got a string", "it: and more"]


def test_an_unknown_reference_takes_anything() -> None:
    assert resolve({"$ref": "https://example.org/x", "title": "T"}, {}) == {"title": "T"}


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_a_reference_that_leads_back_to_itself_takes_anything(name: str) -> None:
    circle = {"A": {"$ref": "#/$defs/A", "title": "T"}, "B": {"$ref": "#/$defs/C"}, "C": {"$ref": "#/$defs/B"}}
    reference = {"$ref": f"#/$defs/{name}", "title": "T"}

    assert resolve(reference, circle) == {"title": "T"}
    assert found(1, reference, circle) == []


def test_messages_never_repeat_long_names_or_values() -> None:
    assert at("it", "n" * 100) == f"it.{'n' * 40}..."
    assert at("", "\ud800") == "\\ud800"
    assert quote("v" * 100) == f"'{'v' * 39}..."
    assert "secret" not in " ".join(found("secret", {"type": "string", "maxLength": 1}))
