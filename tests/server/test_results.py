"""`result_of`: the table of what a tool may return, row by row, and what holds for all rows."""

from __future__ import annotations

import base64
import enum
import json
from collections import UserDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypedDict
from uuid import UUID

import attrs
import jsonschema  # type: ignore[import-untyped]
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from dedalus_mcp.schema.returns import Returns
from dedalus_mcp.server.results import failed, result_of
from dedalus_mcp.types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent
from tests.ids import shown

NOTHING = Returns(UNSET)


@dataclass
class Point:
    x: int
    y: int = 0


class Typed(TypedDict):
    x: int


class Struct(msgspec.Struct):
    x: int


@attrs.define
class Attrs:
    x: int


class Model(pydantic.BaseModel):
    x: int


class Colour(enum.Enum):
    RED = "red"


class Unspeakable:
    def __str__(self) -> str:
        raise KeyError("mute")


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def on_the_wire(result: CallToolResult) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(msgspec.json.encode(result))
    return read


IMAGE = ImageContent(data=base64.b64encode(b"pixels").decode(), mimeType="image/png")
WHEN = datetime(2026, 7, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "content", "structured"),
    [
        (None, [], {"result": None}),
        ("hi", ["hi"], {"result": "hi"}),
        ("ü\u2028", ["ü\u2028"], {"result": "ü\u2028"}),
        (7, ["7"], {"result": 7}),
        (2**80, [str(2**80)], {"result": 2**80}),
        (True, ["true"], {"result": True}),
        (1.5, ["1.5"], {"result": 1.5}),
        ([1, "a"], ["1", "a"], {"result": [1, "a"]}),
        ((1, 2), ["1", "2"], {"result": [1, 2]}),
        ((1, {"a": (2,)}), ["1", '{"a":[2]}'], {"result": [1, {"a": [2]}]}),
        ([], [], {"result": []}),
        ({4}, ["4"], {"result": [4]}),
        ({"a": 1}, ['{"a":1}'], {"a": 1}),
        ({1: "a"}, ['{"1":"a"}'], {"1": "a"}),
        (MappingProxyType({"a": 1}), ['{"a":1}'], {"a": 1}),
        (UserDict(a=1), ['{"a":1}'], {"a": 1}),
        (Point(1), ['{"x":1,"y":0}'], {"x": 1, "y": 0}),
        (Typed(x=1), ['{"x":1}'], {"x": 1}),
        (Struct(1), ['{"x":1}'], {"x": 1}),
        (Attrs(1), ['{"x":1}'], {"x": 1}),
        (Model(x=1), ['{"x":1}'], {"x": 1}),
        ([Point(1)], ['{"x":1,"y":0}'], {"result": [{"x": 1, "y": 0}]}),
        (Colour.RED, ["red"], {"result": "red"}),
        (WHEN, ["2026-07-28T00:00:00Z"], {"result": "2026-07-28T00:00:00Z"}),
        (Decimal("1.50"), ["1.50"], {"result": "1.50"}),
        (UUID(int=1), [str(UUID(int=1))], {"result": str(UUID(int=1))}),
        ({"isError": True}, ['{"isError":true}'], {"isError": True}),
        ({"content": 1}, ['{"content":1}'], {"content": 1}),
        ({"content": [], "other": 1}, ['{"content":[],"other":1}'], {"content": [], "other": 1}),
        ({"type": "no such block"}, ['{"type":"no such block"}'], {"type": "no such block"}),
    ],
    ids=shown,
)
def test_values_become_text_and_structured_content(value: Any, content: list[str], structured: Any) -> None:
    """TOOL-11."""
    result = result_of(value, NOTHING)

    assert texts(result) == content
    assert len(result.content) == len(content)
    assert on_the_wire(result)["structuredContent"] == structured
    assert not result.isError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"hi", "aGk="),
        (float("nan"), "nan"),
        ([1, float("inf")], "[1, inf]"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (1j, "1j"),
        (range(3), "range(0, 3)"),
        (KeyError("k"), "'k'"),
    ],
    ids=shown,
)
def test_what_has_no_json_form_is_shown_as_text_alone(value: Any, text: str) -> None:
    result = result_of(value, NOTHING)

    assert texts(result) == [text]
    assert result.structuredContent is UNSET


@pytest.mark.parametrize(
    ("value", "blocks"),
    [
        (IMAGE, [IMAGE]),
        ([IMAGE, TextContent(text="a")], [IMAGE, TextContent(text="a")]),
        ((IMAGE,), [IMAGE]),
        ({"type": "text", "text": "a"}, [TextContent(text="a")]),
        ([IMAGE, {"type": "text", "text": "a"}], [IMAGE, TextContent(text="a")]),
        (
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            [ResourceLink(uri="file:///a", name="a")],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_content_blocks_are_the_content(value: Any, blocks: list[ContentBlock]) -> None:
    result = result_of(value, NOTHING)

    assert result.content == blocks
    assert result.structuredContent is UNSET


def test_blocks_among_other_values_stay_blocks() -> None:
    result = result_of([IMAGE, 1], NOTHING)

    assert result.content[0] == IMAGE
    assert texts(result) == ["1"]
    assert on_the_wire(result)["structuredContent"]["result"][1] == 1


def test_a_block_inside_of_a_mapping_is_json_like_any_value() -> None:
    """B151: never the text of a Python object."""
    block = ImageContent(data="/+8=", mimeType="image/png")
    shown = {"type": "image", "data": "/+8=", "mimeType": "image/png"}

    for value in ({"pic": block}, {"pics": [block]}):
        result = result_of(value, NOTHING)
        assert result.structuredContent == ({"pic": shown} if "pic" in value else {"pics": [shown]})
        assert [json.loads(each) for each in texts(result)] == [result.structuredContent]


def test_a_block_that_is_not_complete_is_a_mapping() -> None:
    result = result_of({"type": "text"}, NOTHING)

    assert texts(result) == ['{"type":"text"}']
    assert result.structuredContent == {"type": "text"}


def test_a_result_is_returned_as_it_is() -> None:
    given = CallToolResult(content=[IMAGE, TextContent(text="a")], isError=True, meta={"a": 1})

    assert result_of(given, NOTHING) is given
    assert result_of(given, Returns(int)) is given


def test_a_mapping_that_has_a_results_members_is_one() -> None:
    """All blocks of an error are kept, and so is its `_meta`."""
    result = result_of(
        {
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "structuredContent": {"x": 1},
            "isError": True,
            "_meta": {"trace": 7},
        },
        NOTHING,
    )

    assert texts(result) == ["a", "b"]
    assert result.structuredContent == {"x": 1}
    assert result.isError
    assert result.meta == {"trace": 7}


@pytest.mark.parametrize("returns", [NOTHING, Returns(list[int])], ids=["unpromised", "promised"])
def test_a_generator_is_refused_with_the_cure(returns: Returns) -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def later() -> AsyncIterator[int]:
        yield 1

    for value in (numbers(), later(), map(str, [1])):
        with pytest.raises(ValueError, match="return a list"):
            result_of(value, returns)


@pytest.mark.parametrize(
    "value",
    ["\ud800", ["\ud800"], {"\ud800": 1}, {"a": "\ud800"}, Unspeakable()],
    ids=["text", "item", "name", "member", "object"],
)
def test_what_cannot_even_be_text_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"surrogates|str\(\) fails"):
        result_of(value, NOTHING)


def test_what_contains_itself_does_not_end_the_program() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]

    assert texts(result_of(endless, NOTHING)) == ["[[...]]"]
    with pytest.raises(ValueError, match="RecursionError"):
        result_of(deep, NOTHING)
    with pytest.raises(ValueError, match="nested too deeply"):
        result_of(endless, Returns(list[list[int]]))


@pytest.mark.parametrize(
    ("annotation", "value", "structured"),
    [
        (int, 1, {"result": 1}),
        (int | None, None, {"result": None}),
        (tuple[int, str], (1, "a"), {"result": [1, "a"]}),
        (list[Point], [Point(1)], {"result": [{"x": 1, "y": 0}]}),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (Typed, Typed(x=1), {"x": 1}),
        (Attrs, Attrs(1), {"x": 1}),
        (Model, Model(x=1), {"x": 1}),
        (Colour, Colour.RED, {"result": "red"}),
        (datetime, WHEN, {"result": "2026-07-28T00:00:00Z"}),
        (bytes, b"hi", {"result": "aGk="}),
    ],
    ids=shown,
)
def test_what_was_promised_is_given(annotation: Any, value: Any, structured: Any) -> None:
    """TOOL-09."""
    returns = Returns(annotation)
    result = result_of(value, returns)

    assert on_the_wire(result)["structuredContent"] == structured
    assert returns.schema is not None
    jsonschema.validate(structured, returns.schema)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(int, "1"), (int, None), (list[int], [1, "a"]), (Point, {"y": 1}), (float, float("nan")), (str, "\ud800")],
    ids=ascii,
)
def test_a_broken_promise_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        result_of(value, Returns(annotation))


def test_a_failure_is_text_for_the_model() -> None:
    assert failed("no") == CallToolResult(content=[TextContent(text="no")], isError=True)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=6)
    | st.binary(max_size=4)
    | st.datetimes()
    | st.decimals()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from([Colour.RED, Point(1), Struct(1), Attrs(1), Model(x=1), Unspeakable(), object, IMAGE, UNSET])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "isError", "_meta", "a"]) | st.integers(), inner)
        | st.builds(Point, inner, inner)
    ),
    max_leaves=8,
)
ANNOTATIONS = [UNSET, int, str | None, float, list[int], tuple[int, str], dict[str, Any], Point, Typed, Model, Colour]


@given(value=VALUES, annotation=st.sampled_from(ANNOTATIONS))
def test_any_value_gives_a_result_that_keeps_the_promise_or_a_value_error(value: Any, annotation: Any) -> None:
    """TOOL-09, with an independent validator as the judge."""
    returns = Returns(annotation)
    try:
        result = result_of(value, returns)
    except ValueError:
        return
    read = on_the_wire(result)
    assert msgspec.convert(read, CallToolResult).content == result.content
    if returns.schema is not None and "structuredContent" in read:
        jsonschema.validate(read["structuredContent"], returns.schema)
