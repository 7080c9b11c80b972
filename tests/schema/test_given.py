"""`GivenArguments` and `GivenReturns`: checked by a schema, handed over by the signature."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from dedalus_mcp.errors import InvalidArguments
from dedalus_mcp.schema.given import GivenArguments, GivenReturns

POINT: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x"],
}


class Clock:
    """Stands for what the server injects."""


def is_clock(annotation: Any, default: Any) -> bool:
    return annotation is Clock


def given(fn: Callable[..., Any], schema: dict[str, Any] = POINT) -> GivenArguments:
    return GivenArguments(fn, schema, injected=is_clock)


def call(arguments: GivenArguments, raw: Any) -> Any:
    return arguments.call(arguments.decode(raw))


def whole(point: dict[str, Any]) -> Any:
    return point


def named(x: int, y: int = 0) -> Any:
    return (x, y)


class Point(msgspec.Struct):
    x: int
    y: int = 0


def typed(point: Point) -> Any:
    return point


def test_one_parameter_that_is_no_property_takes_the_whole_object() -> None:
    assert call(given(whole), Raw(b'{"x":1,"z":[2]}')) == {"x": 1, "z": [2]}
    assert call(given(typed), b'{"x":1}') == Point(1)
    assert given(whole).schema == POINT


def test_parameters_take_properties_by_name() -> None:
    assert call(given(named), b'{"x":1}') == (1, 0)
    assert call(given(named), {"x": 1, "y": 2}) == (1, 2)


def test_one_parameter_that_is_a_property_takes_that_one() -> None:
    def only(x: dict[str, int]) -> Any:
        return x

    schema = {"type": "object", "properties": {"x": {"type": "object"}}}
    assert call(given(only, schema), b'{"x":{"x":1}}') == {"x": 1}


def test_without_an_annotation_a_value_is_handed_over_as_it_came() -> None:
    def bare(x: Any, y: Any = None) -> Any:
        return (x, y)

    schema: dict[str, Any] = {"type": "object", "properties": {"x": {}, "y": {}}}
    assert call(given(bare, schema), b'{"x":{"a":["5"]}}') == ({"a": ["5"]}, None)


def test_an_annotation_decodes_what_the_schema_let_pass() -> None:
    def on(day: datetime.date) -> Any:
        return day

    schema = {"type": "object", "properties": {"day": {"type": "string"}}}
    assert call(given(on, schema), b'{"day":"2026-07-28"}') == datetime.date(2026, 7, 28)
    with pytest.raises(InvalidArguments, match="day: expected"):
        given(on, schema).decode(b'{"day":"soon"}')


def test_a_string_of_json_is_a_string() -> None:
    """The schema says what is legal: nothing is read out of strings."""
    with pytest.raises(InvalidArguments, match='x: the value is not of type "integer"'):
        given(named).decode(b'{"x":"1"}')


def test_injected_parameters_are_nobodys_argument() -> None:
    def at(point: dict[str, Any], clock: Clock, /) -> Any:
        return (point, clock)

    arguments = given(at)
    assert arguments.injected == {"clock": Clock}
    clock = Clock()
    assert arguments.call({**arguments.decode(b'{"x":1}'), "clock": clock}) == ({"x": 1}, clock)


@pytest.mark.parametrize("raw", [None, UNSET, b"", b"null", b"{}", Raw(b"null"), {}])
def test_nothing_and_null_are_no_arguments(raw: Any) -> None:
    assert call(given(whole, {"type": "object"}), raw) == {}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"[1]", "not of type"),
        (b"{", "truncated"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"x":' * 200 + b"1" + b"}" * 200, "more than 128 levels"),
        ({"x": object()}, "arguments: "),
        (b"{}", '"x" is a required property'),
    ],
    ids=["array", "truncated", "endless", "deep", "object", "missing"],
)
def test_what_does_not_fit_is_refused_by_name(raw: Any, problem: str) -> None:
    with pytest.raises(InvalidArguments, match=problem):
        given(whole).decode(raw)


@pytest.mark.parametrize("root", [{}, {"type": "array"}, {"type": ["object", "null"]}], ids=repr)
def test_a_schema_of_something_else_than_an_object_is_refused(root: dict[str, Any]) -> None:
    """TOOL-06."""
    with pytest.raises(ValueError, match="must have the type 'object'"):
        given(whole, root)


def test_a_property_that_no_parameter_takes_is_found_at_registration() -> None:
    def one(x: int, z: int = 0) -> None: ...

    def none() -> None: ...

    for fn, names in ((one, "y"), (none, "x, y")):
        with pytest.raises(TypeError, match=rf"{fn.__name__}\(\): input_schema has {names}, which are no parameters"):
            given(fn)


def test_what_is_returned_is_checked_and_never_boxed() -> None:
    """TOOL-07, TOOL-09."""
    returns = GivenReturns({"type": "array", "items": {"type": "integer"}})

    assert returns.structure([1, 2]) == [1, 2]
    assert not returns.boxed
    with pytest.raises(ValueError, match=r'^\[1\]: the value is not of type "integer"; \[2\]'):
        returns.structure([1, "a", "b"])
    with pytest.raises(ValueError, match=r"^result: "):
        returns.structure(object())
    with pytest.raises(ValueError, match="none, though output_schema promises one"):
        returns.check(UNSET)
    assert GivenReturns(POINT).structure(Point(1)) == {"x": 1, "y": 0}
