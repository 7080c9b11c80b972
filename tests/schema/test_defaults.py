"""Decoded dataclasses get their defaults as attributes of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from dedalus_mcp.schema.defaults import complete


@dataclass
class Place:
    name: str
    country: str = "IE"
    tags: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Trip:
    start: Place
    days: int = 3


@dataclass(slots=True)
class Compact:
    n: int = 1


class Holder(msgspec.Struct):
    place: Place


def decode(text: str, kind: type[Any]) -> Any:
    value = msgspec.json.decode(text, type=kind)
    complete(value)
    return value


def test_a_default_is_an_attribute_of_the_instance() -> None:
    place = decode('{"name":"Cork"}', Place)

    assert vars(place) == {"name": "Cork", "tags": [], "country": "IE"}
    assert msgspec.json.decode(msgspec.json.encode(place))["country"] == "IE"


def test_what_was_given_is_kept() -> None:
    assert vars(decode('{"name":"Bath","country":"UK","tags":["b"]}', Place)) == {
        "name": "Bath",
        "country": "UK",
        "tags": ["b"],
    }


def test_a_frozen_dataclass_and_the_one_in_it_are_completed() -> None:
    trip = decode('{"start":{"name":"Cork"}}', Trip)

    assert vars(trip)["days"] == 3
    assert vars(trip.start)["country"] == "IE"


@pytest.mark.parametrize("kind", [list[Place], tuple[Place, ...]])
def test_dataclasses_in_an_array_are_completed(kind: type[Any]) -> None:
    (place,) = decode('[{"name":"Cork"}]', kind)

    assert vars(place)["country"] == "IE"


def test_dataclasses_in_an_object_are_completed() -> None:
    assert vars(decode('{"a":{"name":"Cork"}}', dict[str, Place])["a"])["country"] == "IE"
    assert vars(decode('{"place":{"name":"Cork"}}', Holder).place)["country"] == "IE"


def test_slots_have_their_defaults_already() -> None:
    assert decode("{}", Compact) == Compact(n=1)


def test_a_field_that_was_never_set_is_left_unset() -> None:
    place = Place.__new__(Place)
    complete(place)

    assert vars(place) == {"country": "IE"}
    assert not hasattr(place, "tags")


def test_plain_values_are_left_as_they_are() -> None:
    complete(5)
    complete(None)
