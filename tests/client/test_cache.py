"""`MemoryCache`: bounded, by a clock that it is given."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp import MemoryCache


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_there_until_its_time_is_over_and_not_a_moment_longer() -> None:
    """CACHE-06."""
    clock = Clock()
    cache = MemoryCache(clock=clock)
    cache.put("t", "k", b"1", 10.0)

    clock.now = 9.999
    assert cache.get("t", "k") == b"1"
    clock.now = 10.0
    assert cache.get("t", "k") is None
    assert len(cache) == 0


@pytest.mark.parametrize("ttl", [0.0, -1.0])
def test_what_is_stale_at_once_is_not_kept_and_what_was_there_is_gone(ttl: float) -> None:
    cache = MemoryCache()
    cache.put("t", "k", b"1", 10.0)
    cache.put("t", "k", b"2", ttl)

    assert cache.get("t", "k") is None


def test_a_topic_is_dropped_with_all_its_keys_and_no_other() -> None:
    cache = MemoryCache()
    for topic in ("a", "b"):
        for key in ("", "1"):
            cache.put(topic, key, b"x", 10.0)

    cache.drop("a")
    cache.drop("never there")

    assert [cache.get("a", key) for key in ("", "1")] == [None, None]
    assert [cache.get("b", key) for key in ("", "1")] == [b"x", b"x"]


def test_what_was_used_longest_ago_goes_first() -> None:
    cache = MemoryCache(max_entries=2)
    cache.put("t", "1", b"x", 10.0)
    cache.put("t", "2", b"x", 10.0)
    cache.get("t", "1")
    cache.put("t", "3", b"x", 10.0)

    assert [key for key in "123" if cache.get("t", key) is not None] == ["1", "3"]


def test_one_value_has_a_quarter_of_the_room_at_most() -> None:
    cache = MemoryCache(max_bytes=40)
    cache.put("t", "large", b"x" * 11, 10.0)
    cache.put("t", "small", b"x" * 10, 10.0)

    assert cache.get("t", "large") is None
    assert cache.get("t", "small") is not None


def test_a_cleared_cache_is_empty_and_works() -> None:
    cache = MemoryCache()
    cache.put("t", "k", b"x", 10.0)
    cache.clear()

    assert (len(cache), cache.get("t", "k")) == (0, None)
    cache.put("t", "k", b"y", 10.0)
    assert cache.get("t", "k") == b"y"


def test_threads_may_share_one() -> None:
    cache = MemoryCache(max_entries=5)

    def work(name: str) -> None:
        for number in range(300):
            cache.put(name, str(number % 7), b"x", 10.0)
            cache.get(name, str(number % 5))
            cache.drop(name if number % 11 == 0 else "other")

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(cache) <= 5


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "get", "drop", "wait"]), st.sampled_from("abc"), st.integers(0, 12))
    )
)
def test_nothing_stale_or_dropped_ever_comes_back_and_the_bounds_hold(steps: list[tuple[str, str, int]]) -> None:
    """CACHE-06: whatever is returned is what was put last, within its time."""
    clock = Clock()
    cache = MemoryCache(max_entries=3, max_bytes=40, clock=clock)
    model: dict[str, tuple[bytes, float]] = {}

    for step, topic, number in steps:
        if step == "put":
            value = b"x" * number
            cache.put(topic, "", value, float(number))
            model[topic] = (value, clock.now + number)
        elif step == "drop":
            cache.drop(topic)
            model.pop(topic, None)
        elif step == "wait":
            clock.now += number
        found = cache.get(topic, "")
        assert found is None or (found == model[topic][0] and clock.now < model[topic][1])
        assert len(cache) <= 3
