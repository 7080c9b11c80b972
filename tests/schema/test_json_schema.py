"""`JsonSchema`: schemas that authors wrote, published to the letter and enforced."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp.schema.json_schema import MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH, JsonSchema

PERSON: dict[str, Any] = {
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 3},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "anything": True,
    },
    "required": ["name"],
    "additionalProperties": False,
    "x-own": {"title": "kept"},
}

VAGUE = "x: does not fit the schema; where is too much to be found out"


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def test_it_is_published_member_for_member_and_is_a_copy() -> None:
    """TOOL-07."""
    given = {**PERSON, "properties": dict(PERSON["properties"])}
    schema = JsonSchema(given, "input_schema")
    given["properties"].clear()

    assert schema.published == PERSON
    assert list(schema.published) == list(PERSON)


def test_what_fits_has_no_problems() -> None:
    value = {"name": "Ada", "age": 36, "tags": ["a", "b"], "anything": [None]}

    assert JsonSchema(PERSON, "input_schema").problems(value, "arguments") == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, 'arguments: "name" is a required property'),
        ({"name": "secret"}, "name: the value is longer than 3 characters"),
        ({"name": "Ada", "age": -77}, "age: the value is less than the minimum of 0"),
        ({"name": "Ada", "tags": ["a", "secret"]}, 'tags[1]: the value is not one of "a" or "b"'),
        ([], 'arguments: the value is not of type "object"'),
    ],
)
def test_a_problem_says_where_and_what_is_legal_and_repeats_no_value(value: Any, problem: str) -> None:
    assert JsonSchema(PERSON, "input_schema").problems(value, "arguments") == [problem]


def test_problems_are_bounded_in_number_and_in_length() -> None:
    schema = JsonSchema({"items": {"type": "string"}, "additionalProperties": False}, "input_schema")

    assert len(schema.problems(list(range(1000)), "x")) == 20
    (problem,) = schema.problems({"a" * 100_000: 1}, "x")
    assert len(problem) < 250
    deep = JsonSchema({"additionalProperties": {"type": "string"}}, "input_schema")
    (problem,) = deep.problems({"a" * 100_000: 1}, "x")
    assert len(problem) < 250


def test_a_schema_without_a_dialect_is_2020_12_and_others_may_be_named() -> None:
    """META-25: `prefixItems` is of 2020-12, `items` as a list is of draft 7."""
    newest = JsonSchema({"prefixItems": [{"type": "string"}]}, "input_schema")
    older = JsonSchema(
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, "input_schema"
    )

    assert newest.problems([1], "x") == older.problems([1], "x") == ['[0]: the value is not of type "string"']


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_to_a_network_is_refused_and_never_followed(listener: socket.socket, keyword: str) -> None:
    """META-26, META-28, META-29: nobody knocks at the door that it names."""
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema"
    for schema in ({keyword: url}, {"$id": url, "properties": {"a": {keyword: "other"}}}, {"$schema": url}):
        with pytest.raises(ValueError, match="input_schema cannot be enforced"):
            JsonSchema(schema, "input_schema")
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_reference_to_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "string"}')

    with pytest.raises(ValueError, match="input_schema cannot be enforced"):
        JsonSchema({"$ref": path.as_uri()}, "input_schema")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "text"}, "cannot be enforced"),
        ({"$ref": "#/$defs/nope"}, "cannot be enforced: .*nope"),
        ({"pattern": "("}, "cannot be enforced"),
        ({"$schema": "urn:unknown"}, "cannot be enforced: .*urn:unknown"),
        ({"description": "x" * 300_000}, "longer than 262144 bytes"),
        (nested(MAX_SCHEMA_DEPTH + 1), "more than 64 levels"),
        ({"default": float("nan")}, "input_schema.default: NaN"),
        ({"default": object()}, "input_schema: "),
    ],
    ids=["type", "reference", "pattern", "dialect", "long", "deep", "NaN", "object"],
)
def test_what_is_no_schema_is_refused_with_its_name(schema: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        JsonSchema(schema, "input_schema")
    assert len(str(raised.value)) < 400


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}

    with pytest.raises(ValueError, match="contains itself"):
        JsonSchema(schema, "input_schema")


def test_a_value_is_looked_at_as_deep_as_is_safe() -> None:
    """Some thousand levels more would end the process."""
    tree = JsonSchema({"type": "object", "properties": {"a": {"$ref": "#"}}}, "input_schema")

    assert tree.problems(nested(MAX_VALUE_DEPTH), "x") == []
    for value in (nested(MAX_VALUE_DEPTH + 1), nested(900), {"a": [[nested(MAX_VALUE_DEPTH)]]}):
        assert tree.problems(value, "x") == ["x: nested more than 128 levels deep"]


def test_the_deepest_schema_takes_the_deepest_value() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"$ref": "#"}}}
    for _ in range((MAX_SCHEMA_DEPTH - 3) // 2):
        schema = {"allOf": [schema]}

    assert JsonSchema(schema, "input_schema").problems(nested(MAX_VALUE_DEPTH), "x") == []


def test_a_pattern_that_takes_for_ever_elsewhere_takes_no_time() -> None:
    schema = JsonSchema({"pattern": "^(a+)+$"}, "input_schema")

    assert schema.problems("a" * 50_000 + "b", "x") == ['x: the value does not match "^(a+)+$"']


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_what_is_wrong_with_a_deep_value_is_not_looked_for_where_each_level_doubles_the_work(keyword: str) -> None:
    """A server may have such a schema in all honesty, and a client send a hundred levels."""
    again = [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]
    schema = JsonSchema({"type": "object", keyword: again}, "input_schema")

    assert VAGUE not in schema.problems({"a": 1}, "x")
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    assert schema.problems(deep, "x") == [VAGUE]


def test_a_schema_whose_effort_cannot_be_told_says_only_whether_a_value_fits() -> None:
    definitions: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(12)}
    schema = JsonSchema({"$defs": {**definitions, "d12": {"type": "string"}}, "$ref": "#/$defs/d0"}, "input_schema")

    assert schema.problems("text", "x") == []
    assert schema.problems(1, "x") == [VAGUE]


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"\ud800": 1}], ids=["text", "name"])
def test_a_lone_surrogate_is_a_problem(value: Any) -> None:
    schema = JsonSchema({"additionalProperties": {"pattern": "a"}}, "input_schema")

    assert schema.problems(value, "x") == ["x: a lone surrogate has no place in JSON"]


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)

    with pytest.raises(ImportError, match=r"input_schema needs jsonschema-rs: install dedalus-mcp\[schema\]"):
        JsonSchema(PERSON, "input_schema")


def test_of_a_large_value_the_first_problem_is_told_alone() -> None:
    """To find them all takes the library ten thousand times as long as to find the first."""
    schema = JsonSchema({"items": {"type": "integer"}}, "input_schema")

    assert len(schema.problems(["a"] * 100, "arguments")) == 20
    assert schema.problems(["a"] * 100_000, "arguments") == ['[0]: the value is not of type "integer"']
    assert schema.problems([1] * 100_000, "arguments") == []
