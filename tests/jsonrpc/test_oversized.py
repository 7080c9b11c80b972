"""Frames that are not even tried: what is said of them, and to whom."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.messages import Failure, Malformed
from dedalus_mcp.jsonrpc.oversized import describe, refuse_batch
from dedalus_mcp.transport import Oversized

LONG = "x" * 2000


def seen(frame: str | bytes) -> Malformed:
    data = frame if isinstance(frame, bytes) else frame.encode()
    return describe(Oversized(1000, data[:512], data[-512:]))


def test_refusal_names_the_limit() -> None:
    refused = seen(LONG)

    assert (refused.id, refused.error.code) == (None, INVALID_REQUEST)
    assert "1000 bytes" in refused.error.message


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


def test_batch_is_refused_without_an_id() -> None:
    """RPC-17."""
    assert refuse_batch().id is None
    assert refuse_batch().error.code == INVALID_REQUEST


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
def test_describe_never_raises(head: bytes, tail: bytes) -> None:
    refused = describe(Oversized(1, head, tail))

    encode(Failure(refused.id, refused.error))
