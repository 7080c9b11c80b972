"""`decode` never raises, and answers with nothing but the named types."""

from __future__ import annotations

import json
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.messages import Failure, Malformed, Message

any_text = st.text(st.characters())  # unlike st.text() alone, with halves of surrogate pairs
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.integers() | any_text | json_values,
        "method": any_text | json_values,
        "params": json_values,
        "result": json_values,
        "error": st.fixed_dictionaries({"code": st.integers(), "message": any_text}) | json_values,
    },
)


def assert_decodes(frame: bytes) -> None:
    decoded = decode(frame)
    named = (*get_args(Message), Malformed)
    for item in decoded if isinstance(decoded, list) else [decoded]:
        assert isinstance(item, named)
        if isinstance(item, Malformed):
            assert len(item.error.message) < 200  # RPC-09
            encode(Failure(item.id, item.error))


@given(st.binary())
def test_decode_never_raises_on_arbitrary_bytes(frame: bytes) -> None:
    """B101."""
    assert_decodes(frame)


@given(json_values | members | st.lists(members, max_size=4))
def test_decode_never_raises_on_arbitrary_json(value: Any) -> None:
    """B101: nor on members of the wrong type in any combination, NaN and surrogates included."""
    assert_decodes(json.dumps(value).encode())
    assert_decodes(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


@given(members, st.data())
def test_decode_never_raises_on_damaged_messages(value: Any, data: st.DataObject) -> None:
    frame = bytearray(json.dumps(value).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(frame)))
        frame[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    assert_decodes(bytes(frame))
