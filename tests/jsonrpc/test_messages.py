"""The messages: what each looks like on the wire."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, Success


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (Call(1, "ping"), b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
        (Call("1", "ping", {}), b'{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}'),
        (Call(0, "ping", UNSET), b'{"jsonrpc":"2.0","id":0,"method":"ping"}'),
        (Notice("n"), b'{"jsonrpc":"2.0","method":"n"}'),
        (Success("", {}), b'{"jsonrpc":"2.0","id":"","result":{}}'),
        (Failure(7, ErrorData(-1, "m")), b'{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"m"}}'),
        (
            Failure(None, ErrorData(-1, "m", 0)),
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":0}}',
        ),
    ],
    ids=repr,
)
def test_message_carries_the_version_and_exactly_its_members(message: Message, wire: bytes) -> None:
    """RPC-01, RPC-07, RPC-08, RPC-11, RPC-12: nothing absent is written, nothing present left out."""
    assert msgspec.json.encode(message) == wire


def test_malformed_is_no_reply_unless_it_says_so() -> None:
    malformed = Malformed(None, ErrorData(-32600, "m"))

    assert not malformed.is_reply


def test_message_cannot_be_changed_after_it_was_made() -> None:
    with pytest.raises(AttributeError):
        Call(1, "ping").id = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
