"""What a frame was, what it answers, and how long that took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.cli import trace_entries
from dedalus_mcp.cli.trace_entries import Entry, Ledger


def only(entries: list[Entry]) -> Entry:
    assert len(entries) == 1
    return entries[0]


def test_an_answer_is_told_with_the_method_and_the_time_of_its_request() -> None:
    ledger = Ledger(1)
    asked = only(ledger.frame("client", b'{"jsonrpc":"2.0","id":"a","method":"ping"}', 1.0))
    answered = only(ledger.frame("server", b'{"jsonrpc":"2.0","id":"a","result":{}}', 1.5))

    assert (asked.kind, asked.method, asked.id, asked.took) == ("request", "ping", "a", None)
    assert (answered.kind, answered.method, answered.id, answered.took) == ("result", "ping", "a", 0.5)


def test_both_sides_may_use_one_id_and_types_of_ids_are_told_apart() -> None:
    ledger = Ledger(1)
    ledger.frame("client", b'{"id":1,"method":"tools/call"}', 0.0)
    ledger.frame("server", b'{"id":1,"method":"elicitation/create"}', 1.0)

    wrong = only(ledger.frame("server", b'{"id":"1","result":{}}', 2.0))
    theirs = only(ledger.frame("client", b'{"id":1,"result":{}}', 3.0))
    ours = only(ledger.frame("server", b'{"id":1,"error":{"code":1,"message":""}}', 4.0))

    assert (wrong.method, wrong.took) == (None, None)
    assert (theirs.method, theirs.took) == ("elicitation/create", 2.0)
    assert (ours.kind, ours.method, ours.took) == ("error", "tools/call", 4.0)


def test_a_batch_is_as_many_entries() -> None:
    found = Ledger(2).frame("client", b'[{"id":1,"method":"a"},{"method":"b"},7]', 0.0)

    assert [(each.kind, each.connection) for each in found] == [("request", 2), ("notification", 2), ("junk", 2)]


@pytest.mark.parametrize(
    "frame", [b"Listening on port 80", b"\xff", b"[]", b"1", b'{"a": 1}', b"[" * 100_000, b'{"id":1}']
)
def test_what_is_no_message_is_told_as_junk(frame: bytes) -> None:
    assert only(Ledger(1).frame("server", frame, 0.0)).kind == "junk"


def test_secrets_are_masked_in_messages_and_in_junk() -> None:
    ledger = Ledger(1)

    assert only(ledger.frame("client", b'{"method":"a","params":{"token":"abc"}}', 0)).message["params"] == {
        "token": "[masked]"
    }
    assert only(ledger.frame("server", b"sent Bearer abcdef", 0)).message == "sent Bearer [masked]"


def test_requests_beyond_the_bound_are_told_without_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_entries, "MAX_OPEN", 1)
    ledger = Ledger(1)
    ledger.frame("client", b'{"id":1,"method":"a"}', 0.0)
    ledger.frame("client", b'{"id":2,"method":"a"}', 0.0)

    assert only(ledger.frame("server", b'{"id":2,"result":{}}', 1.0)).took is None
    assert only(ledger.frame("server", b'{"id":1,"result":{}}', 1.0)).took == 1.0


def test_an_entry_as_json_has_milliseconds() -> None:
    entry = Entry(1, 0.0125, "server", "result", "ping", 0, 0.0035, {"result": {}})

    assert entry.as_json() == {
        "connection": 1,
        "at_ms": 12.5,
        "from": "server",
        "kind": "result",
        "method": "ping",
        "id": 0,
        "took_ms": 3.5,
        "message": {"result": {}},
    }


@given(frames=st.lists(st.binary(max_size=30) | st.sampled_from([b'{"id":[],"method":"a"}', b'{"id":{},"result":1}'])))
def test_no_frame_is_too_strange(frames: list[bytes]) -> None:
    ledger = Ledger(1)

    assert all(len(ledger.frame("server", frame, 0.0)) >= 1 for frame in frames)
