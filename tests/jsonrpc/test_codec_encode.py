"""What goes out: any value, as one clean line, or an error of one kind."""

from __future__ import annotations

import json
from collections import UserDict
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dedalus_mcp.errors import ErrorData, LocalProtocolError
from dedalus_mcp.jsonrpc.codec import decode, encode, plain
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, Success


@given(st.text(), st.text(alphabet="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", min_size=1))
def test_frame_has_no_line_break_of_any_kind(text: str, breaks: str) -> None:
    frame = encode(Notice("m", {text + breaks: breaks + text}))

    assert len(frame.decode().splitlines()) == 1
    assert json.loads(frame)["params"] == {text + breaks: breaks + text}


@pytest.mark.parametrize("text", ["a\udca3b", "\ud800", "\udfff\ud800"])
@pytest.mark.parametrize("where", ["value", "key", "list", "tuple", "error", "id"])
def test_half_a_surrogate_pair_leaves_replaced_in_replies(text: str, where: str) -> None:
    """B124."""
    messages: dict[str, Message] = {
        "value": Success(1, {"x": text}),
        "key": Success(1, {text: 1}),
        "list": Success(1, {"x": [text]}),
        "tuple": Notice("m", {"x": (text, 1)}),
        "error": Failure(1, ErrorData(1, text, text)),
        "id": Success(text, {}),
    }
    frame = encode(messages[where])

    assert "\ufffd" in frame.decode()
    assert not isinstance(decode(frame), Malformed)


def test_whole_surrogate_pair_leaves_as_its_character() -> None:
    assert "\U0001f600" in encode(Success(1, {"x": "\ud83d\ude00"})).decode()


def test_half_a_surrogate_pair_is_refused_in_calls() -> None:
    """B124: a call is never altered silently."""
    with pytest.raises(LocalProtocolError, match="surrogate"):
        encode(Call(1, "m", {"x": "\ud800"}))


class Word(str):
    __slots__ = ()


class Number(int):
    pass


class Ratio(float):
    pass


class Items(list[Any]):
    pass


class Table(dict[str, Any]):
    pass


class Model(pydantic.BaseModel):
    in_: int = pydantic.Field(default=1, serialization_alias="in")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Word("w"), "w"),
        (Number(3), 3),
        (Ratio(1.5), 1.5),
        (Items([Word("w")]), ["w"]),
        (Table(x=Number(1)), {"x": 1}),
        (UserDict({"x": Table()}), {"x": {}}),
        (Model(), {"in": 1}),
        ([Model()], [{"in": 1}]),
        ({"x": Raw(b'{"a":1}')}, {"x": {"a": 1}}),
        (float("nan"), None),
        (10**30, 10**30),
    ],
    ids=repr,
)
def test_value_is_written_as_what_it_is_made_of(value: Any, written: Any) -> None:
    assert json.loads(encode(Success(1, {"v": value})))["result"] == {"v": written}


def test_plain_says_that_it_does_not_know() -> None:
    with pytest.raises(NotImplementedError, match="object is not JSON"):
        plain(object())


class Raises:
    def model_dump(self, **_options: object) -> object:
        raise RuntimeError


def cycle(kind: type[Any]) -> Any:
    value = kind()
    value["self"] = value
    return value


@pytest.mark.parametrize("beside", ["", "\ud800"], ids=["clean", "surrogate"])
@pytest.mark.parametrize(
    "value", [object(), Raises(), 1j, {(1, 2): 3}, cycle(dict), cycle(Table)], ids=lambda value: type(value).__name__
)
def test_value_that_is_no_json_is_refused_by_one_kind_of_error(value: Any, beside: str) -> None:
    """Also where the message needs the second pass, that repairs surrogates."""
    with pytest.raises(LocalProtocolError, match=r"cannot be written|holds itself"):
        encode(Success(1, {"beside": beside, "value": value}))


def test_raw_json_is_written_as_it_stands_beside_half_a_surrogate_pair() -> None:
    frame = encode(Success(1, {"beside": "\ud800", "value": Raw(b'{"a":[1]}')}))

    assert json.loads(frame)["result"] == {"beside": "\ufffd", "value": {"a": [1]}}
