"""`Delivery`: one callback, in order, bounded; `Deliveries`: all of them, ended with their client."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from msgspec import UNSET, Raw

from dedalus_mcp.client.delivery import MAX_WAITING, Deliveries, Delivery, hearing
from dedalus_mcp.types.methods import RESOURCES_UPDATED


async def test_values_are_delivered_in_order_and_not_where_they_are_heard() -> None:
    heard: list[int] = []
    delivery = Delivery(heard.append, Deliveries())

    for value in range(100):
        delivery.put(value)

    assert heard == []
    await wait_all_tasks_blocked()
    assert heard == list(range(100))


async def test_a_slow_callback_hears_one_value_at_a_time() -> None:
    heard: list[int] = []
    may_go = anyio.Event()

    async def hear(value: int) -> None:
        heard.append(value)
        await may_go.wait()
        heard.append(value)

    delivery = Delivery(hear, Deliveries())
    delivery.put(1)
    delivery.put(2)
    await wait_all_tasks_blocked()
    assert heard == [1]
    may_go.set()
    await wait_all_tasks_blocked()

    assert heard == [1, 1, 2, 2]


async def test_a_failing_callback_is_logged_and_hears_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def hear(value: int) -> None:
        heard.append(value)
        raise KeyError(value)

    delivery = Delivery(hear, Deliveries())
    delivery.put(1)
    delivery.put(2)
    await wait_all_tasks_blocked()

    assert heard == [1, 2]
    assert len(caplog.records) == 2
    assert "hear failed" in caplog.records[0].getMessage()
    assert caplog.records[0].exc_info is not None


def raising(error: BaseException) -> Any:
    async def hear(value: int) -> None:
        raise error

    return hear


async def await_what_is_cancelled(value: int) -> None:
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        raise SystemExit  # only asyncio has tasks that anybody may cancel
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


@pytest.mark.parametrize(
    "fail",
    [
        raising(SystemExit(1)),
        raising(BaseExceptionGroup("several", [SystemExit(1), KeyError()])),
        await_what_is_cancelled,
    ],
    ids=["exit", "group", "cancelled"],
)
async def test_whatever_leaves_a_callback_is_the_end_of_neither_it_nor_the_program(
    fail: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """B011, B076: it is logged, and what waits is heard."""
    heard: list[int] = []

    async def hear(value: int) -> None:
        heard.append(value)
        await fail(value)

    delivery = Delivery(hear, Deliveries())
    for value in range(3):
        delivery.put(value)
    await wait_all_tasks_blocked()

    assert heard == [0, 1, 2]
    assert len(caplog.records) == 3


async def test_the_newest_are_kept_for_a_callback_that_is_too_slow(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "dedalus_mcp")
    heard: list[int] = []
    delivery = Delivery(partial(heard.append), Deliveries())

    for value in range(MAX_WAITING + 3):
        delivery.put(value)
    await wait_all_tasks_blocked()

    assert heard == list(range(3, MAX_WAITING + 3))
    assert len(caplog.records) == 1  # said once, not for each
    assert "too slow" in caplog.text


async def test_nothing_runs_while_nothing_is_delivered() -> None:
    deliveries = Deliveries()
    delivery: Delivery[int] = Delivery(lambda value: None, deliveries)

    delivery.put(1)
    assert len(deliveries) == 1
    await wait_all_tasks_blocked()
    await checkpoint()
    assert len(deliveries) == 0
    delivery.put(2)
    await wait_all_tasks_blocked()
    await checkpoint()
    assert len(deliveries) == 0


async def test_closing_ends_a_callback_that_would_never_return() -> None:
    cleaned_up = anyio.Event()

    async def hear(value: int) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cleaned_up.set()

    deliveries = Deliveries()
    Delivery(hear, deliveries).put(1)
    await wait_all_tasks_blocked()
    with anyio.fail_after(20):
        await deliveries.close()

    assert cleaned_up.is_set()
    assert len(deliveries) == 0


async def test_closing_ends_a_callback_that_has_not_begun() -> None:
    heard: list[int] = []

    async def hear(value: int) -> None:
        await checkpoint()
        heard.append(value)

    deliveries = Deliveries()
    Delivery(hear, deliveries).put(1)
    with anyio.fail_after(20):
        await deliveries.close()

    assert heard == []
    assert len(deliveries) == 0


async def test_a_callback_may_close_and_goes_on() -> None:
    went_on = anyio.Event()
    deliveries = Deliveries()

    async def hear(value: int) -> None:
        await deliveries.close()
        await checkpoint()
        went_on.set()

    Delivery(hear, deliveries).put(1)
    with anyio.fail_after(20):
        await went_on.wait()


async def test_closing_waits_only_so_long_for_a_callback_that_swallows_its_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dedalus_mcp.client.delivery.CLOSING_SECONDS", 0.01)
    may_go = anyio.Event()

    async def hear(value: int) -> None:
        with anyio.CancelScope(shield=True):
            await may_go.wait()

    deliveries = Deliveries()
    Delivery(hear, deliveries).put(1)
    await wait_all_tasks_blocked()
    with anyio.fail_after(20):
        await deliveries.close()
    assert len(deliveries) == 1

    may_go.set()
    await wait_all_tasks_blocked()
    await checkpoint()
    assert len(deliveries) == 0


async def test_a_bad_notice_is_dropped_and_the_next_one_is_heard(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    hear = hearing(RESOURCES_UPDATED, Delivery(heard.append, Deliveries()))
    for params in (Raw(b'{"uri":7}'), UNSET, Raw(b"[" * 100_000), Raw(b'{"uri":"a://b"}')):
        hear(params)
    await wait_all_tasks_blocked()

    assert [each.uri for each in heard] == ["a://b"]
    assert caplog.text.count("dropped a bad notifications/resources/updated") == 3
