"""`Outbox`: never waits for whoever sends, and has an end."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.jsonrpc.outbox import Outbox


def never() -> None:
    pytest.fail("overflowed")


async def test_frames_are_taken_in_order_all_at_once() -> None:
    outbox = Outbox(never)
    outbox.send(b"1")
    outbox.send(b"2")

    assert await outbox.take() == [b"1", b"2"]


async def test_take_waits_for_the_first_frame() -> None:
    outbox = Outbox(never)
    taken: list[list[bytes]] = []

    async def take() -> None:
        taken.append(await outbox.take())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            assert taken == []
            outbox.send(b"1")
            outbox.send(b"2")
    assert taken == [[b"1", b"2"]]


async def test_take_that_was_cancelled_loses_nothing() -> None:
    outbox = Outbox(never)
    with anyio.move_on_after(1):
        await outbox.take()
    outbox.send(b"1")

    assert await outbox.take() == [b"1"]


async def test_full_until_what_was_taken_is_written() -> None:
    """Bytes that are being written still wait: the other side has not taken them."""
    outbox = Outbox(never, high_water=3)
    outbox.send(b"123")
    assert not outbox.full
    outbox.send(b"4")
    assert outbox.full
    await outbox.take()
    assert outbox.full

    async with anyio.create_task_group() as group:
        group.start_soon(outbox.take)  # the last batch is written
        with anyio.fail_after(20):
            await outbox.ready()
        assert not outbox.full
        group.cancel_scope.cancel()


async def test_everybody_who_waits_for_room_is_woken_and_looks_again() -> None:
    outbox = Outbox(never, high_water=1)
    passed: list[int] = []
    written: list[int] = []

    async def produce(number: int) -> None:
        await outbox.ready()
        outbox.send(b"12")  # fills it up again
        passed.append(number)

    async def write() -> None:
        while True:
            written.append(len(await outbox.take()))
            await anyio.wait_all_tasks_blocked()
            assert len(passed) == len(written) - 1

    outbox.send(b"12")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(produce, number)
            group.start_soon(write)
            while len(written) < 6:
                await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert sorted(passed) == [0, 1, 2, 3, 4]
    assert written == [1] * 6


async def test_overflow_closes_once_and_drops_what_waits() -> None:
    overflows: list[bool] = []
    outbox = Outbox(lambda: overflows.append(outbox.full), max_pending=10)

    for _ in range(5):
        outbox.send(b"12345")
    assert overflows == [False]
    with anyio.move_on_after(1) as scope:
        await outbox.take()
    assert scope.cancelled_caught  # nothing is left to be written


async def test_overflow_counts_what_is_being_written() -> None:
    overflows: list[bool] = []
    outbox = Outbox(lambda: overflows.append(True), max_pending=10)
    outbox.send(b"12345678")
    await outbox.take()

    outbox.send(b"123")

    assert overflows == [True]


async def test_close_wakes_whoever_waits_for_room_or_for_the_end() -> None:
    """B100: and what is sent after it is dropped."""
    outbox = Outbox(never, high_water=0)
    outbox.send(b"1")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(outbox.ready)
            group.start_soon(outbox.flushed)
            await anyio.wait_all_tasks_blocked()
            outbox.close()
            outbox.close()
    outbox.send(b"2")

    assert not outbox.full
    await outbox.flushed()


async def test_flushed_when_the_last_batch_is_written() -> None:
    outbox = Outbox(never)
    await outbox.flushed()  # nothing was ever sent
    outbox.send(b"1")
    with anyio.move_on_after(1) as scope:
        await outbox.flushed()
    assert scope.cancelled_caught
    await outbox.take()

    async with anyio.create_task_group() as group:
        group.start_soon(outbox.take)
        with anyio.fail_after(20):
            await outbox.flushed()
        group.cancel_scope.cancel()


@given(st.lists(st.binary(max_size=9) | st.none(), max_size=40))
def test_every_byte_is_counted_in_and_out(steps: list[bytes | None]) -> None:
    """None stands for a turn of the write loop."""

    async def play() -> None:
        outbox = Outbox(never, high_water=20)
        sent: list[bytes] = []
        out: list[bytes] = []
        batch: list[bytes] = []
        for step in steps:
            if step is not None:
                sent.append(step)
                outbox.send(step)
            elif len(out) < len(sent):
                batch = await outbox.take()
                out += batch
            waiting = b"".join(sent[len(out) :]) + b"".join(batch)
            assert outbox.full == (len(waiting) > 20)
        if len(out) < len(sent):
            out += await outbox.take()
        assert out == sent

    anyio.run(play)
