"""What has arrived and waits for the engine."""

from __future__ import annotations

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp.transport import Asking, Received, Undelivered
from dedalus_mcp_transports.http_inbox import MAX_WAITING, MAX_WAITING_BYTES, Inbox


async def test_items_come_out_in_order_all_at_once() -> None:
    inbox, lost = Inbox(), Undelivered(1, ValueError())
    inbox.put([b"a", b"b"])
    inbox.put([])
    inbox.put([lost])

    assert await inbox.take() == [b"a", b"b", lost]


async def test_whoever_asks_a_person_says_so_and_says_when_it_is_done() -> None:
    inbox = Inbox()

    with inbox.asking():
        assert await inbox.take() == [Asking(begins=True)]

    assert await inbox.take() == [Asking(begins=False)]


async def test_taking_waits_for_items() -> None:
    inbox, taken = Inbox(), list[Received]()

    async def take() -> None:
        taken.extend(await inbox.take())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await wait_all_tasks_blocked()
            inbox.put([b"a"])

    assert taken == [b"a"]


@pytest.mark.parametrize("items", [[b""] * MAX_WAITING, [b"x" * MAX_WAITING_BYTES]], ids=["many", "big"])
@pytest.mark.parametrize("closes", [False, True])
async def test_a_full_inbox_lets_its_writers_wait_until_it_is_taken_or_closed(items: list[bytes], closes: bool) -> None:
    inbox = Inbox()
    inbox.put(items)
    assert inbox.full

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(inbox.ready)
            await wait_all_tasks_blocked()
            if closes:
                inbox.close()
            else:
                await inbox.take()

    assert not inbox.full


async def test_a_closed_inbox_takes_and_gives_nothing() -> None:
    inbox = Inbox()
    inbox.put([b"a"])
    inbox.close()
    inbox.close()
    inbox.put([b"b"])

    with pytest.raises(anyio.ClosedResourceError):
        await inbox.take()


async def test_closing_wakes_the_reader() -> None:
    inbox = Inbox()

    async def take() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await inbox.take()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await wait_all_tasks_blocked()
            inbox.close()


async def test_a_reader_that_is_cancelled_takes_nothing() -> None:
    inbox = Inbox()
    inbox.put([b"a"])
    with anyio.CancelScope() as scope:
        scope.cancel()
        await inbox.take()

    assert await inbox.take() == [b"a"]


async def test_what_has_ended_is_taken_to_the_last_item_and_then_says_why() -> None:
    inbox = Inbox()
    inbox.put([b"1"])
    inbox.end("the stream broke")

    assert await inbox.take() == [b"1"]
    with pytest.raises(anyio.BrokenResourceError, match="the stream broke"):
        await inbox.take()


async def test_an_end_wakes_who_waits() -> None:
    inbox = Inbox()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(end_soon, inbox)
            with pytest.raises(anyio.BrokenResourceError):
                await inbox.take()


async def end_soon(inbox: Inbox) -> None:
    await anyio.wait_all_tasks_blocked()
    inbox.end("over")
