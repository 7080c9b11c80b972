"""`Tasks`: started from plain code, kept until they end, on both event loops."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Coroutine
from types import ModuleType
from typing import Any

import anyio
import pytest

from dedalus_mcp.errors import INTERNAL_ERROR
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.tasks import (
    Tasks,
    being_cancelled,
    current_loop,
    ends_the_task,
    is_foreign,
    one_step,
    runs_trio,
    signal,
)
from tests.jsonrpc.wire import Answers, call, conversing, remains, success

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


async def nothing() -> None:
    return


async def test_task_runs_and_its_end_is_told_once() -> None:
    tasks = Tasks()
    order: list[str] = []

    async def run() -> None:
        order.append("run")

    tasks.start(run, lambda: order.append("ended"))
    assert len(tasks) == 1
    with anyio.fail_after(20):
        await tasks.wait()
    assert order == ["run", "ended"]
    assert len(tasks) == 0


async def test_waiting_includes_tasks_started_meanwhile() -> None:
    tasks = Tasks()
    ends: list[str] = []

    async def first() -> None:
        await anyio.sleep(1)
        tasks.start(second, lambda: ends.append("second"))

    async def second() -> None:
        await anyio.sleep(1)

    tasks.start(first, lambda: ends.append("first"))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(tasks.wait)
            group.start_soon(tasks.wait)
    assert ends == ["first", "second"]


async def test_waiting_for_no_task_returns_at_once() -> None:
    tasks = Tasks()

    await tasks.wait()
    tasks.start(nothing, lambda: None)
    with anyio.fail_after(20):
        await tasks.wait()


async def test_task_outlives_the_scope_and_the_group_it_was_started_in() -> None:
    tasks = Tasks()
    gate = anyio.Event()
    ends: list[bool] = []

    async with anyio.create_task_group() as group:
        tasks.start(gate.wait, lambda: ends.append(True))
        group.cancel_scope.cancel()
    await anyio.wait_all_tasks_blocked()
    assert ends == []
    gate.set()
    with anyio.fail_after(20):
        await tasks.wait()
    assert ends == [True]


async def test_one_step_is_a_task_started_before_has_taken_its_first() -> None:
    """On trio the order within one turn of the loop is random, so there it is two."""
    tasks = Tasks()
    ends: list[bool] = []

    tasks.start(nothing, lambda: ends.append(True))
    await one_step()
    await one_step()
    assert ends == [True]


@pytest.mark.parametrize("detached", [False, True])
async def test_task_sees_the_context_of_its_starter_unless_detached(detached: bool) -> None:
    """A copy: what it changes is not seen outside."""
    tasks = Tasks()
    seen: list[str] = []

    async def run() -> None:
        seen.append(place.get())
        place.set("inside")

    token = place.set("outside")
    tasks.start(run, lambda: None, detached=detached)
    with anyio.fail_after(20):
        await tasks.wait()
    assert seen == ["nowhere" if detached else "outside"]
    assert place.get() == "outside"
    place.reset(token)


def test_end_is_told_of_a_task_that_the_loop_cancelled_before_its_first_step() -> None:
    ends: list[str] = []

    async def main() -> None:
        tasks = Tasks()
        tasks.start(nothing, lambda: ends.append("ended"))
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with anyio.fail_after(20):
            await tasks.wait()

    asyncio.run(main())
    assert ends == ["ended"]


def test_task_that_the_event_loop_ends_knows_it() -> None:
    """On shutdown: no scope of ours was cancelled then."""
    seen: list[bool] = []

    async def run() -> None:
        seen.append(being_cancelled())
        try:
            await anyio.sleep_forever()
        finally:
            seen.append(being_cancelled())

    async def main() -> None:
        Tasks().start(run, lambda: None)
        await anyio.wait_all_tasks_blocked()

    asyncio.run(main())
    assert seen == [False, True]


async def test_no_task_is_being_cancelled_by_itself() -> None:
    assert not being_cancelled()
    assert is_foreign(asyncio.CancelledError())
    assert not is_foreign(ValueError())


async def test_each_event_loop_is_its_own_key() -> None:
    """The same one in a task that was started in it."""
    tasks = Tasks()
    seen: list[object] = []

    async def look() -> None:
        seen.append(current_loop())

    tasks.start(look, lambda: None, detached=True)
    with anyio.fail_after(20):
        await tasks.wait()
    await anyio.to_thread.run_sync(anyio.run, look)

    assert seen[0] is current_loop()
    assert seen[1] is not current_loop()


def test_outside_of_an_event_loop_there_is_no_key() -> None:
    with pytest.raises(RuntimeError):
        current_loop()


async def test_handlers_share_no_context_with_each_other_or_with_the_reader() -> None:
    """Each starts with the context in which the conversation runs."""
    seen: list[str] = []

    async def look(_call: Inbound) -> Any:
        seen.append(place.get())
        place.set("changed")
        return {}

    token = place.set("host")
    async with conversing(Answers(look=look)) as (_, wire):
        for id in range(3):
            await wire.send(call(id, "look"))
            assert await wire.receive() == success(id)
    assert seen == ["host"] * 3
    assert place.get() == "host"
    place.reset(token)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_host_with_an_eager_task_factory_is_served_like_any_other() -> None:
    """Handlers then run, and may end, before `start` returns."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(vars(asyncio)["eager_task_factory"])
        answers = Answers()
        async with conversing(answers) as (conversation, wire):
            await wire.send(*[call(id, "echo") for id in range(100)], *[call(id, "block") for id in range(100, 110)])
            assert await wire.receive_many(100) == sorted([success(id) for id in range(100)], key=repr)
            await wire.send(call("last", "ping"))
            assert await wire.receive() == success("last")
        assert answers.ended == 10
        assert remains(conversation.peer) == 0

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # uvloop's tells such a factory too much
        runner.run(main())


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (KeyboardInterrupt(), True),
        (GeneratorExit(), True),
        (SystemExit(), False),
        (ValueError(), False),
        (BaseExceptionGroup("several", [SystemExit()]), False),
    ],
    ids=repr,
)
async def test_only_an_interrupt_ends_the_task_of_user_code(error: BaseException, ends: bool) -> None:
    assert ends_the_task(error) is ends


async def test_its_own_cancellation_ends_the_task_of_user_code() -> None:
    found: list[bool] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            found.append(ends_the_task(error))
            raise

    assert found == [True]


async def test_a_signal_wakes_all_who_wait_and_those_who_come_later() -> None:
    told = signal()
    woken: list[int] = []

    async def wait(number: int) -> None:
        await told.wait()
        woken.append(number)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(wait, 1)
            group.start_soon(wait, 2)
            await anyio.wait_all_tasks_blocked()
            assert not woken
            assert not told.is_set()
            told.set()
            told.set()
        await wait(3)
    assert sorted(woken) == [1, 2, 3]


async def test_waiting_for_a_signal_can_be_cancelled() -> None:
    told = signal()
    with anyio.move_on_after(0) as scope:
        await told.wait()
    assert scope.cancelled_caught


async def test_whoever_gives_up_waiting_for_a_signal_leaves_nothing_and_disturbs_nobody() -> None:
    told = signal()
    woken: list[int] = []

    async def wait(number: int, scope: anyio.CancelScope) -> None:
        with scope:
            await told.wait()
            woken.append(number)

    scopes = [anyio.CancelScope() for _ in range(3)]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number, scope in enumerate(scopes):
                group.start_soon(wait, number, scope)
            await anyio.wait_all_tasks_blocked()
            scopes[1].cancel()
            await anyio.wait_all_tasks_blocked()
            assert len(getattr(told, "_waiting", (0, 2))) == 2  # a long-lived one would gather all who ever came
            scopes[0].cancel()
            told.set()  # in the same step: who is on the way out already stays out
    assert woken == [2]


@pytest.mark.parametrize("half", [None, ModuleType("trio.lowlevel")], ids=["package", "module"])
def test_a_thread_that_imports_trio_for_the_first_time_harms_no_loop_of_asyncio(
    half: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is done, what stands among the modules is half of trio."""
    monkeypatch.setitem(sys.modules, "trio", ModuleType("trio"))
    if half is None:
        monkeypatch.delitem(sys.modules, "trio.lowlevel", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "trio.lowlevel", half)

    async def talk() -> None:
        async with conversing() as (_, wire):
            await wire.send(call(1, "echo", {"text": "x"}))
            assert await wire.receive() == success(1, {"text": "x"})
        assert not being_cancelled()
        assert not runs_trio()
        assert current_loop() is asyncio.get_running_loop()

    asyncio.run(talk())


def test_a_call_for_which_no_task_can_be_started_is_replied_to_and_its_id_is_free_again() -> None:
    full = True

    def factory(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        if full and "_answer" in repr(coroutine):
            coroutine.close()
            raise MemoryError
        return asyncio.Task(coroutine, loop=loop, **options)

    async def talk() -> None:
        nonlocal full
        async with conversing() as (_, wire):
            own: Any = factory  # what it is called with depends on the Python
            asyncio.get_running_loop().set_task_factory(own)
            for _ in range(2):
                await wire.send(call(1, "echo", {"text": "x"}))
                assert (await wire.receive())["error"]["code"] == INTERNAL_ERROR
            full = False
            await wire.send(call(1, "echo", {"text": "x"}))
            assert await wire.receive() == success(1, {"text": "x"})

    asyncio.run(talk())
