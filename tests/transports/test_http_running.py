"""What runs without a session is found again, by those whose it is."""

from __future__ import annotations

import pytest

from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp_transports.http_running import Running, TooManyCalls


def opened(running: Running[str], value: str, owner: str | None, session: str | None, *ids: RequestId) -> str:
    mark = running.mark()
    running.open(mark, value, owner, session, ids)
    return mark


def test_a_reply_is_found_by_the_mark_of_its_question() -> None:
    running = Running[str](10)
    marks = [opened(running, value, None, None) for value in "ab"]

    assert [running.asked(f"{mark}7", None) for mark in marks] == ["a", "b"]


@pytest.mark.parametrize("id", [None, 1, "", "1", ".", "x.y.1", "é.1"])
def test_the_reply_to_no_question_finds_nothing(id: RequestId | None) -> None:
    running = Running[str](10)
    opened(running, "a", None, None)

    assert running.asked(id, None) is None
    assert not running.is_from_here(id)


def test_a_question_is_its_owners_alone() -> None:
    running = Running[str](10)
    by = {owner: opened(running, repr(owner), owner, None) for owner in (None, "", "alice")}

    for owner, mark in by.items():
        assert running.asked(f"{mark}1", owner) == repr(owner)
        assert all(running.asked(f"{mark}1", other) is None for other in by if other != owner)


def test_marks_are_random_and_tell_their_process() -> None:
    here, elsewhere = Running[str](10), Running[str](10)
    marks = {here.mark() for _ in range(100)}

    assert len(marks) == 100
    assert all(len(mark) > 24 and here.is_from_here(f"{mark}1") for mark in marks)
    assert not here.is_from_here(f"{elsewhere.mark()}1")


def test_a_call_is_found_by_its_session_and_id() -> None:
    running = Running[str](10)
    opened(running, "a", None, "s", 1, "b")
    opened(running, "b", None, "t", 1)

    assert [running.called("s", 1), running.called("s", "b"), running.called("t", 1)] == ["a", "a", "b"]
    assert [running.called("s", "1"), running.called("s", 2), running.called("u", 1)] == [None, None, None]


def test_a_call_without_a_session_is_found_by_nobody() -> None:
    running = Running[str](10)
    opened(running, "a", None, None, 1)

    assert running.called(None, 1) is None


def test_an_id_in_use_stays_that_of_the_first_call() -> None:
    running = Running[str](10)
    first, second = opened(running, "first", None, "s", 1), opened(running, "second", None, "s", 1)
    running.close(second)

    assert running.called("s", 1) == "first"
    running.close(first)
    assert running.called("s", 1) is None


def test_what_is_closed_is_forgotten() -> None:
    running = Running[str](10)
    mark = opened(running, "a", None, "s", 1, 2)
    running.close(mark)
    running.close(mark)

    assert (len(running), running.asked(f"{mark}1", None), running.called("s", 1)) == (0, None, None)
    assert running.is_from_here(f"{mark}1")  # so a late reply is known as one


def test_one_too_many_is_refused_until_one_is_over() -> None:
    running = Running[str](2)
    first, _ = opened(running, "a", None, None), opened(running, "b", None, None)

    with pytest.raises(TooManyCalls, match="2 are running") as raised:
        running.mark()
    assert raised.value.limit == 2
    running.close(first)
    assert running.mark()


def test_all_of_them_are_let_go_at_the_end() -> None:
    running = Running[str](10)
    opened(running, "a", None, "s", 1)
    opened(running, "b", None, None)

    assert running.values == ["a", "b"]
    assert running.clear() == ["a", "b"]
    assert (len(running), running.called("s", 1)) == (0, None)
