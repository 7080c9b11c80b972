"""Annotations that msgspec refuses, and constraints in other words."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, Union

import annotated_types
import msgspec
import pydantic
import pytest

from dedalus_mcp.schema.annotations import fit
from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.publish import publish
from tests.ids import shown


@dataclasses.dataclass
class Cat:
    name: str
    lives: int = 9


@dataclasses.dataclass
class Dog:
    name: str
    tricks: list[str]


class Model(pydantic.BaseModel):
    n: int


class Mixed(enum.Enum):
    ONE = 1
    HALF = 0.5
    WORD = "word"


class Plain(enum.Enum):
    A = "a"


def read(annotation: Any, value: Any) -> Any:
    return msgspec.convert(value, fit(annotation), dec_hook=decode)


@pytest.mark.parametrize(
    "annotation",
    [int, str | None, list[int], dict[str, Any], Sequence[int], Plain, Literal["a", 1], Any, tuple[int, ...], Cat],
    ids=shown,
)
def test_what_msgspec_takes_is_left_alone(annotation: Any) -> None:
    assert fit(annotation) == annotation


def test_object_is_any_json() -> None:
    assert fit(object) is Any
    assert read(list[object], [1, "a"]) == [1, "a"]


def test_a_union_of_classes_takes_the_member_that_knows_most() -> None:
    for annotation in (Cat | Dog, Dog | Cat, Union[Cat, Dog]):  # noqa: UP007 - both spellings
        assert read(annotation, {"name": "a", "tricks": ["sit"]}) == Dog("a", ["sit"])
        assert read(annotation, {"name": "a", "lives": 3}) == Cat("a", 3)
        assert read(annotation, {"name": "a"}) == Cat("a")


def test_a_refused_union_is_found_wherever_it_is() -> None:
    assert read(dict[str, list[Cat | Dog]], {"x": [{"name": "a"}]}) == {"x": [Cat("a")]}
    assert read(Optional[Cat | Dog], None) is None  # noqa: UP045 - both spellings
    assert read(tuple[Model | int, ...], [1, {"n": 2}]) == (1, Model(n=2))


def test_a_value_that_fits_no_member_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="fits no member"):
        read(Cat | Dog, {"name": 1})
    with pytest.raises(msgspec.ValidationError, match="fits no member"):
        read(Model | int, "x")


def test_a_refused_union_is_described_by_its_members() -> None:
    schema = publish(fit(Annotated[Model | int, "A model, or its number"]))

    assert [branch["type"] for branch in schema["anyOf"]] == ["object", "integer"]
    assert schema["description"] == "A model, or its number"


def test_an_enum_of_mixed_values_is_read_by_value() -> None:
    assert [read(Mixed, value) for value in (1, 0.5, "word")] == list(Mixed)
    assert publish(fit(Mixed)) == {"enum": [1, 0.5, "word"]}
    wrongs: list[Any] = [True, "WORD", [], None]
    for wrong in wrongs:
        with pytest.raises(msgspec.ValidationError, match="not one of the values"):
            read(Mixed, wrong)


def test_literals_tell_true_from_one() -> None:
    assert read(Literal[True], True) is True
    assert read(list[Literal[Plain.A]], ["a"]) == [Plain.A]
    with pytest.raises(msgspec.ValidationError):
        read(Literal[True], 1)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        (Annotated[int, msgspec.Meta(ge=1)], {"type": "integer", "minimum": 1}),
        (
            Annotated[int, annotated_types.Ge(1), annotated_types.Lt(5)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
        ),
        (Annotated[str, annotated_types.Len(1, 5)], {"type": "string", "minLength": 1, "maxLength": 5}),
        (
            Annotated[str, pydantic.Field(pattern="^a", title="T", description="D")],
            {"type": "string", "pattern": "^a", "title": "T", "description": "D"},
        ),
        (
            Annotated[int, pydantic.Field(gt=0, multiple_of=2)],
            {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2},
        ),
        (
            Annotated[list[int], annotated_types.MinLen(1)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        ),
        (
            Annotated[datetime.date, annotated_types.Ge(datetime.date(2020, 1, 1)), object()],
            {"type": "string", "format": "date"},
        ),
        (list[Annotated[str, "One word"]], {"type": "array", "items": {"type": "string", "description": "One word"}}),
        (Annotated[Cat | Dog, "A pet"], None),
        (list[datetime.datetime], {"type": "array", "items": {"type": "string", "format": "date-time"}}),
        (datetime.time, {"type": "string", "format": "time"}),
    ],
    ids=shown,
)
def test_constraints_and_descriptions_are_published(annotation: Any, schema: dict[str, Any] | None) -> None:
    found = publish(fit(annotation))

    assert found == schema if schema is not None else found["description"] == "A pet"


def test_constraints_in_other_words_are_enforced() -> None:
    with pytest.raises(msgspec.ValidationError):
        read(Annotated[int, pydantic.Field(ge=3)], 2)
