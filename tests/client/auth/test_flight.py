"""One piece of work for all who need it at the same time."""

from __future__ import annotations

import traceback

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp.client.auth.flight import Flight


class Work:
    """Work that is done when it is let."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = anyio.Event()
        self.fails = False

    async def __call__(self) -> int:
        self.begun += 1
        await self.go.wait()
        if self.fails:
            raise ValueError("no")
        return self.begun


async def test_those_who_come_meanwhile_share_the_result() -> None:
    flight, work = Flight[int](), Work()
    results: list[int] = []

    async def run() -> None:
        results.append(await flight.run(work))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(run)
        await wait_all_tasks_blocked()
        work.go.set()

    assert results == [1] * 5
    assert await flight.run(work) == 2


async def test_those_who_come_meanwhile_share_the_failure() -> None:
    flight, work = Flight[int](), Work()
    work.fails = True
    failures: list[str] = []

    async def run() -> None:
        with pytest.raises(ValueError, match="no") as caught:
            await flight.run(work)
        failures.append(str(caught.value))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(run)
        await wait_all_tasks_blocked()
        work.go.set()

    assert failures == ["no"] * 5
    assert work.begun == 1
    work.fails = False
    assert await flight.run(work) == 2


async def test_an_error_of_many_tells_each_of_them_what_happened_once() -> None:
    """Not where all the others raised it: a log of a hundred calls would have ten thousand lines of that."""
    flight, work = Flight[int](), Work()
    work.fails = True
    lengths: list[int] = []

    async def run() -> None:
        try:
            await flight.run(work)
        except ValueError as error:
            lengths.append(len(list(traceback.walk_tb(error.__traceback__))))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(run)
        await wait_all_tasks_blocked()
        work.go.set()

    assert len(lengths) == 50
    assert max(lengths) <= 5


async def test_one_of_those_who_wait_takes_over_where_the_first_is_cancelled() -> None:
    flight, work = Flight[int](), Work()
    scopes = [anyio.CancelScope() for _ in range(5)]
    results: list[int] = []
    at_work: list[anyio.CancelScope] = []

    async def run(scope: anyio.CancelScope) -> None:
        async def lead() -> int:
            at_work.append(scope)
            return await work()

        with scope:
            results.append(await flight.run(lead))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for scope in scopes:
                group.start_soon(run, scope)
            await wait_all_tasks_blocked()
            for number in range(3):
                assert work.begun == len(at_work) == number + 1
                at_work[-1].cancel()
                await wait_all_tasks_blocked()
            work.go.set()

    assert results == [4, 4]


async def test_whoever_waits_may_leave() -> None:
    flight, work = Flight[int](), Work()
    results: list[int] = []

    async def run() -> None:
        results.append(await flight.run(work))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await wait_all_tasks_blocked()
        with anyio.move_on_after(0):
            await flight.run(work)
        work.go.set()

    assert results == [1]
