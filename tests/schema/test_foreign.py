"""The hooks for types that msgspec does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic
import pytest

from dedalus_mcp.schema.foreign import Mode, StandIn, decode, describe, encode


class Model(pydantic.BaseModel):
    n: int = pydantic.Field(alias="N")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.n


class Hooked(pydantic.BaseModel):
    hook: Callable[[], None]


class Titled(pydantic.BaseModel, title="A title of its own"):
    n: int


class Loud(str):
    __slots__ = ()


class Properties(Mapping[str, int]):
    def __getitem__(self, name: str) -> int:
        return {"n": 1}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(["n"])

    def __len__(self) -> int:
        return 1


def seven(value: Any) -> int:
    return 7


def called_seven(mode: Mode) -> dict[str, Any]:
    return {"const": 7, "title": mode}


class Seven(StandIn):
    read = staticmethod(seven)
    describe = staticmethod(called_seven)


def test_models_go_through_their_own_methods() -> None:
    model = decode(Model, {"N": 1})

    assert model == Model(N=1)
    assert encode(model) == {"N": 1, "twice": 2}
    assert set(describe(Model, "validation")["properties"]) == {"N"}
    assert set(describe(Model, "serialization")["properties"]) == {"N", "twice"}


def test_a_title_is_kept_unless_it_only_repeats_the_name() -> None:
    assert "title" not in describe(Model, "validation")
    assert describe(Titled, "validation")["title"] == "A title of its own"


def test_what_behaves_as_a_json_type_is_written_as_one() -> None:
    assert type(encode(Loud("a"))) is str
    assert encode(Properties()) == {"n": 1}


def test_paths_are_strings() -> None:
    assert decode(Path, "a/b") == Path("a/b")
    assert decode(Path, Path("a")) == Path("a")
    assert encode(Path("a/b")) == "a/b"
    assert describe(Path, "validation") == {"$defs": {}, "type": "string", "format": "path"}


def test_a_stand_in_is_asked() -> None:
    assert decode(Seven, "x") == 7
    assert describe(Seven, "serialization") == {"$defs": {}, "const": 7, "title": "serialization"}
    assert isinstance("anything", Seven)


@pytest.mark.parametrize(("kind", "value"), [(Path, 1), (complex, 1), (list[int], [])], ids=repr)
def test_what_is_unknown_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises(TypeError, match="cannot build"):
        decode(kind, value)


def test_what_has_no_json_form_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="complex has no JSON form"):
        describe(complex, "validation")
    with pytest.raises(TypeError, match="Hooked has no JSON form"):
        describe(Hooked, "validation")
    with pytest.raises(TypeError, match="a complex has no JSON form"):
        encode(1j)
