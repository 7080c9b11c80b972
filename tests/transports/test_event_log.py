"""`MemoryEventLog`: what it replays, and what it holds."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp_transports.event_log import Budget, EventLog, EventNotFound, LoggedEvent, MemoryEventLog


def replayed(log: EventLog, id: str) -> list[bytes]:
    return [each.data for each in log.replay(id)[1]]


def test_a_replay_is_what_followed_on_that_stream_alone() -> None:
    """HTTP-35, B085."""
    log = MemoryEventLog()
    ids = [log.append("ab"[number % 2], str(number).encode()) for number in range(6)]

    assert log.replay(ids[0]) == ("a", [LoggedEvent(ids[2], b"2"), LoggedEvent(ids[4], b"4")])
    assert log.replay(ids[5]) == ("b", [])


def test_ids_are_unique_in_the_session_and_tell_their_stream() -> None:
    """HTTP-32, HTTP-33."""
    log = MemoryEventLog(max_streams=1)
    ids = [log.append(stream, b"") for stream in ("a", "b", "a", "a_1", "a")]

    assert len(set(ids)) == 5
    assert log.replay(ids[4])[0] == "a"


@pytest.mark.parametrize("id", ["", "s", "s_", "s_0", "s_9", "s_x", "s_-1", "s_²", "s_" + "9" * 5000, "t_1", "_1"])
def test_an_id_that_was_never_given_is_not_found(id: str) -> None:
    """B085."""
    log = MemoryEventLog()
    log.append("s", b"1")

    with pytest.raises(EventNotFound, match="Last-Event-ID"):
        log.replay(id)


def test_the_id_of_an_event_on_another_stream_is_not_found_here() -> None:
    log = MemoryEventLog()
    log.append("a", b"1")
    log.append("b", b"2")

    with pytest.raises(EventNotFound):
        log.replay("a_2")


def test_a_stream_keeps_its_newest_events() -> None:
    log = MemoryEventLog(max_events=2)
    ids = [log.append("s", str(number).encode()) for number in range(4)]

    assert replayed(log, ids[1]) == [b"2", b"3"]  # dropped itself, but all that followed is there
    with pytest.raises(EventNotFound):
        log.replay(ids[0])


def test_the_stream_that_was_quiet_longest_goes_first() -> None:
    log = MemoryEventLog(max_streams=2)
    first, second = log.append("a", b"1"), log.append("b", b"2")
    log.append("a", b"3")
    log.append("c", b"4")

    assert replayed(log, first) == [b"3"]
    with pytest.raises(EventNotFound):
        log.replay(second)


def test_bytes_are_bounded_over_all_streams() -> None:
    log = MemoryEventLog(max_bytes=10)
    ids = [log.append("a", b"123"), log.append("a", b"456"), log.append("b", b"789"), log.append("b", b"0ab")]

    assert replayed(log, ids[0]) == [b"456"]
    log.append("b", b"x" * 6)
    with pytest.raises(EventNotFound):
        log.replay(ids[1])  # its stream has nothing left
    assert replayed(log, ids[2]) == [b"0ab", b"x" * 6]


def test_an_event_too_large_to_keep_leaves_the_other_streams_alone() -> None:
    log = MemoryEventLog(max_bytes=10)
    here, there = log.append("a", b"1"), log.append("b", b"2")
    log.append("a", b"x" * 11)
    later = log.append("a", b"3")

    assert replayed(log, there) == []
    with pytest.raises(EventNotFound):
        log.replay(here)  # the large one is missing
    assert log.append("a", b"4") != later
    assert replayed(log, later) == [b"4"]


def test_a_large_event_on_a_new_stream_is_not_kept() -> None:
    log = MemoryEventLog(max_bytes=10)

    with pytest.raises(EventNotFound):
        log.replay(log.append("a", b"x" * 11))


appends = st.lists(st.tuples(st.sampled_from("abcd"), st.binary(max_size=8)), max_size=60)


@given(appends, st.integers(1, 4), st.integers(1, 3), st.integers(0, 30))
def test_a_replay_is_exactly_the_missed_tail_or_refused_and_the_bounds_hold(
    appended: list[tuple[str, bytes]], max_events: int, max_streams: int, max_bytes: int
) -> None:
    log = MemoryEventLog(max_events, max_streams, max_bytes)
    sent = list[tuple[str, LoggedEvent]]()
    for stream, data in appended:
        sent.append((stream, LoggedEvent(log.append(stream, data), data)))

        tails = dict[str, list[LoggedEvent]]()
        for index, (name, event) in enumerate(sent):
            try:
                found = log.replay(event.id)
            except EventNotFound:
                assert index < len(sent) - 1 or len(data) > max_bytes  # the newest is there, if it can be
            else:
                assert found == (name, [later for other, later in sent[index + 1 :] if other == name])
                tails.setdefault(name, found[1])
        assert len(tails) <= max_streams
        assert all(len(tail) <= max_events for tail in tails.values())
        assert sum(len(event.data) for tail in tails.values() for event in tail) <= max_bytes


def test_memory_stays_flat_however_much_is_sent() -> None:
    """B085."""
    log = MemoryEventLog(max_events=100, max_streams=10, max_bytes=100_000)
    tracemalloc.start()
    try:
        for number in range(20_000):
            log.append(str(number // 500), bytes(1000 + number % 7))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 400_000


# What several logs share.


def test_logs_that_share_a_budget_hold_no_more_together() -> None:
    budget = Budget(100)
    one, other = MemoryEventLog(budget=budget), MemoryEventLog(budget=budget)
    first = one.append("a", b"x" * 60)
    kept = other.append("b", b"y" * 40)
    assert budget.left == 0

    lost = other.append("b", b"z" * 41)  # its own have to go, and even then there is no room

    assert budget.left == 40
    assert one.replay(first) == ("a", [])
    for id in (kept, lost):
        with pytest.raises(EventNotFound):
            other.replay(id)


def test_a_log_makes_room_of_its_own_and_takes_none_from_others() -> None:
    budget = Budget(100)
    one, other = MemoryEventLog(budget=budget), MemoryEventLog(budget=budget)
    first = one.append("a", b"x" * 50)
    begun = other.append("b", b"")
    ids = [other.append("b", b"y" * 20) for _ in range(4)]

    assert budget.left >= 0
    assert one.replay(first) == ("a", [])
    with pytest.raises(EventNotFound):
        other.replay(begun)
    assert [event.id for event in other.replay(ids[1])[1]] == ids[2:]


def test_a_closed_log_gives_back_what_it_held() -> None:
    budget = Budget(100)
    log = MemoryEventLog(budget=budget)
    id = log.append("a", b"x" * 70)

    log.close()
    log.close()

    assert budget.left == 100
    with pytest.raises(EventNotFound):
        log.replay(id)
