"""What is in a legacy POST."""

from __future__ import annotations

import pytest

from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp_transports.http_posted import cancellations_in, is_replied_to

CALL = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
OTHER = b'{"jsonrpc":"2.0","id":"b","method":"ping"}'
NOTICE = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
REPLY = b'{"jsonrpc":"2.0","id":3,"result":{}}'
NONSENSE = b'{"jsonrpc":"2.0","id":4,"method":true}'


def cancel(params: bytes | None) -> bytes:
    more = b"" if params is None else b',"params":' + params
    return b'{"jsonrpc":"2.0","method":"notifications/cancelled"' + more + b"}"


@pytest.mark.parametrize("body", [CALL, b"[" + NOTICE + b"," + OTHER + b"]", b"[" + NONSENSE + b"," + NOTICE + b"]"])
def test_calls_and_what_has_to_be_refused_are_replied_to(body: bytes) -> None:
    assert is_replied_to(decode(body))


@pytest.mark.parametrize("body", [NOTICE, REPLY, b"[" + NOTICE + b"," + REPLY + b"]"])
def test_notices_and_replies_are_not(body: bytes) -> None:
    assert not is_replied_to(decode(body))


@pytest.mark.parametrize(
    ("body", "cancelled"),
    [
        (cancel(b'{"requestId":1}'), [1]),
        (b"[" + cancel(b'{"requestId":"b"}') + b"," + CALL + b"," + cancel(b'{"requestId":2}') + b"]", ["b", 2]),
        (CALL, []),
        (NOTICE, []),
    ],
)
def test_the_calls_that_nobody_wants_any_more_are_found(body: bytes, cancelled: list[RequestId]) -> None:
    assert [id for _, id in cancellations_in(decode(body))] == cancelled


@pytest.mark.parametrize("params", [None, b"{}", b"[]", b'{"requestId":1.5}', b'{"requestId":null}', b"[" * 100_000])
def test_a_cancellation_that_names_no_call_cancels_nothing(params: bytes | None) -> None:
    assert list(cancellations_in(decode(cancel(params)))) == []
