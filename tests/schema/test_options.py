"""The options of a choice, from whatever an author lists them in."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal, NotRequired

import pytest

from dedalus_mcp.schema.options import Option, listed, options_of, words


class Region(enum.Enum):
    EU = "eu"
    US = "us"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Plan(enum.StrEnum):
    FREE = "free"


class Size(enum.Enum):
    S = "s"
    M = "m"

    @property
    def title(self) -> str:
        return {"S": "Small", "M": "Medium"}[self.name]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["a", "b"], [("a", "a", "a"), ("b", "b", "b")]),
        ((1, 2), [("1", "1", 1), ("2", "2", 2)]),
        ({"eu": "Europe"}, [("eu", "Europe", "eu")]),
        ({Region.EU: "Europe", 7: "Seven"}, [("eu", "Europe", Region.EU), ("7", "Seven", 7)]),
        (Region, [("eu", "eu", Region.EU), ("us", "us", Region.US)]),
        ([Region.US], [("us", "us", Region.US)]),
        (Level, [("LOW", "LOW", Level.LOW), ("HIGH", "HIGH", Level.HIGH)]),
        (Plan, [("free", "free", Plan.FREE)]),
        (Size, [("s", "Small", Size.S), ("m", "Medium", Size.M)]),
    ],
    ids=repr,
)
def test_options_are_listed_in_any_of_three_ways(options: Any, found: list[tuple[str, str, Any]]) -> None:
    """ELIC-12, B017."""
    assert listed(options) == tuple(Option(*each) for each in found)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ("ab", TypeError, "options are strings, a mapping"),
        (7, TypeError, "options are strings, a mapping"),
        ([], ValueError, "there is no option"),
        ({}, ValueError, "there is no option"),
        (["a", "a"], ValueError, "two options are sent as 'a'"),
        (["1", 1], ValueError, "two options are sent as '1'"),
        ([1.5], TypeError, "a member of an Enum, not a float"),
        ({"a": None}, TypeError, "a member of an Enum, not a NoneType"),
    ],
    ids=repr,
)
def test_what_lists_no_options_is_refused(options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        listed(options)


@pytest.mark.parametrize(
    ("annotation", "consts"),
    [
        (Region, ["eu", "us"]),
        (Literal["a", 2, None], ["a", "2"]),
        (Region | None, ["eu", "us"]),
        (Annotated[Region, "where"], ["eu", "us"]),
        (NotRequired[Region], ["eu", "us"]),
        (list[Region], ["eu", "us"]),
        (set[Literal["a"]], ["a"]),
        (list[Annotated[Level, "how"]] | None, ["LOW", "HIGH"]),
        (str, []),
        (str | int, []),
        (list[str], []),
        (dict[str, Region], []),
    ],
    ids=repr,
)
def test_an_annotation_has_the_options_of_its_enum_or_literal(annotation: Any, consts: list[str]) -> None:
    assert [option.const for option in options_of(annotation)] == consts


def test_an_annotation_with_two_options_of_one_text_is_refused() -> None:
    with pytest.raises(TypeError, match="two options are sent as '1'"):
        options_of(Literal["1", 1])


def test_titles_are_written_where_they_say_more() -> None:
    """ELIC-12."""
    assert words(listed(Region)) == {"type": "string", "enum": ["eu", "us"]}
    assert words(listed(Size)) == {
        "type": "string",
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "m", "title": "Medium"}],
    }
