"""Types that are local to functions: found by their names, and settled for whoever looks later."""

from __future__ import annotations

import dataclasses
import enum
from types import GenericAlias
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import attrs
import msgspec
import pytest

from dedalus_mcp.schema.local_types import around, evaluate, is_local, settle, settle_here
from dedalus_mcp.schema.publish import publish

T = TypeVar("T")


class Region(enum.Enum):
    """There is a local one too."""

    GLOBAL = "global"


def defined() -> tuple[list[Any], dict[str, Any]]:
    """Classes whose fields name what is local here, and the names."""

    class Region(enum.Enum):
        EU = "eu"

    assert Region.EU.value == "eu"

    @dataclasses.dataclass
    class Data:
        region: Region
        left: Data | None = None

    class Wire(msgspec.Struct):
        region: Annotated[Region, "text"]
        data: list[Data]

    class Table(TypedDict, total=False):
        wires: dict[str, Wire]

    @attrs.define
    class Attrs:
        table: Table
        literal: Literal["a", 1] = "a"

    return [Data, Wire, Table, Attrs], dict(locals())


@pytest.mark.parametrize("number", range(4))
def test_what_is_settled_is_read_when_its_function_has_returned(number: int) -> None:
    """B145: from the type itself, or from one whose fields are made of it."""
    kinds, names = defined()
    with pytest.raises((NameError, TypeError, AttributeError)):
        publish(defined()[0][1])

    settle(kinds[number], names)

    assert '"eu"' in msgspec.json.encode(publish(kinds[number])).decode()


def test_the_name_of_a_local_type_goes_before_that_of_the_module() -> None:
    (data, *_), names = defined()

    settle(GenericAlias(list, (GenericAlias(dict, (str, data)),)), names)

    assert data.__annotations__["region"] is names["Region"]
    assert data.__annotations__["left"] == (data | None)


def test_what_cannot_be_told_stays_as_it_was() -> None:
    class Later:
        second: int

    Later.__annotations__["first"] = "Missing"
    settle(Later, {})
    assert Later.__annotations__ == {"second": int, "first": "Missing"}

    settle(Later, {"Missing": str})
    assert Later.__annotations__ == {"second": int, "first": str}


def test_a_local_base_is_settled_with_what_is_made_of_it() -> None:
    class Inner: ...

    class Base(Generic[T]):
        inner: Inner

    class Child(Base[int]):
        pass

    settle(Child, {"Inner": Inner})

    assert Base.__annotations__ == {"inner": Inner}
    assert "inner" not in vars(Child).get("__annotations__", {})


class AtHome:
    region: Region


def test_classes_of_modules_are_left_alone() -> None:
    settle(AtHome, {})
    settle_here(AtHome)
    settle(7, {})

    assert AtHome.__annotations__ == {"region": "Region"}
    assert not is_local(AtHome)


def test_a_class_that_cannot_be_changed_is_left_alone() -> None:
    class Stubborn(type):
        def __setattr__(cls, name: str, value: object) -> None:
            raise AttributeError(name)

    class Kind(metaclass=Stubborn):
        number: int

    settle(Kind, {})

    assert Kind.__annotations__ == {"number": "int"}


def test_a_class_is_settled_where_its_functions_run() -> None:
    class Here(enum.Enum):
        A = "a"

    class Place(msgspec.Struct):
        here: Here

    settle_here(Place)

    assert publish(Place)["properties"] == {"here": {"type": "string", "enum": ["a"]}}


def test_names_are_those_of_what_runs_around_the_definition_the_inner_first() -> None:
    def outer(depth: int) -> dict[str, Any]:
        word = f"outer {depth}"

        def inner() -> dict[str, Any]:
            return around("outer.<locals>.inner.<locals>.it", globals())

        return inner() if depth else {**outer(1), "last": word}

    found = outer(0)

    assert found["word"] == "outer 1"
    assert found["last"] == "outer 0"
    assert around("it", globals()) == {}
    assert "word" not in around("outer.<locals>.it", {})


def test_an_annotation_is_evaluated_with_what_it_has() -> None:
    assert evaluate("Annotated[list[X], 'text']", globals(), {"X": int}) == Annotated[list[int], "text"]
    with pytest.raises(NameError):
        evaluate("X", globals(), {})
