"""The codec: any bytes in, named types out; any value in, one clean line out."""

from __future__ import annotations

import json
import tracemalloc
from collections import UserDict
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dedalus_mcp.errors import INVALID_REQUEST, PARSE_ERROR, ErrorData, LocalProtocolError
from dedalus_mcp.jsonrpc.codec import MAX_BATCH, MAX_RECOVERED, decode, encode, encode_batch, encode_value, plain
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, Success
from tests.ids import shown

IDS = [1, "1", "0", 0, "007", "a", "", -5, 2**53, 2**53 + 1, 10**30, "\u00e9\U0001f600"]
REPLY = b'"result":{}'


def malformed(frame: bytes) -> Malformed:
    decoded = decode(frame)
    assert isinstance(decoded, Malformed), decoded
    return decoded


def call_with(id: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id + b',"method":"m"}'


@pytest.mark.parametrize("id", IDS, ids=shown)
def test_id_keeps_its_type_and_value_from_call_to_reply(id: int | str) -> None:
    """B001, RPC-02, RPC-06."""
    call = decode(encode(Call(id, "ping")))
    assert isinstance(call, Call)

    for reply in (Success(call.id, {}), Failure(call.id, ErrorData(1, "m"))):
        echoed = json.loads(encode(reply))["id"]
        assert (type(echoed), echoed) == (type(id), id)


@given(st.integers() | st.text(), st.text())
def test_what_is_encoded_decodes_to_the_same(id: int | str, method: str) -> None:
    params = {"text": method}
    raw = Raw(msgspec.json.encode(params))
    error = ErrorData(1, method, params)

    pairs: list[tuple[Message, Message]] = [
        (Call(id, method, params), Call(id, method, raw)),
        (Notice(method), Notice(method, UNSET)),
        (Success(id, params), Success(id, raw)),
        (Failure(id, error), Failure(id, error)),
    ]
    for message, read in pairs:
        decoded = decode(encode(message))
        assert json.loads(msgspec.json.encode(decoded)) == json.loads(msgspec.json.encode(read))
        assert type(decoded) is type(read)


@pytest.mark.parametrize("params", [b"{}", b"[]", b"null", b"5", b'"x"', b"true", b"1.5"])
def test_params_of_any_type_stay_raw_for_the_owner_of_the_method(params: bytes) -> None:
    """B101: what fits is the method's business; the id must survive for the refusal."""
    call = decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + params + b"}")

    assert isinstance(call, Call)
    assert bytes(memoryview(call.params)) == params


def test_unknown_members_are_tolerated() -> None:
    """RPC-30."""
    assert decode(b'{"jsonrpc":"2.0","x":[{}],"method":"m"}') == Notice("m")


@pytest.mark.parametrize("id", [b"null", b"true", b"1.0", b"1.5", b"1e3", b"{}", b"[]"])
def test_what_is_no_id_is_refused_without_one(id: bytes) -> None:
    """RPC-02, RPC-03."""
    refused = malformed(call_with(id))

    assert (refused.id, refused.error.code, refused.is_reply) == (None, INVALID_REQUEST, False)


@pytest.mark.parametrize(
    ("frame", "is_reply"),
    [
        (b'{"id":"r-9","method":"m"}', False),
        (b'{"jsonrpc":"1.0","id":"r-9","method":"m"}', False),
        (b'{"jsonrpc":2.0,"id":"r-9","method":"m"}', False),
        (b'{"jsonrpc":"2.0","id":"r-9","method":5}', False),
        (b'{"jsonrpc":"2.0","id":"r-9"}', False),
        (b'{"jsonrpc":"2.0","id":"r-9","method":"m","result":{}}', False),
        (b'{"jsonrpc":"2.0","id":"r-9","method":"m","error":{"code":1,"message":"m"}}', False),
        (b'{"jsonrpc":"2.0","id":"r-9","result":{},"error":{"code":1,"message":"m"}}', True),
        (b'{"jsonrpc":"2.0","id":"r-9","error":{"code":"1","message":"m"}}', True),
        (b'{"jsonrpc":"2.0","id":"r-9","error":{"code":1.5,"message":"m"}}', True),
        (b'{"jsonrpc":"2.0","id":"r-9","error":{"code":1}}', True),
        (b'{"jsonrpc":"2.0","id":"r-9","error":null}', True),
        (b'{"id":"r-9","result":{}}', True),
    ],
)
def test_message_that_breaks_a_rule_is_refused_under_its_id(frame: bytes, is_reply: bool) -> None:
    """RPC-01, RPC-07, RPC-08, RPC-10, B007."""
    refused = malformed(frame)

    assert (refused.id, refused.error.code, refused.is_reply) == ("r-9", INVALID_REQUEST, is_reply)
    assert refused.is_bare == (b"method" not in frame and not is_reply)


@pytest.mark.parametrize("frame", [b'{"jsonrpc":"2.0",%s}' % REPLY, b'{"jsonrpc":"2.0","id":null,%s}' % REPLY])
def test_result_without_id_is_a_reply_and_never_answered(frame: bytes) -> None:
    assert malformed(frame).is_reply


@pytest.mark.parametrize("id", [b'"id":null,', b""])
def test_error_without_id_is_a_failure_of_no_call(id: bytes) -> None:
    """RPC-10 and RPC-11: both ways to say that the id could not be read."""
    assert decode(b'{"jsonrpc":"2.0",%s"error":{"code":1,"message":"m"}}' % id) == Failure(None, ErrorData(1, "m"))


@pytest.mark.parametrize(
    ("frame", "id"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"\\ud800"}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":"\\udfff"}}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","unused":"\\ud800"}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":NaN}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"m","params":-Infinity}', 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"\xff"}', 3),
        (b'{"jsonrpc":"2.0","method":"\\ud800","id":true}', None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":3,"method":"m"}', None),
        (b"log line", None),
        (b"", None),
        (b'{"jsonrpc":"2.0","id":3,"method":"m"', 3),
        (b'{"jsonrpc":"2.0","method":"m","id":3', None),
        ('{"jsonrpc":"2.0","id":3,"method":"m"}'.encode("utf-16"), None),
    ],
    ids=shown,
)
def test_unreadable_frame_is_a_parse_error_under_the_id_where_one_is_legible(frame: bytes, id: int | None) -> None:
    """B124, RPC-10, RPC-13."""
    refused = malformed(frame)

    assert (refused.id, refused.error.code, refused.is_reply) == (id, PARSE_ERROR, False)


def test_reply_with_half_a_surrogate_pair_names_the_call_it_fails() -> None:
    """B124: the call that waits for it must not wait for ever."""
    refused = malformed(b'{"jsonrpc":"2.0","id":3,"result":{"x":"\\ud800"}}')

    assert (refused.id, refused.is_reply) == (3, True)


def test_invalid_utf8_in_unread_members_goes_to_whoever_decodes_them() -> None:
    """RPC-13: msgspec checks the text of raw members when they are read, and only then."""
    call = decode(b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":"\xff"},"unused":"\xff"}')

    assert isinstance(call, Call)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(call.params)


@pytest.mark.parametrize("number", [b"1e400", b"9" * 5000, b"-1e999"])
def test_number_beyond_any_type_is_no_id_and_harms_nobody(number: bytes) -> None:
    assert malformed(call_with(number)).id is None
    assert isinstance(decode(b'{"jsonrpc":"2.0","id":3,"method":"m","params":{"x":' + number + b"}}"), Call)


@pytest.mark.parametrize("deep", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
@pytest.mark.parametrize("around", [b"%s", b'{"jsonrpc":"2.0","id":3,"method":"m","params":%s}', b"[%s]"])
def test_nesting_without_end_is_one_error(around: bytes, deep: bytes) -> None:
    decoded = decode(around % deep)
    refused = decoded[0] if isinstance(decoded, list) else decoded

    assert isinstance(refused, Malformed)
    assert refused.error.code in (PARSE_ERROR, INVALID_REQUEST)
    assert refused.id == (3 if b'"id"' in around else None)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","id":3,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"result":' + b"[" * 100_000 + b"]" * 100_000 + b',"jsonrpc":"2.0","id":3}',
        b'{"jsonrpc":"2.0","id":3,"result":{"cut":"off',
    ],
)
def test_reply_that_cannot_be_read_at_all_names_the_call_it_fails(frame: bytes) -> None:
    """Its two ends tell: the call that waits for it must not wait for ever."""
    refused = malformed(frame)

    assert (refused.id, refused.is_reply, refused.error.code) == (3, True, PARSE_ERROR)


def test_last_of_duplicate_members_wins() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}') == Call(2, "b")


# Batches.


def test_batch_is_read_item_by_item() -> None:
    """RPC-14: one bad item spoils no other."""
    items = decode(
        b' \n[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"},'
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}},5,[],[{}],{"id":9,"method":"m"}]'
    )

    assert isinstance(items, list)
    assert items[:3] == [Call(1, "m"), Notice("n"), Failure(1, ErrorData(1, "m"))]
    assert [(item.id, item.error.code) for item in items[3:] if isinstance(item, Malformed)] == [
        (None, INVALID_REQUEST),
        (None, INVALID_REQUEST),
        (None, INVALID_REQUEST),
        (9, INVALID_REQUEST),
    ]


@pytest.mark.parametrize(
    ("frame", "code"),
    [(b"[]", INVALID_REQUEST), (b" [ ] ", INVALID_REQUEST), (b"[1,", PARSE_ERROR), (b"[", PARSE_ERROR)],
)
def test_batch_of_nothing_or_cut_short_is_one_error(frame: bytes, code: int) -> None:
    assert (malformed(frame).id, malformed(frame).error.code) == (None, code)


def test_batch_has_a_bound_however_short_its_items_are() -> None:
    """Refusing half a million items one by one took half a minute, and 55 MB of reply."""
    assert isinstance(decode(b"[" + b"1," * (MAX_BATCH - 1) + b"1]"), list)
    assert malformed(b"[" + b"1," * MAX_BATCH + b"1]").error.code == INVALID_REQUEST


@pytest.mark.parametrize(
    "frame",
    [
        b"[" + b"1," * MAX_RECOVERED + b"1]",
        b'{"jsonrpc":"2.0","id":1,"result":{"x":[' + b"{}," * MAX_RECOVERED + b"NaN]}}",
        b'{"id":1,"result":{"x":[' + b"{}," * MAX_RECOVERED + b"1]}}",
        b'{"jsonrpc":"2.0","id":1,"result":{"x":[' + b"{}," * MAX_RECOVERED,
    ],
    ids=["batch", "no JSON", "no message", "cut off"],
)
def test_frame_that_cannot_be_read_takes_no_more_memory_than_itself(frame: bytes) -> None:
    """As objects, its items would take 25 times that."""
    tracemalloc.start()
    try:
        found = malformed(frame)
        assert tracemalloc.get_traced_memory()[1] < len(frame)
    finally:
        tracemalloc.stop()
    assert (found.id, found.is_reply) == ((None, False) if frame[:1] == b"[" else (1, True))


def test_encoded_batch_is_read_back_as_its_messages() -> None:
    """RPC-15."""
    frame = encode_batch([encode(Success(1, {})), encode(Failure("1", ErrorData(1, "m")))])

    assert decode(frame) == [Success(1, Raw(b"{}")), Failure("1", ErrorData(1, "m"))]


def test_refusal_does_not_repeat_what_it_refuses() -> None:
    """RPC-09: one short sentence, however long the bad value is."""
    assert len(malformed(b'{"jsonrpc":"%s","method":"m"}' % (b"x" * 100_000)).error.message) < 200


# What goes out.


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
    ids=shown,
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


def test_raw_json_that_came_in_lines_goes_out_in_one() -> None:
    """From HTTP to stdio, say, where the rest of the frame would be a line of its own."""
    frame = encode(Success(1, Raw(b'{\r\n  "a": "\\n",\n  "b": [1,\r2]\n}')))

    assert len(frame.splitlines()) == 1
    assert json.loads(frame)["result"] == {"a": "\n", "b": [1, 2]}


def test_a_part_of_a_message_is_written_as_it_will_stand_there() -> None:
    assert encode_value({"a": [1, "é"]}) == '{"a":[1,"é"]}'.encode()


def test_half_a_surrogate_pair_in_a_part_is_refused_or_repaired() -> None:
    with pytest.raises(LocalProtocolError, match="surrogate"):
        encode_value({"a": "\ud800"})
    assert encode_value({"a": "\ud800"}, repair=True) == '{"a":"\ufffd"}'.encode()


def test_a_part_that_is_no_json_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="JSON"):
        encode_value({"a": object()})
