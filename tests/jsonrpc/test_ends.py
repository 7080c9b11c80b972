"""The two ends of a frame: whose it is, where they tell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.ends import LENGTH, whose
from dedalus_mcp.jsonrpc.messages import Failure, Malformed

LONG = "x" * 2000


def seen(frame: str | bytes) -> Malformed:
    data = frame if isinstance(frame, bytes) else frame.encode()
    id, is_reply = whose(data[:LENGTH], data[-LENGTH:])
    return Malformed(id, ErrorData(0, ""), is_reply)


@pytest.mark.parametrize("id", [1, 0, -5, "1", "", "a b", "\u00e9", 10**17], ids=repr)
@pytest.mark.parametrize("spaced", [True, False])
def test_id_is_found_at_either_end(id: int | str, spaced: bool) -> None:
    """The orders in which the libraries of today write their members."""
    version, params = {"jsonrpc": "2.0"}, {"params": {"x": LONG, "id": 99}}
    for message in (
        {**version, "id": id, "method": "m", **params},
        {"id": id, **version, "method": "m", **params},
        {"method": "m", **params, **version, "id": id},
        {"method": "m", **params, "id": id, **version},
    ):
        text = json.dumps(message, ensure_ascii=False, separators=None if spaced else (",", ":"))
        assert seen(text).id == id
        assert not seen(text).is_reply


@pytest.mark.parametrize("payload", [{"result": {"x": LONG}}, {"error": {"code": 1, "message": LONG}}])
def test_reply_is_known_as_one_wherever_its_id_stands(payload: dict[str, object]) -> None:
    for message in (
        {"jsonrpc": "2.0", "id": 3, **payload},
        {**payload, "jsonrpc": "2.0", "id": 3},
        {"jsonrpc": "2.0", **payload},
    ):
        refused = seen(json.dumps(message))

        assert refused.is_reply
        assert refused.id == message.get("id")


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","method":"m","params":{"id":5,"x":"%s"}}',
        '{"jsonrpc":"2.0","method":"m","params":{"x":"%s","id":5}}',
        '{"jsonrpc":"2.0","method":"m","params":{"x":"%s","id":5,"jsonrpc":"2.0"}}',
        '{"params":{"id":5,"x":"%s"},"method":"m","jsonrpc":"2.0"}',
        '[{"jsonrpc":"2.0","id":5,"method":"%s"}]',
        '{"jsonrpc":"2.0","method":"\\"id\\":5,%s"}',
        '{"method":"%s\\"jsonrpc\\":\\"2.0\\",\\"id\\":5"}',
    ],
)
def test_id_of_something_inside_is_not_the_id(frame: str) -> None:
    assert seen(frame % LONG).id is None


@pytest.mark.parametrize("method", ['"result":', '"error":', '{"result":1}'])
def test_call_that_speaks_of_results_is_no_reply(method: str) -> None:
    assert not seen(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": LONG})).is_reply


@pytest.mark.parametrize(
    "id", [b"007", b"-01", b"1.5", b"1e3", b"1234567890123456789", b"null", b'"\xff"', b'"\n"', b'"\\n"', b"-", b'"']
)
@pytest.mark.parametrize(
    "frame", [b'{"id":%s,"jsonrpc":"2.0","method":"%s"}', b'{"method":"%s","jsonrpc":"2.0","id":%s}']
)
def test_what_is_no_plain_id_is_never_taken_for_another(frame: bytes, id: bytes) -> None:
    """The reply would go to the wrong call, or settle one."""
    parts = (id, LONG.encode()) if frame.startswith(b'{"id"') else (LONG.encode(), id)

    assert seen(frame % parts).id is None


def test_id_cut_off_by_the_end_of_the_head_is_unknown() -> None:
    """Which of 12, 123 or 1234 it was, nobody can tell."""
    for spaces in range(480, 512):
        assert seen('{"jsonrpc":"2.0",' + " " * spaces + '"id":1234567,"method":"' + LONG).id in (None, 1234567)


ends = st.binary(max_size=40) | st.lists(
    st.sampled_from([b"{", b"}", b'"id"', b":", b",", b'"', b"1", b"\xff", b'"jsonrpc":"2.0"', b" ", b"-"]), max_size=16
).map(b"".join)


@given(ends, ends)
def test_no_end_makes_it_raise(head: bytes, tail: bytes) -> None:
    id, _ = whose(head, tail)

    encode(Failure(id, ErrorData(0, "")))
