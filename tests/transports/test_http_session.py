"""`Sessions`: who has one, how long, and how many."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dedalus_mcp_transports.http_session import SessionNotFound, Sessions, SessionsFull


def test_a_session_is_found_by_its_id() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    first, second = sessions.add("first", None, 0), sessions.add("second", "me", 0)

    assert sessions.get(first, None, 1) == "first"
    assert sessions.get(second, "me", 1) == "second"


def test_ids_are_visible_ascii_and_nobody_guesses_them() -> None:
    """HTTP-41, SEC-02."""
    sessions = Sessions[int](max_sessions=1000, idle_seconds=60)
    ids = [sessions.add(number, None, 0) for number in range(1000)]

    assert all(0x21 <= ord(character) <= 0x7E for id in ids for character in id)
    assert len({id[:16] for id in ids}) == len({id[16:] for id in ids}) == 1000
    assert min(map(len, ids)) >= 32  # of 64 characters: 192 bits


@pytest.mark.parametrize("owner", ["you", "", None, "me ", "\ud800", "=me"], ids=ascii)
def test_another_ones_session_is_not_found(owner: str | None) -> None:
    """SEC-02: the id alone opens nothing."""
    sessions = Sessions[int](max_sessions=10, idle_seconds=60)
    id = sessions.add(1, "me", 0)

    with pytest.raises(SessionNotFound) as stranger:
        sessions.get(id, owner, 0)
    with pytest.raises(SessionNotFound) as unknown:
        sessions.get("no such id", "me", 0)
    assert str(stranger.value) == str(unknown.value)
    assert sessions.get(id, "me", 0) == 1


def test_a_session_that_nobody_authenticated_is_not_that_of_an_empty_name() -> None:
    sessions = Sessions[int](max_sessions=10, idle_seconds=60)
    id = sessions.add(1, None, 0)

    with pytest.raises(SessionNotFound):
        sessions.get(id, "", 0)


def test_the_error_says_what_several_workers_need() -> None:
    """B074."""
    with pytest.raises(SessionNotFound, match="session affinity"):
        Sessions[int](1, 1).get("x", None, 0)


def test_an_idle_session_expires() -> None:
    """B068."""
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    id = sessions.add("x", None, 0)

    assert sessions.get(id, None, 59) == "x"  # a use
    assert sessions.expire(118) == []
    with pytest.raises(SessionNotFound):
        sessions.get(id, None, 119)
    assert sessions.expire(119) == ["x"]
    assert sessions.expire(119) == []
    assert len(sessions) == 0


def test_the_longest_unused_expire_first_and_the_used_do_not() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    a, _, _ = sessions.add("a", None, 0), sessions.add("b", None, 1), sessions.add("c", None, 2)
    sessions.get(a, None, 50)

    assert sessions.expire(70) == ["b", "c"]
    assert len(sessions) == 1


def test_a_held_session_stays_until_its_last_hold_is_released() -> None:
    """B068: an open request or stream keeps its session alive."""
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    id = sessions.add("x", None, 0)
    sessions.hold(id)
    sessions.hold(id)

    sessions.release(id, 100)
    assert sessions.expire(1000) == []
    assert sessions.get(id, None, 1000) == "x"
    sessions.release(id, 1000)
    assert sessions.expire(1059) == []
    assert sessions.expire(1060) == ["x"]


def test_only_a_session_that_is_there_can_be_held() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)

    with pytest.raises(SessionNotFound):
        sessions.hold("x")


def test_a_removed_session_is_gone_though_it_is_held() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    idle, held = sessions.add("idle", None, 0), sessions.add("held", None, 0)
    sessions.hold(held)

    assert sessions.remove(held) == "held"
    assert sessions.remove(idle) == "idle"
    assert sessions.remove(idle) is None
    sessions.release(held, 0)  # whoever held it lets go in peace
    assert len(sessions) == 0
    with pytest.raises(SessionNotFound):
        sessions.get(held, None, 0)


def test_one_session_too_many_is_refused() -> None:
    """B068."""
    sessions = Sessions[int](max_sessions=2, idle_seconds=60)
    first = sessions.add(1, None, 0)
    sessions.hold(sessions.add(2, None, 0))

    with pytest.raises(SessionsFull, match="2 are open") as error:
        sessions.add(3, None, 0)
    assert error.value.limit == 2
    sessions.remove(first)
    sessions.add(3, None, 0)


def test_who_was_not_used_for_a_minute_makes_room_for_one_more() -> None:
    """Most clients never end their sessions: newcomers are not refused for half an hour because of those."""
    sessions = Sessions[str](max_sessions=3, idle_seconds=1800)
    held = sessions.add("held", None, 0)
    sessions.hold(held)
    sessions.add("unused", None, 1)
    used = sessions.add("used", None, 2)
    sessions.get(used, None, 30)

    assert sessions.expire(60) == []
    with pytest.raises(SessionsFull):
        sessions.add("early", None, 60)
    assert sessions.expire(61) == ["unused"]
    assert sessions.expire(1000) == []  # there is room now
    sessions.add("new", None, 1000)
    assert sessions.expire(1000) == ["used"]
    assert sessions.get(held, None, 1000) == "held"


def test_closing_returns_all_that_are_open() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    sessions.add("idle", None, 0)
    sessions.hold(sessions.add("held", None, 0))

    assert sessions.close() == ["idle", "held"]
    assert sessions.close() == []
    assert len(sessions) == 0


def test_nothing_is_left_of_sessions_that_ended() -> None:
    """B068."""
    sessions = Sessions[int](max_sessions=10, idle_seconds=60)

    for number in range(1000):
        sessions.remove(sessions.add(number, None, number))
        sessions.add(number, None, number * 60.0)
        assert len(sessions.expire(number * 60.0)) == (number > 0)
    assert len(sessions) == 1


class Model(RuleBasedStateMachine):
    """`Sessions` against the plainest reckoning of the same thing."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Sessions[int](max_sessions=4, idle_seconds=10)
        self.now = 0.0
        self.ids = list[str]()
        self.alive = dict[str, tuple[int, float, int]]()  # value, last use, holds

    def lives(self, id: str) -> bool:
        return id in self.alive and (self.alive[id][2] > 0 or self.now - self.alive[id][1] < 10)

    @rule(seconds=st.integers(0, 7))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def add(self) -> None:
        if len(self.alive) == 4:
            with pytest.raises(SessionsFull):
                self.sessions.add(0, "me", self.now)
            return
        value = len(self.ids)
        self.ids.append(self.sessions.add(value, "me", self.now))
        self.alive[self.ids[-1]] = (value, self.now, 0)

    @rule(which=st.integers(0, 20))
    def get(self, which: int) -> None:
        id = self.ids[which % len(self.ids)] if self.ids else "none"
        if self.lives(id):
            value, _, holds = self.alive[id]
            assert self.sessions.get(id, "me", self.now) == value
            self.alive[id] = (value, self.now, holds)
        else:
            with pytest.raises(SessionNotFound):
                self.sessions.get(id, "me", self.now)

    @rule(which=st.integers(0, 20), step=st.sampled_from([1, -1]))
    def hold_or_release(self, which: int, step: int) -> None:
        living = [id for id in self.alive if self.lives(id) and self.alive[id][2] + step >= 0]
        if living:
            id = living[which % len(living)]
            value, used, holds = self.alive[id]
            if step > 0:
                self.sessions.hold(id)
            else:
                self.sessions.release(id, self.now)
                used = self.now
            self.alive[id] = (value, used, holds + step)

    @rule()
    def expire(self) -> None:
        dead = {id: self.alive[id][0] for id in self.alive if not self.lives(id)}
        assert sorted(self.sessions.expire(self.now)) == sorted(dead.values())
        self.alive = {id: entry for id, entry in self.alive.items() if id not in dead}

    @invariant()
    def count(self) -> None:
        assert len(self.sessions) == len(self.alive) <= 4


Model.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
test_sessions_live_as_long_as_they_are_used_or_held = Model.TestCase


def test_the_next_expiry_is_that_of_the_longest_unused() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=60)
    assert sessions.next_expiry() is None
    first, second = sessions.add("a", None, 100), sessions.add("b", None, 110)

    assert sessions.next_expiry() == 160
    sessions.get(first, None, 120)
    assert sessions.next_expiry() == 170
    sessions.hold(second)
    assert sessions.next_expiry() == 180
    sessions.hold(first)
    assert sessions.next_expiry() is None
    sessions.release(second, 200)
    assert sessions.next_expiry() == 260
