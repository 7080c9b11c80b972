"""Values as JSON has them."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from collections import UserDict
from pathlib import Path, PurePosixPath
from typing import Any

import attrs
import msgspec
import pydantic
import pytest

from dedalus_mcp.schema.plain import plain


@dataclasses.dataclass
class Point:
    x: int


@attrs.define
class Pair:
    a: int


class Wire(msgspec.Struct, rename="camel"):
    some_name: int


class Model(pydantic.BaseModel):
    some_name: int = pydantic.Field(alias="someName")
    when: datetime.date | None = None


class Mixed(enum.Enum):
    A = 1
    B = "b"


class Name(str):
    __slots__ = ()


class Count(int):
    pass


class Ratio(float):
    pass


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (Point(1), {"x": 1}),
        (Pair(1), {"a": 1}),
        (Wire(1), {"someName": 1}),
        (Model(someName=1, when=datetime.date(2020, 1, 2)), {"someName": 1, "when": "2020-01-02"}),
        ([Model(someName=1)], [{"someName": 1, "when": None}]),
        (Mixed.B, "b"),
        (Path("a") / "b", "a/b"),
        (PurePosixPath("/"), "/"),
        ({1: 2}, {"1": 2}),
        (UserDict({"a": 1}), {"a": 1}),
        (Name("n"), "n"),
        (Count(3), 3),
        (Ratio(0.5), 0.5),
        ((1, 2), (1, 2)),  # written as an array
        ({"a": [1.5, {"b": 2.5}]}, {"a": [1.5, {"b": 2.5}]}),
        (None, None),
    ],
    ids=repr,
)
def test_values_are_written_as_their_schema_says(value: Any, result: Any) -> None:
    """B116."""
    got: Any = plain(value, "result")

    assert got == result


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "result"),
        ({"a": [1.0, {"b": math.inf}]}, r"result\.a\[1\]\.b"),
        ([[-math.inf]], r"result\[0\]\[0\]"),
    ],
    ids=repr,
)
def test_numbers_that_json_does_not_have_are_refused_by_path(value: Any, path: str) -> None:
    with pytest.raises(ValueError, match=f"^{path}: NaN and Infinity have no JSON form"):
        plain(value, "result")


@pytest.mark.parametrize(
    "value", [object(), {"a": object()}, {None: 1}, {(1, 2): 1}], ids=["bare", "in", "none", "key"]
)
def test_values_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^result: "):
        plain(value, "result")


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(ValueError, match="contains itself"):
        plain(endless, "result")
