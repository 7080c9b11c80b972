"""Server-sent events: written, read, and cut into chunks anyhow."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp_transports.sse import Event, Events, comment, event, join, priming, retry_after

MARK = b"\xef\xbb\xbf"


def events_of(*chunks: bytes) -> list[Event]:
    events = Events()
    return [each for chunk in chunks for each in events.feed(chunk)]


def outcome(chunks: list[bytes], limit: int) -> tuple[list[Event], str, int | None, bool]:
    """All that shows of a stream: its events, what is remembered, and whether it failed."""
    events, found = Events(limit), list[Event]()
    try:
        for chunk in chunks:
            found += events.feed(chunk)
        events.end()
    except RemoteProtocolError:
        return found, events.last_event_id, events.retry, True
    return found, events.last_event_id, events.retry, False


def test_an_event_is_its_data_and_a_blank_line() -> None:
    assert event(b'{"a":1}') == b'data: {"a":1}\n\n'


def test_an_event_may_have_an_id_a_type_and_a_retry() -> None:
    assert event(b"{}", id="s_1", event="endpoint", retry=500) == (
        b"retry: 500\nid: s_1\nevent: endpoint\ndata: {}\n\n"
    )


def test_each_field_may_stand_alone() -> None:
    assert event(b"1", id="s") == b"id: s\ndata: 1\n\n"
    assert event(b"1", event="e") == b"event: e\ndata: 1\n\n"
    assert event(b"1", retry=0) == b"retry: 0\ndata: 1\n\n"


def test_a_priming_event_has_an_id_and_no_data() -> None:
    """HTTP-36."""
    assert priming("s_0") == b"id: s_0\ndata: \n\n"
    assert priming("s_0", retry=500) == b"retry: 500\nid: s_0\ndata: \n\n"


def test_a_time_to_wait_may_come_without_an_event() -> None:
    """HTTP-37."""
    events = Events()

    assert events.feed(retry_after(250)) == []
    assert events.retry == 250


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0", "a\u2028b"], ids=ascii)
def test_an_id_or_type_cannot_break_out_of_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="id is printable"):
        event(b"{}", id=text)
    with pytest.raises(ValueError, match="event is printable"):
        event(b"{}", event=text)


def test_several_events_are_one_chunk() -> None:
    assert join([b"1", b"2", b"3"]) == event(b"1") + event(b"2") + event(b"3")
    assert join([b"1"]) == event(b"1")


def test_a_comment_reaches_no_one() -> None:
    """HTTP-24, HTTP-25."""
    assert comment() == b":\n\n"
    assert comment(b"still here") == b": still here\n\n"
    assert events_of(comment(), comment(b"data: x"), event(b"{}")) == [Event(b"{}")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=repr)
def test_a_line_ends_at_any_of_the_three(end: bytes) -> None:
    data = b"data: 1" + end + end + b"data: 2" + end + b"data: 3" + end + end

    assert events_of(data) == [Event(b"1"), Event(b"2\n3")]
    assert events_of(*(data[at : at + 1] for at in range(len(data)))) == [Event(b"1"), Event(b"2\n3")]


def test_an_event_is_there_as_soon_as_its_blank_line_is() -> None:
    events = Events()

    assert events.feed(b"data: 1\r\n\r") == [Event(b"1")]
    assert events.feed(b"\ndata: 2\r\n\r\n") == [Event(b"2")]


def test_only_line_ends_end_a_line() -> None:
    text = '"a\u2028b\u2029c\u0085d\x0b\x0c\x1c\x1e"'.encode()

    assert events_of(b"data: " + text + b"\n\n") == [Event(text)]


@pytest.mark.parametrize("cut", range(5))
def test_a_byte_order_mark_is_dropped_at_the_start_alone(cut: int) -> None:
    data = MARK + b"data: 1\n\n" + MARK + b"data: lost\n\ndata: 2\n\n"

    assert events_of(data[:cut], data[cut:]) == [Event(b"1"), Event(b"2")]


def test_data_has_one_blank_taken_off_and_may_have_lines() -> None:
    assert events_of(b"data:1\n\ndata:  2\ndata\ndata:\ndata: \n\n") == [Event(b"1"), Event(b" 2\n\n\n")]


def test_what_holds_no_message_can_be_told() -> None:
    """B086."""
    data = b"id: 1\ndata:\n\nevent: ping\ndata: x\n\n: comment\n\nretry: 10\n\nid: 2\n\ndata: {}\n\n"
    found = events_of(data)

    assert found == [Event(b"", id="1"), Event(b"x", "ping"), Event(b"{}")]
    assert [each.is_message for each in found] == [False, False, True]


def test_the_id_of_the_last_finished_event_is_remembered() -> None:
    events = Events()
    assert events.last_event_id == ""

    events.feed(b"id: 1\ndata: a\n\ndata: b\n\n")
    assert events.last_event_id == "1"
    events.feed(b"id: 2\n\n")
    assert events.last_event_id == "2"
    events.feed(b"id: 3\ndata: unfinished\n")
    events.end()
    assert events.last_event_id == "2"


def test_an_id_may_be_cleared_but_holds_no_nul() -> None:
    events = Events()
    events.feed(b"id: 1\n\nid: a\0b\n\n")
    assert events.last_event_id == "1"

    assert events.feed(b"id\ndata: x\n\n") == [Event(b"x", id="")]
    assert events.last_event_id == ""


@pytest.mark.parametrize(
    ("text", "retry"),
    [(b"500", 500), (b"0", 0), (b"-1", None), (b"1.5", None), (b"", None), (b"\xd9\xa3", None), (b"9" * 5000, None)],
)
def test_a_retry_has_digits_only(text: bytes, retry: int | None) -> None:
    events = Events()
    events.feed(b"retry: " + text + b"\n")

    assert events.retry == retry


def test_an_unknown_field_means_nothing() -> None:
    assert events_of(b"dat: 1\n data: 2\nfoo\nDATA: 3\ndata : 4\n\ndata: 5\n\n") == [Event(b"5")]


def test_bytes_that_are_no_utf8_are_replaced_in_names_and_kept_in_data() -> None:
    assert events_of(b"id: \xff\nevent: \xfe\ndata: \xfd\n\n") == [Event(b"\xfd", "\ufffd", "\ufffd")]


def test_an_event_without_its_blank_line_is_dropped_at_the_end() -> None:
    events = Events()

    assert events.feed(b"data: 1\n\ndata: 2\n") == [Event(b"1")]
    events.end()
    assert events.feed(b"\n") == []


def test_an_event_above_the_limit_fails_the_stream_for_good() -> None:
    events = Events(max_event=20)

    with pytest.raises(RemoteProtocolError, match="longer than 20 bytes"):
        events.feed(b"data: 12345\ndata: 67890\n")
    with pytest.raises(RemoteProtocolError, match="longer than 20 bytes"):
        events.feed(b"\n\ndata: 1\n\n")
    with pytest.raises(RemoteProtocolError, match="longer than 20 bytes"):
        events.end()


def test_what_was_complete_before_the_failure_is_returned_first() -> None:
    events = Events(max_event=20)

    assert events.feed(b"id: 1\ndata: {}\n\ndata: " + b"x" * 30) == [Event(b"{}", id="1")]
    with pytest.raises(RemoteProtocolError):
        events.feed(b"")
    assert events.last_event_id == "1"


def test_the_limit_is_of_one_event_not_of_the_stream() -> None:
    events = Events(max_event=20)

    assert len(events.feed(b"data: 12345\n\n" * 50)) == 50
    assert events.feed(b": keep-alive\n" * 50 + b"id: 12345\n" * 50 + b"data: 1234567890abcd\n\n") == [
        Event(b"1234567890abcd", id="12345")
    ]


def test_memory_stays_bounded_by_the_limit() -> None:
    """64 MiB of one line, and of short lines of one event, against a limit of 1 MiB."""
    for chunk in (b"x" * 65536, b"data\n" * 13107):
        events, failures = Events(1024 * 1024), 0
        tracemalloc.start()
        for _ in range(1024):
            try:
                events.feed(chunk)
            except RemoteProtocolError:
                failures += 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert failures > 900
        assert peak < 16 * 1024 * 1024


@pytest.mark.parametrize(("size", "chunk"), [(1 << 18, 1), (8 << 20, 1 << 16), (8 << 20, 9 << 20)])
def test_a_big_event_in_chunks_of_any_size(size: int, chunk: int) -> None:
    """Were the bytes joined anew for each chunk, the first of these would take minutes."""
    data = event(b"x" * size)

    assert events_of(*(data[at : at + chunk] for at in range(0, len(data), chunk))) == [Event(b"x" * size)]


pieces = st.lists(
    st.sampled_from(
        [
            MARK,
            b"\n",
            b"\r",
            b"\r\n",
            b"data: ",
            b"data",
            b":",
            b"id: 7",
            b"id: 8\0",
            b"retry: 5",
            b"event: e",
            b"x" * 9,
        ]
    )
)


@given(
    data=pieces.map(b"".join) | st.binary(), cuts=st.lists(st.integers(0, 200)), limit=st.sampled_from([12, 25, 999])
)
@example(data=MARK + b"data: 1\r\n\r\n", cuts=[1, 2, 3, 4, 10, 11, 12, 13], limit=999)
@example(data=b"data: 1\n\ndata: " + b"x" * 30, cuts=[9, 20], limit=12)
def test_any_chunking_gives_the_same_events(data: bytes, cuts: list[int], limit: int) -> None:
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:stop] for start, stop in pairwise(edges)]

    assert outcome(chunks, limit) == outcome([data], limit)


printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)
lines = st.binary().filter(lambda data: not {10, 13} & set(data))


@given(st.lists(st.builds(Event, lines, st.just("message") | printable, st.none() | printable)))
def test_what_is_written_reads_the_same(written: list[Event]) -> None:
    stream = b"".join(event(each.data, id=each.id, event=each.event) for each in written)

    assert events_of(stream) == written


@given(st.lists(lines, min_size=1))
def test_what_is_joined_reads_as_its_frames(frames: list[bytes]) -> None:
    assert [each.data for each in events_of(join(frames))] == frames
