"""What is kept of cancellations that came before their calls, and for how long."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from dedalus_mcp.jsonrpc.codec import Decoded, decode
from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp_transports.http_early import KEPT_SECONDS, MAX_ID, MAX_KEPT, EarlyCancellations

CANCELLED = "notifications/cancelled"


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def message(*items: dict[str, Any]) -> Decoded:
    whole = [{"jsonrpc": "2.0", **item} for item in items]
    return decode(json.dumps(whole if len(whole) > 1 else whole[0]).encode())


def cancellation(id: Any) -> dict[str, Any]:
    return {"method": CANCELLED, "params": {"requestId": id}}


def call(id: RequestId, method: str = "ping") -> dict[str, Any]:
    return {"id": id, "method": method}


def hear(early: EarlyCancellations, session: str, ids: Iterable[Any], running: tuple[RequestId, ...] = ()) -> None:
    for id in ids:
        early.hear(session, message(cancellation(id)), running.__contains__)


def is_wanted(early: EarlyCancellations, session: str, id: RequestId, method: str = "ping") -> bool:
    return early.wanted(session, message(call(id, method))) is not None


def test_a_call_that_was_cancelled_before_it_came_is_not_wanted_the_one_time() -> None:
    early = EarlyCancellations()
    hear(early, "s", [1])

    assert [is_wanted(early, "s", 1) for _ in range(2)] == [False, True]
    assert len(early) == 0


def test_what_is_sifted_is_heard_only_where_it_holds_no_call() -> None:
    early = EarlyCancellations()
    nothing_runs = ().__contains__
    beside_a_call = message(cancellation(1), call(2))

    assert early.sift("s", beside_a_call, nothing_runs) is beside_a_call
    assert len(early) == 0
    early.sift("s", message(cancellation(1)), nothing_runs)
    assert early.sift("s", message(call(1)), nothing_runs) is None


def test_a_cancellation_whose_call_runs_is_not_kept() -> None:
    early = EarlyCancellations()
    hear(early, "s", [1, 2], running=(1,))

    assert [is_wanted(early, "s", id) for id in (1, 2)] == [True, False]


def test_nobody_cancels_the_calls_of_another_session_nor_those_with_another_id() -> None:
    early = EarlyCancellations()
    hear(early, "s", [1])

    assert [is_wanted(early, *key) for key in (("t", 1), ("s", "1"), ("s", 2))] == [True] * 3


def test_a_handshake_is_never_cancelled() -> None:
    """B046, LIFE-10."""
    early = EarlyCancellations()
    hear(early, "s", [0])

    assert is_wanted(early, "s", 0, "initialize")


def test_one_that_was_late_ends_no_call_that_comes_much_later() -> None:
    time = Time()
    early = EarlyCancellations(time)
    hear(early, "s", [1, 2])
    time.now = KEPT_SECONDS - 0.01
    hear(early, "s", [3])
    at_last_moment = is_wanted(early, "s", 1)
    time.now = KEPT_SECONDS

    assert not at_last_moment
    assert is_wanted(early, "s", 2)
    assert len(early) == 1
    assert not is_wanted(early, "s", 3)


def test_one_that_comes_again_is_kept_as_the_newer_one() -> None:
    time = Time()
    early = EarlyCancellations(time)
    hear(early, "s", [1])
    time.now = KEPT_SECONDS - 1
    hear(early, "s", [1])
    time.now = KEPT_SECONDS + 1

    assert not is_wanted(early, "s", 1)


def test_a_flood_drives_out_the_oldest() -> None:
    early = EarlyCancellations()
    hear(early, "s", range(MAX_KEPT + 1))

    assert len(early) == MAX_KEPT
    assert [is_wanted(early, "s", id) for id in (0, 1, MAX_KEPT)] == [True, False, False]


def test_an_id_that_takes_much_room_is_not_kept() -> None:
    early = EarlyCancellations()
    hear(early, "s", ["x" * MAX_ID, "x" * (MAX_ID + 1)])

    assert len(early) == 1
    assert is_wanted(early, "s", "x" * (MAX_ID + 1))


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}])
def test_nothing_is_kept_of_what_names_no_call(params: Any) -> None:
    """CANC-11."""
    early = EarlyCancellations()
    early.hear("s", message({"method": CANCELLED, "params": params}), lambda _: False)

    assert len(early) == 0


def test_of_a_batch_only_what_was_cancelled_is_left_out() -> None:
    early = EarlyCancellations()
    early.hear("s", message(cancellation(1), cancellation(3), cancellation(4)), lambda _: False)
    batch = message(call(1), call(2), {"method": "notifications/initialized"})
    left = early.wanted("s", batch)

    assert isinstance(batch, list)
    assert left == batch[1:]
    assert early.wanted("s", message(call(3), call(4))) is None


def test_what_has_nothing_cancelled_in_it_is_left_as_it_is() -> None:
    early = EarlyCancellations()
    hear(early, "s", [1])
    for each in (message(call(2), call(3)), message(cancellation(1)), message({"id": 1, "result": {}}), decode(b"{")):
        assert early.wanted("s", each) is each
    assert len(early) == 1
