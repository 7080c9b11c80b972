"""Frames that are not even tried: what is said of them, and to whom."""

from __future__ import annotations

import json

import pytest

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.messages import Malformed
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
