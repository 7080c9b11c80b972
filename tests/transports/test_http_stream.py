"""One event stream over several connections, and the pauses between them."""

from __future__ import annotations

import pytest

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp_transports.http_stream import EventStream, Reconnect

REPLY = b'{"jsonrpc":"2.0","id":1,"result":{}}'
NOTICE = b'{"jsonrpc":"2.0","method":"n"}'


def stream(wanted: int | None = 1, jitter: float = 0.0, max_event: int = 1000, **reconnect: float) -> EventStream:
    settings = Reconnect(**reconnect)  # type: ignore[arg-type]
    return EventStream(wanted, settings, max_event, jitter=lambda: jitter)


def pauses(of: EventStream) -> list[float]:
    found: list[float] = []
    while (pause := of.pause()) is not None:
        found.append(pause)
    return found


def test_frames_come_out_until_the_reply() -> None:
    """B086: a priming event, a comment, another type and `retry` are no frames."""
    one = stream()

    assert one.feed(b"id: 1\ndata:\n\n: x\n\nevent: ping\ndata: y\n\nretry: 5\n\ndata: " + NOTICE + b"\n\n") == [NOTICE]
    assert not one.replied
    assert one.feed(b"data: " + REPLY + b"\n\n") == [REPLY]
    assert one.replied
    one.feed(b"data: " + NOTICE + b"\n\n")
    assert one.replied


def test_a_stream_of_its_own_waits_for_no_reply() -> None:
    one = stream(None)
    assert one.feed(b"data: " + REPLY + b"\n\n") == [REPLY]
    assert not one.replied


def test_what_a_broken_connection_left_unfinished_is_dropped() -> None:
    one = stream()
    one.feed(b"id: 1\ndata:\n\nid: 2\ndata: {")
    one.begin()

    assert one.last_event_id == "1"
    assert one.feed(b"id: 2\ndata: " + REPLY + b"\n\n") == [REPLY]
    assert one.last_event_id == "2"


def test_an_event_that_is_too_long_ends_the_stream() -> None:
    one = stream(max_event=50)
    assert one.feed(b"data: " + b"x" * 60) == []
    assert isinstance(one.fault, RemoteProtocolError)
    assert one.pause() is None


def test_the_pauses_grow_up_to_a_bound_and_end() -> None:
    """B091."""
    assert pauses(stream(attempts=6, first=1.0, longest=5.0)) == [1, 2, 4, 5, 5, 5]
    assert pauses(stream(attempts=0)) == []


def test_pauses_are_spread() -> None:
    """B091."""
    assert pauses(stream(attempts=2, first=1.0, jitter=1.0)) == [1.25, 2.5]


def test_the_server_says_how_long_to_wait() -> None:
    """HTTP-38, B091: at least that, also beyond our bound; and never not at all."""
    one = stream(attempts=2, longest=1.0)
    one.feed(b"retry: 5000\n\n")
    assert pauses(one) == [5, 5]

    hasty = stream(attempts=2, longest=1.0)
    hasty.feed(b"retry: 0\n\n")
    assert pauses(hasty) == [0.01, 0.02]


@pytest.mark.parametrize(
    ("again", "earned"),
    [
        (b"", False),
        (b": comment\n\nretry: 1000\n\n", False),
        (b"id: 1\ndata:\n\n", False),
        (b"id: 2\ndata:\n\n", True),
        (b"data: " + NOTICE + b"\n\n", True),
    ],
)
def test_only_something_new_earns_new_attempts(again: bytes, earned: bool) -> None:
    """B091."""
    one = stream(attempts=1)
    one.feed(b"id: 1\ndata:\n\n")
    assert one.pause() is not None
    one.begin()
    one.feed(again)

    assert (one.pause() is not None) == earned


@pytest.mark.parametrize("wrong", [{"attempts": -1}, {"first": -1.0}, {"longest": -1.0}], ids=repr)
def test_a_setting_below_zero_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Reconnect(**wrong)  # type: ignore[arg-type]
