"""Output schemas, boxes and structured content."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pydantic
import pytest
from typing_extensions import TypeAliasType, TypedDict

from dedalus_mcp.schema.returns import Returns
from tests.ids import shown

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]


class Text:
    """Stands for a content type of the protocol."""


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date | None = None


class Loose(TypedDict, total=False):
    a: int


class Model(pydantic.BaseModel):
    n: int = pydantic.Field(alias="N")


@dataclasses.dataclass
class Node:
    next: Node | None = None


Alias = TypeAliasType("Alias", Point)


def opaque(annotation: Any) -> bool:
    return annotation is Text


def returns(annotation: Any) -> Returns:
    def fn() -> None: ...

    fn.__annotations__["return"] = annotation
    return Returns.of(fn, opaque=opaque)


@pytest.mark.parametrize(
    ("annotation", "value", "content"),
    [
        (Point, Point(1), {"x": 1, "when": None}),
        (Loose, {}, {}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[str, Any], {"a": [1.5]}, {"a": [1.5]}),
        (Model, Model(N=1), {"N": 1}),
        (Annotated[Point, "Where"], Point(1), {"x": 1, "when": None}),
        (Node, Node(Node()), {"next": {"next": None}}),
        (Awaitable[Point], Point(1), {"x": 1, "when": None}),
        (Alias, Point(1), {"x": 1, "when": None}),
    ],
    ids=shown,
)
def test_an_object_is_its_own_structured_content(annotation: Any, value: Any, content: Any) -> None:
    """B113, B116."""
    found = returns(annotation)

    assert found.schema is not None
    assert not found.boxed
    assert found.schema["type"] == "object"
    assert found.structure(value) == content
    jsonschema.validate(content, found.schema)


@pytest.mark.parametrize(
    ("annotation", "value", "content"),
    [
        (int, 1, 1),
        (float, 1, 1),
        (int, 2.0, 2),
        (list[int], [1], [1]),
        (str, "a", "a"),
        (Point | Loose, {"a": 1}, {"a": 1}),
        (Point | None, None, None),
        (Node | None, Node(), {"next": None}),
        (tuple[int, int], (1, 2), [1, 2]),
        (set[int], {1}, [1]),
        (Literal["a", "b"], "a", "a"),
        (datetime.date, datetime.date(2020, 1, 2), "2020-01-02"),
        (bool, True, True),
    ],
    ids=shown,
)
def test_anything_else_is_boxed(annotation: Any, value: Any, content: Any) -> None:
    """B113."""
    found = returns(annotation)

    assert found.schema is not None
    assert found.boxed
    assert (found.schema["type"], found.schema["required"]) == ("object", ["result"])
    boxed = found.structure(value)
    assert list(boxed) == ["result"]
    jsonschema.validate({"result": content}, found.schema)
    assert msgspec.json.decode(msgspec.json.encode(boxed)) == {"result": content}


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        type(None),
        Any,
        object,
        Text,
        list[Text],
        Text | None,
        dict[str, list[Text]],
        Annotated[Text, "x"],
        type,
        1j,
    ],
    ids=shown,
)
def test_there_is_no_schema_where_nothing_can_be_promised(annotation: Any) -> None:
    found = returns(annotation)

    assert found.schema is None
    assert found.structure({"a": 1}) == {"a": 1}
    assert found.structure([1]) == {"result": [1]}
    assert found.structure(None) == {"result": None}


def test_no_annotation_and_an_unknown_name_promise_nothing() -> None:
    def unknown() -> Missing: ...  # pyright: ignore[reportUnknownParameterType]

    assert Returns.of(lambda: 1, opaque=opaque).schema is None
    assert Returns.of(cast("Callable[..., Any]", unknown), opaque=opaque).schema is None


def test_a_recursive_type_in_a_box_keeps_its_definition_at_the_root() -> None:
    """B113."""
    schema = returns(list[Node]).schema

    assert schema is not None
    assert schema["properties"]["result"] == {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert set(schema["$defs"]) == {"Node"}


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (int, "x", "result: expected an integer, got a string"),
        (Point, {"x": "y"}, r"result\.x: expected an integer, got a string"),
        (list[Point], [{"x": 1}, {}], r"result\[1\]\.x: required, expected an integer"),
        (dict[str, Any], {"a": [math.nan]}, r"result\.a\[0\]: NaN and Infinity have no JSON form"),
        (Any, math.inf, "result: NaN and Infinity"),
        (Any, object(), "result: a object has no JSON form"),
    ],
    ids=shown,
)
def test_a_value_that_breaks_the_promise_is_refused_by_path(annotation: Any, value: Any, problem: str) -> None:
    """B115."""
    with pytest.raises(ValueError, match=problem):
        returns(annotation).structure(value)
