"""`Lifespan`: one life for all users, whoever comes first or goes last."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from dedalus_mcp.server.lifespan import Lifespan

Enter = Callable[[], AbstractAsyncContextManager[int]]


def counting(log: list[str]) -> Enter:
    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        log.append("in")
        number = len(log)  # here, where no other thread has had a turn
        await checkpoint()
        yield number
        await checkpoint()
        log.append("out")

    return enter


async def test_without_a_context_manager_there_is_nothing_to_do() -> None:
    lifespan = Lifespan(None)

    async with lifespan.running() as value:
        assert value is None
        assert lifespan.value is None


async def test_many_users_share_one_life_and_end_it_in_any_order() -> None:
    log: list[str] = []
    lifespan = Lifespan(counting(log))
    first_may_go, second_may_go = anyio.Event(), anyio.Event()

    async def use(may_go: anyio.Event) -> None:
        async with lifespan.running() as value:
            assert value == lifespan.value == 1
            await may_go.wait()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(use, first_may_go)
            group.start_soon(use, second_may_go)
            await wait_all_tasks_blocked()
            first_may_go.set()  # the one that entered goes first
            await wait_all_tasks_blocked()
            assert log == ["in"]
            assert lifespan.value == 1
            second_may_go.set()

    assert log == ["in", "out"]
    assert lifespan.value is None


async def test_a_user_that_comes_while_one_life_ends_waits_for_its_end_and_begins_another() -> None:
    log: list[str] = []
    may_end = anyio.Event()

    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        log.append("in")
        yield len(log)
        await may_end.wait()
        log.append("out")

    lifespan = Lifespan(enter)
    seen: list[int] = []

    async def use() -> None:
        async with lifespan.running():
            await checkpoint()
            seen.append(lifespan.value)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(use)
            await wait_all_tasks_blocked()
            group.start_soon(use)
            group.start_soon(use)
            await wait_all_tasks_blocked()
            assert log == ["in"]
            may_end.set()

    assert log == ["in", "out", "in", "out"]
    assert seen == [1, 3, 3]


async def test_an_error_on_the_way_in_reaches_everybody_who_waited_and_the_next_tries_again() -> None:
    attempts: list[str] = []

    @asynccontextmanager
    async def enter() -> AsyncGenerator[None]:
        attempts.append("in")
        await checkpoint()
        if len(attempts) == 1:
            raise KeyError("no database")
        yield

    lifespan = Lifespan(enter)
    errors: list[str] = []

    async def use() -> None:
        try:
            async with lifespan.running():
                pytest.fail("entered")
        except KeyError as error:
            errors.append(str(error))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(use)
    async with lifespan.running():
        pass

    assert errors == ["'no database'"] * 3
    assert attempts == ["in", "in"]


class Odd(BaseException):
    """Neither an error nor a cancellation."""


errors = pytest.mark.parametrize(
    "error", [KeyError("x"), SystemExit(3), Odd(), BaseExceptionGroup("several", [Odd(), SystemExit(3)])], ids=repr
)


@errors
async def test_whatever_is_raised_on_the_way_in_reaches_the_user_alone(error: BaseException) -> None:
    """B076: nobody is served without what was to be set up, and the program goes on."""

    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        raise error
        yield 1

    with pytest.raises(type(error)) as raised:
        async with Lifespan(enter).running():
            pass
    assert raised.value is error


@errors
async def test_an_error_on_the_way_out_reaches_the_last_user(error: BaseException) -> None:
    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        yield 1
        raise error

    lifespan = Lifespan(enter)

    async def use_twice() -> None:
        async with lifespan.running():
            async with lifespan.running():
                pass
            assert lifespan.value == 1

    with pytest.raises(type(error)) as raised:
        await use_twice()
    assert raised.value is error
    assert lifespan.value is None


async def test_the_users_own_error_comes_out_as_itself() -> None:
    log: list[str] = []

    with pytest.raises(KeyError, match="mine"):
        async with Lifespan(counting(log)).running():
            raise KeyError("mine")
    assert log == ["in", "out"]


async def test_a_life_that_breaks_ends_its_users_at_once_and_the_next_begins_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lives: list[anyio.Event] = []

    async def fail_at(signal: anyio.Event) -> None:
        await signal.wait()
        raise KeyError("lost the database")

    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        lives.append(anyio.Event())
        async with anyio.create_task_group() as group:
            group.start_soon(fail_at, lives[-1])
            yield len(lives)
            group.cancel_scope.cancel()

    lifespan = Lifespan(enter)
    ended: list[BaseException] = []

    async def use() -> None:
        try:
            async with lifespan.running():
                await anyio.sleep_forever()
        except ExceptionGroup as error:
            ended.append(error)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(use)
            group.start_soon(use)
            await wait_all_tasks_blocked()
            lives[0].set()
        assert lifespan.value is None
        async with lifespan.running() as value:
            assert value == lifespan.value == 2

    assert [type(each) for each in ended] == [ExceptionGroup, ExceptionGroup]
    assert "lost the database" in caplog.text
    assert len(caplog.records) == 1


async def test_a_life_that_ends_by_itself_is_broken_too() -> None:
    may_end = anyio.Event()

    @asynccontextmanager
    async def enter() -> AsyncGenerator[None]:
        async with anyio.create_task_group() as group:

            async def end() -> None:
                await may_end.wait()
                group.cancel_scope.cancel()

            group.start_soon(end)
            yield

    async def use() -> None:
        async with Lifespan(enter).running():
            may_end.set()
            await anyio.sleep_forever()

    with anyio.fail_after(20), pytest.raises(RuntimeError, match="the lifespan ended by itself"):
        await use()


async def test_a_generator_that_says_it_is_closed_lets_nobody_in() -> None:
    @asynccontextmanager
    async def enter() -> AsyncGenerator[None]:
        raise GeneratorExit
        yield

    with pytest.raises(RuntimeError, match="the lifespan raised GeneratorExit"):
        async with Lifespan(enter).running():
            pytest.fail("entered")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_wandered_in_is_a_failure_and_no_value() -> None:
    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        connecting = asyncio.ensure_future(anyio.sleep_forever())
        connecting.cancel()
        await connecting
        yield 1

    with pytest.raises(RuntimeError, match="was cancelled"):
        async with Lifespan(enter).running():
            pytest.fail("entered")


async def test_whoever_gives_up_waiting_for_the_way_in_stops_it() -> None:
    ended = anyio.Event()

    @asynccontextmanager
    async def enter() -> AsyncGenerator[None]:
        try:
            await anyio.sleep_forever()
            yield
        finally:
            ended.set()

    lifespan = Lifespan(enter)

    async def use() -> None:
        async with lifespan.running():
            pytest.fail("entered")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(use)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        await ended.wait()
    assert lifespan.value is None


async def test_one_who_gives_up_stops_nothing_for_the_others() -> None:
    may_enter, may_go = anyio.Event(), anyio.Event()
    values: list[int] = []

    @asynccontextmanager
    async def enter() -> AsyncGenerator[int]:
        await may_enter.wait()
        yield 1

    lifespan = Lifespan(enter)

    async def use() -> None:
        async with lifespan.running() as value:
            values.append(value)
            await may_go.wait()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                group.start_soon(use)
                await wait_all_tasks_blocked()
                async with anyio.create_task_group() as impatient:
                    impatient.start_soon(use)
                    await wait_all_tasks_blocked()
                    scope.cancel()
            may_enter.set()
            await wait_all_tasks_blocked()
            may_go.set()
    assert values == [1]


def test_each_event_loop_has_a_life_of_its_own() -> None:
    """One server may be served in several threads at once."""
    log: list[str] = []
    lifespan = Lifespan(counting(log))
    both_in = threading.Barrier(2)
    values: list[int] = []

    async def use() -> None:
        async with lifespan.running() as value:
            await anyio.to_thread.run_sync(both_in.wait, 5)
            assert lifespan.value == value
            values.append(value)

    threads = [threading.Thread(target=anyio.run, args=(use,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert sorted(values) == [1, 2]
    assert sorted(log) == ["in", "in", "out", "out"]
    assert lifespan.value is None
