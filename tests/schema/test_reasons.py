"""What an author's own check said."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.reasons import bound, reasons


class Checked(msgspec.Struct):
    n: int

    def __post_init__(self) -> None:
        if self.n == 13:
            raise ValueError("n must not be 13" + "!" * 1000)
        if self.n == 14:
            raise ValueError
        if self.n == 15:
            raise ValueError("no - at `$.x` - at `$" * 100_000)


class Bounded(msgspec.Struct):
    n: Annotated[int, msgspec.Meta(le=5)]


class Model(pydantic.BaseModel):
    items: list[int]
    name: str = ""


def said(kind: Any, value: Any) -> list[str]:
    try:
        msgspec.convert(value, kind, dec_hook=decode)
    except msgspec.ValidationError as error:
        return reasons(error, "it")
    raise AssertionError("the value fits")


def test_the_text_comes_with_its_place_and_not_too_long() -> None:
    (text,) = said(list[Checked], [{"n": 1}, {"n": 13}])

    assert text.startswith("it[1]: n must not be 13!!!")
    assert len(text) < 250
    assert said(Checked, {"n": 13})[0].startswith("it: n must not")


def test_pydantic_says_everything_but_the_value() -> None:
    found = said(dict[str, Model], {"a": {"items": [1, "secret"], "name": 1}})

    assert [text.partition(": ")[0] for text in found] == ["it[...].items[1]", "it[...].name"]
    assert "secret" not in "".join(found)


def test_pydantic_says_no_more_than_can_be_read() -> None:
    found = said(dict[str, Model], {"a": {"items": ["x" * 1000] * 1000}})

    assert len(found) == 20
    assert max(map(len, found)) < 300


def test_no_text_is_no_reason() -> None:
    assert said(Checked, {"n": 14}) == []
    assert said(Checked, {"n": "secret"}) == []


def test_of_what_the_decoder_refuses_a_bound_is_told_and_never_the_value() -> None:
    with pytest.raises(msgspec.ValidationError) as beyond:
        msgspec.convert([{"n": 9}], list[Bounded])
    with pytest.raises(msgspec.ValidationError) as other:
        msgspec.convert([{"n": "secret"}], list[Bounded])

    assert bound(beyond.value, "it") == "it[0].n: expected int <= 5"
    assert bound(other.value, "it") == "it: does not fit"


def test_a_text_that_looks_like_places_is_none_and_takes_no_longer() -> None:
    """A check may repeat what a client sent; looking for the place in that took minutes."""
    (text,) = said(list[Checked], [{"n": 15}])

    assert text.startswith("[0]: no - at `$.x`", len("it"))
    assert len(text) < 250
    assert said(Checked, {"n": 15})[0].startswith("it: no - at")
