"""Arguments as they are typed, by the tool's schema."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.cli.schemas import arguments_of
from dedalus_mcp.cli.values import object_of, read_arguments


def schema(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": kind}, **more}


NUMBER_OR_NULL = {"anyOf": [{"type": "number"}, {"type": "null"}]}
TAGS = {"type": "array", "items": {"type": "string"}}
NUMBERS = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ({"type": "string"}, "3", "3"),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, '{"a": 1}', '{"a": 1}'),
        ({"type": "integer"}, "3", 3),
        ({"type": "integer"}, "3.0", 3),
        ({"type": "number"}, "3.5", 3.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "No", False),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        (TAGS, '["a", "b"]', ["a", "b"]),
        (TAGS, "a", ["a"]),
        (TAGS, "1", ["1"]),
        (NUMBERS, "1", [1]),
        (NUMBER_OR_NULL, "null", None),
        (NUMBER_OR_NULL, "2", 2),
        ({"type": ["string", "integer"]}, "2", 2),
        ({"type": ["string", "integer"]}, "two", "two"),
        ({"enum": ["1", "b"]}, "1", "1"),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": True}, "true", True),
        ({"$ref": "#/$defs/n"}, "7", 7),
        ({"$ref": "https://example.com/elsewhere"}, "text", "text"),
        (True, "7", 7),
        ({}, "text", "text"),
        ("no schema", "text", "text"),
    ],
)
def test_a_value_is_read_as_the_schema_says(kind: Any, typed: str, value: Any) -> None:
    found = read_arguments([f"x={typed}"], schema(kind, **{"$defs": {"n": {"type": "integer"}}}))

    assert found == {"x": value}
    assert type(found["x"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "typed", "said"),
    [
        ({"type": "integer", "minimum": 1}, "three", "x: expected integer, >= 1"),
        ({"type": "integer"}, "3.5", "x: expected integer"),
        ({"type": "number"}, "", "x: expected number"),
        ({"type": "boolean"}, "maybe", "x: expected true or false"),
        ({"type": "object"}, "[1]", "x: expected object"),
        (NUMBERS, "a", "x: expected integer"),
        ({"enum": ["web", "api"]}, "cli", 'x: expected "web" | "api"'),
        ({"enum": [1]}, "true", "x: expected 1"),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_is_legal(kind: Any, typed: str, said: str) -> None:
    with pytest.raises(Misuse) as caught:
        read_arguments([f"x={typed}"], schema(kind))

    assert str(caught.value) == said


def test_items_may_come_one_by_one() -> None:
    assert read_arguments(["x=1", "x=[2, 3]", "x=4"], schema(NUMBERS)) == {"x": [1, 2, 3, 4]}


def test_json_is_json_whatever_the_schema_says() -> None:
    assert read_arguments(['x:={"a": null}', "y:=1"], schema({"type": "string"})) == {"x": {"a": None}, "y": 1}


def test_a_value_may_have_an_equals_sign() -> None:
    assert read_arguments(["x=a=b"], schema({"type": "string"})) == {"x": "a=b"}


def test_everything_that_is_wrong_is_said_at_once() -> None:
    rules = schema({"type": "integer"}, required=["x", "y"], additionalProperties=False)

    with pytest.raises(Misuse) as caught:
        read_arguments(["x=a", "x=1", "z=2"], rules)

    assert str(caught.value) == (
        "x: expected integer; z: no such argument; legal: x, y; y: required, expected any JSON"
    )


@pytest.mark.parametrize("typed", ["x", "=1", ":=1", ""])
def test_what_is_no_pair_is_refused(typed: str) -> None:
    with pytest.raises(Misuse, match="NAME=VALUE or NAME:=JSON"):
        read_arguments([typed], {})


@pytest.mark.parametrize(("typed", "said"), [("x=1 x=2", "x: given twice"), ("x:={", "x: not JSON")])
def test_what_cannot_be_meant_is_refused(typed: str, said: str) -> None:
    with pytest.raises(Misuse, match=said):
        read_arguments(typed.split(" "), {})


@pytest.mark.parametrize("text", ["[1]", "1", "{", "\ud800", "[" * 100_000])
def test_arguments_as_json_are_an_object(text: str) -> None:
    with pytest.raises(Misuse, match="--json-arguments: "):
        object_of(text, "--json-arguments")


@pytest.mark.parametrize(
    "hostile",
    [
        {"$ref": "#/properties/x"},
        {"$ref": "#/$defs/a"},
        {"anyOf": [{"$ref": "#/properties/x"}, {"$ref": "#/properties/x"}]},
        {"anyOf": [{"$ref": "#/properties/x"}] * 20},
        {"anyOf": [{"items": {"$ref": "#/properties/x"}}, {"$ref": "#/$defs/a"}] * 1000},
        {"type": 5, "enum": 3, "minimum": "low", "items": []},
        {"type": [None, 3]},
        {"$ref": 7},
        [],
        None,
    ],
)
def test_a_schema_may_be_anything(hostile: Any) -> None:
    """A server's references may lead round in a circle; whoever reads them gets out."""
    rules = schema(hostile, **{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})

    assert read_arguments(["x=text"], rules) == {"x": "text"}
    assert [each.legal for each in arguments_of(rules)] == ["any JSON"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "anyOf", "enum", "items", "$ref", "properties", "required", "default"])
            | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["properties", "required", "$defs", "type"]), json_values))
def test_no_schema_makes_it_fail_in_another_way(rules: dict[str, Any]) -> None:
    for each in arguments_of(rules):
        assert isinstance(each.legal, str)
    with suppress(Misuse):
        read_arguments(["x=1", "y=a"], rules)
