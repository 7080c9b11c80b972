"""Fields: what a person is asked, and what they typed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from dedalus_mcp.schema.fields import Choice, Field
from tests.work import Calls

TITLED = [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America, North"}]


def field(schema: dict[str, Any], *, required: bool = False) -> Field:
    return Field.of("it", schema, required=required)


def test_a_field_says_all_that_a_form_needs() -> None:
    schema = {
        "type": "string",
        "title": "Contact",
        "description": "Who to ask",
        "minLength": 3,
        "maxLength": 50,
        "format": "email",
        "default": "a@b.example",
    }

    assert field(schema, required=True) == Field(
        name="it",
        kind="text",
        title="Contact",
        description="Who to ask",
        required=True,
        default="a@b.example",
        choices=(),
        minimum=3,
        maximum=50,
        format="email",
    )


@pytest.mark.parametrize(
    ("schema", "kind", "choices"),
    [
        ({"type": "string"}, "text", ()),
        ({"type": "number"}, "number", ()),
        ({"type": "integer"}, "integer", ()),
        ({"type": "boolean"}, "boolean", ()),
        ({"type": "string", "enum": ["a"]}, "choice", (Choice("a", "a"),)),
        ({"type": "string", "enum": ["a"], "enumNames": ["A"]}, "choice", (Choice("a", "A"),)),
        ({"type": "string", "oneOf": TITLED}, "choice", (Choice("eu", "Europe"), Choice("us", "America, North"))),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "choices", (Choice("a", "a"),)),
        ({"type": "array", "items": {"anyOf": TITLED[:1]}}, "choices", (Choice("eu", "Europe"),)),
        ({"type": "array", "items": {"oneOf": TITLED[:1]}}, "choices", (Choice("eu", "Europe"),)),
    ],
    ids=repr,
)
def test_every_shape_has_its_kind(schema: dict[str, Any], kind: str, choices: tuple[Choice, ...]) -> None:
    """ELIC-08 to ELIC-13."""
    found = field(schema)

    assert (found.kind, found.choices) == (kind, choices)
    assert (found.title, found.description, found.default) == ("it", None, UNSET)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " as typed ", " as typed "),
        ({"type": "string"}, "", ""),
        ({"type": "string", "format": "date"}, " 2020-01-02 ", "2020-01-02"),
        ({"type": "string", "default": "d"}, "", "d"),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, "2", 2),
        ({"type": "integer"}, " 7 ", 7),
        ({"type": "integer"}, "7.0", 7),
        ({"type": "integer", "default": 3.0}, "", 3),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "string", "oneOf": TITLED}, "eu", "eu"),
        ({"type": "string", "oneOf": TITLED}, "EUROPE", "eu"),
        ({"type": "string", "oneOf": TITLED}, "2", "us"),
        ({"type": "string", "enum": ["2", "1"]}, "1", "1"),
        ({"type": "string", "enum": ["a", "A"]}, "A", "A"),
        ({"type": "array", "items": {"anyOf": TITLED}}, "eu, us", ["eu", "us"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, "America, North", ["us"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, "1,1,", ["eu"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, "", []),
        ({"type": "array", "items": {"anyOf": TITLED}, "default": ["eu"]}, "", ["eu"]),
    ],
    ids=repr,
)
def test_what_a_person_typed_becomes_the_value(schema: dict[str, Any], text: str, value: Any) -> None:
    got = field(schema).parse(text)

    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "legal"),
    [
        ({"type": "string", "minLength": 2}, "a", "a string, at least 2 characters"),
        ({"type": "string", "format": "email"}, "a", "a string, in the format email"),
        ({"type": "number"}, "x", "a number"),
        ({"type": "number"}, "nan", "a number"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "0", "an integer, >= 1, <= 9"),
        ({"type": "integer"}, "1.5", "an integer"),
        ({"type": "integer"}, "", "an integer"),
        ({"type": "boolean"}, "perhaps", "true or false"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "one of 'a', 'b'"),
        ({"type": "string", "enum": ["a", "b"]}, "3", "one of 'a', 'b'"),
        ({"type": "string", "enum": ["a", "b"]}, "0", "one of 'a', 'b'"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, "a,b", "an array, at most 1 items"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a,c", "an array"),
    ],
    ids=repr,
)
def test_what_cannot_be_meant_is_refused_with_what_is_legal(schema: dict[str, Any], text: str, legal: str) -> None:
    with pytest.raises(ValueError, match=r"^The title: expected ") as caught:
        field({**schema, "title": "The title"}).parse(text)

    assert str(caught.value).startswith(f"The title: expected {legal}")


def test_a_default_list_is_not_shared() -> None:
    schema = {"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}
    field(schema).parse("").append("b")

    assert schema["default"] == ["a"]


def test_faults_start_with_the_name_of_the_field() -> None:
    assert field({"type": "string", "format": "date"}).faults("x") == ["it: expected a string, in the format date"]
    assert field({"type": "array", "items": {"enum": ["a"]}}).faults(["a", "c"]) == ["it[1]: expected one of 'a'"]
    assert field({"type": "integer"}).faults(True) == ["it: expected an integer, got true or false"]
    assert field({"type": "integer"}).faults(3.0) == []


def test_a_great_many_choices_are_looked_at_as_a_whole() -> None:
    """A client that answers with a million choices out of a thousand: one by one that would take hours."""
    options = [str(number) for number in range(1000)]
    many = field({"type": "array", "items": {"enum": options}, "maxItems": 2_000_000})
    few = field({"type": "array", "items": {"enum": options}, "maxItems": 5})

    assert many.faults(["999"] * 1_000_000) == []
    assert many.faults(["999"] * 1_000_000 + [{}]) == ["it: expected an array, at most 2000000 items"]
    assert few.faults(["999"] * 1_000_000) == ["it: expected an array, at most 5 items"]


def test_a_great_many_choices_take_a_few_steps_each() -> None:
    """Else a megabyte of an answer takes seconds, and everybody waits."""
    calls, many = Calls(), field({"type": "array", "items": {"enum": ["a", "b"]}})
    with calls.counted():
        assert many.faults(["a", "b"] * 10_000) == []
        assert len(many.faults(["a", "b"] * 10_000 + ["c"])) == 1

    assert calls.count < 5 * 40_000


@pytest.mark.parametrize("format", [[], "nonsense", {}], ids=repr)
@pytest.mark.parametrize("type", ["boolean", "integer", "number"])
def test_a_format_of_what_is_no_text_says_nothing(type: str, format: object) -> None:
    assert field({"type": type, "format": format}).faults(1 if type != "boolean" else True) == []
