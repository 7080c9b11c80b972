"""Frames that are not even tried: what is said of them, and to whom."""

from __future__ import annotations

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.oversized import describe, refuse_batch
from dedalus_mcp.transport import Oversized


def test_refusal_names_the_limit() -> None:
    refused = describe(Oversized(1000, b"xxx", b"xxx"))

    assert (refused.id, refused.error.code, refused.is_reply) == (None, INVALID_REQUEST, False)
    assert "1000 bytes" in refused.error.message


def test_refusal_carries_the_id_that_either_end_tells() -> None:
    by_head = describe(Oversized(1000, b'{"jsonrpc":"2.0","id":3,"result":{"x":"', b'"}}'))
    by_tail = describe(Oversized(1000, b'{"method":"', b'","jsonrpc":"2.0","id":"3"}'))

    assert (by_head.id, by_head.is_reply) == (3, True)
    assert (by_tail.id, by_tail.is_reply) == ("3", False)


def test_batch_is_refused_without_an_id() -> None:
    """RPC-17."""
    assert refuse_batch().id is None
    assert refuse_batch().error.code == INVALID_REQUEST
