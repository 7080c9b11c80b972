"""`Exchange`: correlation both ways, with no event loop in sight."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ConnectionLost, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.exchange import MAX_REMEMBERED, Exchange, Stray

Books: TypeAlias = Exchange[str, object]


def books(*, max_open: int = 100, max_running: int = 100) -> Books:
    return Exchange(max_open=max_open, max_running=max_running)


# Our calls.


def test_ids_count_from_one() -> None:
    """RPC-04, RPC-05: never 0, which some peers take for null, and never one twice."""
    exchange = books()

    assert [exchange.open("w") for _ in range(3)] == [1, 2, 3]


def test_reply_settles_the_call_it_names() -> None:
    exchange = books()
    exchange.open("first")
    exchange.open("second")

    assert exchange.settle(2) == "second"
    assert exchange.settle(1) == "first"
    assert exchange.waiters == []


def test_reply_with_our_id_as_its_decimal_string_settles_the_call() -> None:
    """B002."""
    exchange = books()
    exchange.open("w")

    assert exchange.settle("1") == "w"


def test_ids_with_a_mark_are_of_use_with_it_alone() -> None:
    exchange: Books = Exchange(max_open=10, max_running=10, mark="m.")
    ids = [exchange.open(waiter) for waiter in "abc"]

    assert ids == ["m.1", "m.2", "m.3"]
    assert exchange.settle("m.2") == "b"
    assert [exchange.settle(id) for id in (1, "1", "m.", "m.9", "x.1", "m.m.1", None)] == [Stray.UNKNOWN] * 7
    assert [exchange.abandon(id) for id in ("m.1", "m.1", "3", 3)] == [True, False, False, False]
    assert exchange.settle("m.1") is Stray.LATE
    assert exchange.waiters == ["c"]


@pytest.mark.parametrize(
    "id",
    [None, 0, -1, 2, 10**30, "", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "\u0661", "\u00b9", "xyz", "1" * 10_000],
)
def test_reply_to_a_call_never_made_settles_nothing(id: int | str | None) -> None:
    """B002, RPC-31."""
    exchange = books()
    exchange.open("w")

    assert exchange.settle(id) is Stray.UNKNOWN
    assert exchange.waiters == ["w"]


def test_second_reply_is_a_duplicate() -> None:
    exchange = books()
    exchange.open("w")
    exchange.settle(1)

    assert exchange.settle(1) is Stray.DUPLICATE
    assert exchange.settle("1") is Stray.DUPLICATE


def test_reply_after_the_call_was_abandoned_is_late_once() -> None:
    """CANC-09."""
    exchange = books()
    exchange.open("w")

    assert exchange.abandon(1)
    assert exchange.settle(1) is Stray.LATE
    assert exchange.settle(1) is Stray.DUPLICATE


def test_settled_call_is_not_worth_abandoning() -> None:
    """CANC-02, CANC-03: a finished call is never cancelled on the wire."""
    exchange = books()
    exchange.open("w")
    exchange.settle(1)

    assert not exchange.abandon(1)
    assert not exchange.abandon(2)


def test_abandoned_ids_are_remembered_up_to_a_bound() -> None:
    exchange = books()
    for id in range(1, MAX_REMEMBERED + 2):
        exchange.open("w")
        exchange.abandon(id)

    assert exchange.settle(1) is Stray.DUPLICATE  # forgotten: the oldest
    assert exchange.settle(2) is Stray.LATE


def test_one_call_too_many_is_refused_and_takes_no_id() -> None:
    exchange = books(max_open=1)
    exchange.open("w")

    with pytest.raises(LocalProtocolError, match="1 are open already"):
        exchange.open("one too many")
    exchange.settle(1)
    assert exchange.open("w") == 2


# Their calls.


def test_id_of_a_running_call_is_refused_and_the_call_goes_on() -> None:
    """B004, B005: 0 and the empty string are ids like any other."""
    for id in (7, 0, ""):
        exchange, first, second = books(), object(), object()
        exchange.accept(id, first)

        with pytest.raises(McpError, match="still running") as refused:
            exchange.accept(id, second)
        assert refused.value.code == INVALID_REQUEST
        assert exchange.cancel(id) is first


def test_refusal_repeats_a_long_id_in_short() -> None:
    exchange = books()
    exchange.accept("x" * 10_000, object())

    with pytest.raises(McpError) as refused:
        exchange.accept("x" * 10_000, object())
    assert len(refused.value.message) < 200


def test_id_is_free_again_when_its_call_is_finished() -> None:
    """B004."""
    exchange, first, second = books(), object(), object()
    exchange.accept(7, first)
    exchange.finish(7, first)
    exchange.accept(7, second)

    assert exchange.busy == 1


def test_number_and_its_string_are_two_calls() -> None:
    """B008."""
    exchange, number, string = books(), object(), object()
    exchange.accept(1, number)
    exchange.accept("1", string)

    assert exchange.cancel("1") is string
    assert exchange.cancel(1) is number


def test_a_call_runs_until_it_is_finished_or_cancelled() -> None:
    exchange, run = books(), object()
    exchange.accept(1, run)
    for id in ("1", 2):
        exchange.accept(id, object())
    exchange.finish(1, run)
    exchange.cancel(2)

    assert [exchange.runs(id) for id in (1, "1", 2, 3)] == [False, True, False, False]


def test_our_own_call_is_under_way_too_until_it_is_settled() -> None:
    exchange = books()
    id = exchange.open("waiter")

    assert exchange.runs(id)
    exchange.settle(id)
    assert not exchange.runs(id)


def test_id_of_a_cancelled_call_is_free_while_its_handler_cleans_up() -> None:
    """B004: and the end of the old call leaves the new one alone."""
    exchange, old, new = books(), object(), object()
    exchange.accept(7, old)
    exchange.cancel(7)
    exchange.accept(7, new)
    exchange.finish(7, old)

    assert exchange.busy == 1
    assert exchange.cancel(7) is new


@pytest.mark.parametrize("id", [None, 8, "7"])
def test_cancelling_what_does_not_run_does_nothing(id: int | str | None) -> None:
    """CANC-08, CANC-11."""
    exchange = books()
    exchange.accept(7, object())

    assert exchange.cancel(id) is None


def test_calls_that_are_ending_count_as_running() -> None:
    """Otherwise call and cancel in turn would start handlers without bound."""
    exchange, run = books(max_running=1), object()
    exchange.accept(7, run)
    exchange.cancel(7)

    with pytest.raises(McpError, match="1 are running") as refused:
        exchange.accept(8, object())
    assert refused.value.code == INTERNAL_ERROR
    exchange.finish(7, run)
    exchange.accept(8, object())


def test_calls_that_others_wait_for_are_taken_beyond_the_bound_up_to_twice_that() -> None:
    exchange = books(max_running=1)
    exchange.accept(1, object())
    assert exchange.full

    exchange.accept(2, object(), beyond=True)
    with pytest.raises(McpError, match="1 are running"):
        exchange.accept(3, object(), beyond=True)


# The end.


def test_lost_exchange_refuses_calls_both_ways_and_lets_theirs_go_on() -> None:
    exchange, run = books(), object()
    exchange.open("w")
    exchange.accept(7, run)

    assert exchange.lose("they left") == ["w"]
    assert exchange.lose("again") == []
    with pytest.raises(ConnectionLost, match="they left"):
        exchange.open("w")
    with pytest.raises(ConnectionLost, match="they left"):
        exchange.accept(8, object())
    assert exchange.busy == 1


def test_close_hands_back_every_waiter_and_run_once() -> None:
    exchange, run = books(), object()
    exchange.open("w")
    exchange.accept(7, run)

    assert exchange.close("closed") == (["w"], [run])
    assert exchange.close("closed") == ([], [])
    assert exchange.busy == 1  # until it has cleaned up
    assert exchange.finish(7, run)
    assert not exchange.finish(7, run)
    assert exchange.busy == 0


# The promises, under any interleaving.

Step: TypeAlias = tuple[str, int]
steps_of = st.lists(
    st.tuples(st.sampled_from(["open", "settle", "settle string", "abandon", "lose", "close"]), st.integers(0, 9)),
    max_size=60,
)


@given(steps_of)
def test_every_call_of_ours_has_exactly_one_outcome(steps: list[Step]) -> None:
    exchange = books()
    opened: list[str] = []
    outcomes: Counter[str] = Counter()

    for step, id in steps:
        match step:
            case "open":
                try:
                    opened.append(f"call {exchange.open(f'call {len(opened) + 1}')}")
                except ConnectionLost:
                    opened += []
            case "settle" | "settle string":
                waiter = exchange.settle(id if step == "settle" else str(id))
                outcomes.update([] if isinstance(waiter, Stray) else [waiter])
                assert (waiter is Stray.UNKNOWN) == (not 1 <= id <= len(opened))
            case "abandon":
                outcomes.update([f"call {id}"] if exchange.abandon(id) else [])
            case "lose":
                outcomes.update(exchange.lose("lost"))
            case _:
                outcomes.update(exchange.close("closed")[0])
        assert len(exchange.waiters) == len(opened) - outcomes.total()
    outcomes.update(exchange.close("closed")[0])

    assert outcomes == Counter(opened)


@given(
    st.lists(
        st.tuples(st.sampled_from(["accept", "cancel", "finish", "close"]), st.sampled_from([0, 1, "1", "", 7])),
        max_size=60,
    )
)
def test_every_call_of_theirs_is_ended_at_most_once_and_never_by_another(steps: list[tuple[str, int | str]]) -> None:
    exchange = books(max_running=4)
    going: dict[int | str, object] = {}  # runs that nobody has asked to end
    ending: list[tuple[int | str, object]] = []
    closed = False

    for step, id in steps:
        match step:
            case "accept":
                run = object()
                legal = not closed and id not in going and len(going) + len(ending) < 4
                try:
                    exchange.accept(id, run)
                except (McpError, ConnectionLost):
                    assert not legal
                else:
                    assert legal
                    going[id] = run
            case "cancel":
                run = going.pop(id, None)
                assert exchange.cancel(id) is run
                ending += [] if run is None else [(id, run)]
            case "finish" if ending:
                exchange.finish(*ending.pop(0))
            case "finish" if id in going:
                exchange.finish(id, going.pop(id))
            case "close":
                closed = True
                assert exchange.close("closed")[1] == list(going.values())
                ending += going.items()
                going.clear()
            case _:
                pass
        assert exchange.busy == len(going) + len(ending)


def test_a_run_that_lasts_keeps_its_id_and_takes_no_place() -> None:
    exchange: Exchange[str, str] = Exchange(max_open=1, max_running=1)
    exchange.accept(1, "lasts")
    exchange.release("lasts")
    exchange.accept(2, "runs")

    with pytest.raises(McpError, match="still running"):
        exchange.accept(1, "again")
    with pytest.raises(McpError, match="1 are running"):
        exchange.accept(3, "more")
    assert exchange.lasting == {"lasts"}
    assert exchange.finish(1, "lasts")
    assert not exchange.finish(1, "lasts")
    assert exchange.lasting == frozenset()
    with pytest.raises(McpError, match="1 are running"):
        exchange.accept(3, "more")


def test_a_run_that_lasts_can_be_cancelled_and_closed() -> None:
    exchange: Exchange[str, str] = Exchange(max_open=1, max_running=1)
    for id in ("a", "b"):
        exchange.accept(id, id)
        exchange.release(id)

    assert exchange.cancel("a") == "a"
    assert exchange.close("over") == ([], ["b"])
    assert exchange.finish("a", "a")
    assert exchange.finish("b", "b")
    assert (exchange.busy, exchange.lasting) == (0, frozenset())
