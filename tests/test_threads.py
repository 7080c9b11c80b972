"""`Threads`: bounded, left behind when cancelled, and their places with them until they return."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import ref

import anyio
import pytest
from anyio import lowlevel, wait_all_tasks_blocked

from dedalus_mcp.jsonrpc.tasks import current_loop
from dedalus_mcp.threads import MAX_WAITING, Threads, home, wait

variable: ContextVar[str] = ContextVar("variable", default="unset")


class Gate:
    """Work that says when it has begun, and ends when it is let through."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.at_once = 0
        self.most = 0
        self._lock = threading.Lock()

    def work(self) -> str:
        with self._lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        self.begun.release()
        assert self.open.wait(10)
        with self._lock:
            self.at_once -= 1
        return "done"

    async def has_begun(self) -> None:
        with anyio.fail_after(20):
            await anyio.to_thread.run_sync(self.begun.acquire)


async def test_work_runs_in_another_thread_with_the_callers_context() -> None:
    variable.set("mine")

    def work() -> tuple[int, str]:
        seen = variable.get()
        variable.set("the thread's own")
        return threading.get_ident(), seen

    ident, seen = await Threads(1).run(work)

    assert ident != threading.get_ident()
    assert seen == "mine"
    assert variable.get() == "mine"


async def test_no_more_run_at_once_than_there_are_places() -> None:
    threads, gate = Threads(2), Gate()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(threads.run, gate.work)
            await gate.has_begun()
            await gate.has_begun()
            await wait_all_tasks_blocked()
            assert threads.busy == 2
            gate.open.set()

    assert gate.most == 2
    assert threads.busy == 0


async def test_a_cancelled_caller_leaves_at_once_and_its_place_stays_taken() -> None:
    threads, gate = Threads(1), Gate()
    after: list[str] = []

    async def next_in_line() -> None:
        after.append(await threads.run(lambda: "next"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, gate.work)
            await gate.has_begun()
            group.cancel_scope.cancel()
        assert threads.busy == 1
        async with anyio.create_task_group() as group:
            group.start_soon(next_in_line)
            await wait_all_tasks_blocked()
            assert after == []  # the thread that was left behind still has the place
            gate.open.set()
        await threads.idle()

    assert after == ["next"]
    assert threads.busy == 0


async def test_a_caller_cancelled_while_it_waits_takes_no_place() -> None:
    threads, gate = Threads(1), Gate()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, gate.work)
            await gate.has_begun()
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(threads.run, lambda: pytest.fail("ran"))
                await wait_all_tasks_blocked()
                waiting.cancel_scope.cancel()
            gate.open.set()
        assert await threads.run(lambda: "free") == "free"
    assert threads.busy == 0


@pytest.mark.parametrize(
    "error",
    [
        KeyError("k"),
        SystemExit(3),
        concurrent.futures.CancelledError(),
        TimeoutError(),
        ExceptionGroup("g", [OSError()]),
    ],
    ids=repr,
)
async def test_what_the_work_raises_comes_out_as_itself_and_frees_the_place(error: BaseException) -> None:
    threads = Threads(1)

    def work() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(type(error)) as raised:
            await threads.run(work)
        assert raised.value is error
    assert threads.busy == 0


async def test_a_stop_iteration_comes_out_as_a_runtime_error() -> None:
    """No future can carry it."""
    threads = Threads(1)

    with pytest.raises(RuntimeError):
        await threads.run(lambda: next(iter(())))
    assert threads.busy == 0


async def test_an_awaitable_comes_back_as_it_is() -> None:
    async def later() -> str:
        return "later"

    async def run(call: Callable[[], Awaitable[str]]) -> str:
        awaitable: Awaitable[str] = await Threads(1).run(call)
        return await awaitable

    assert await run(later) == "later"


async def test_idle_waits_for_threads_that_were_left_behind() -> None:
    threads, gate = Threads(2), Gate()
    idle = anyio.Event()

    async def wait() -> None:
        await threads.idle()
        idle.set()

    with anyio.fail_after(20):
        await threads.idle()  # nothing runs: at once
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(threads.run, gate.work)
                await gate.has_begun()
            group.cancel_scope.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await wait_all_tasks_blocked()
            assert not idle.is_set()
            gate.open.set()
        assert idle.is_set()


async def test_a_caller_cancelled_before_its_thread_begins_frees_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that comes too late does nothing."""
    threads = Threads(1)
    late: list[Callable[[], object]] = []

    async def never(work: Callable[..., object], *args: object, **_: object) -> None:
        late.append(lambda: work(*args))
        await anyio.sleep_forever()

    monkeypatch.setattr("dedalus_mcp.threads.to_thread.run_sync", never)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, lambda: pytest.fail("ran"))
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    late[0]()
    assert threads.busy == 0


async def test_calls_that_block_have_a_thread_each() -> None:
    threads, together = Threads(5), threading.Barrier(5)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(threads.run, partial(together.wait, 10))


async def test_short_calls_that_wait_for_a_thread_are_done_by_one() -> None:
    """It goes on with the next: to wake another for each would cost more than they do."""
    threads, gate = Threads(1), Gate()
    done: list[tuple[int, int]] = []

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, gate.work)
            await gate.has_begun()
            for number in range(100):
                group.start_soon(threads.run, lambda number=number: done.append((number, threading.get_ident())))
            await wait_all_tasks_blocked()
            gate.open.set()

    assert sorted(number for number, _ in done) == [*range(100)]
    assert len({thread for _, thread in done}) <= 2  # the next may be on its way when the first goes on


async def test_callers_that_leave_while_they_wait_for_a_thread_leave_nothing() -> None:
    """Else who makes and cancels calls would fill the memory, as long as all threads are busy."""
    threads, gate, begun = Threads(1), Gate(), 0

    def work() -> None:
        nonlocal begun
        begun += 1

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, gate.work)
            await gate.has_begun()
            async with anyio.create_task_group() as left:
                for _ in range(100):
                    left.start_soon(threads.run, work)
                await wait_all_tasks_blocked()
                left.cancel_scope.cancel()
            assert threads.queued == 0
            group.start_soon(threads.run, work)
            await wait_all_tasks_blocked()
            assert threads.queued == 1
            gate.open.set()

    assert begun == 1


async def test_where_no_thread_can_be_had_the_caller_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = Threads(2)

    async def none(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched, anyio.fail_after(20):
        patched.setattr("dedalus_mcp.threads.to_thread.run_sync", none)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await threads.run(lambda: "done")

    assert await threads.run(lambda: "done") == "done"
    assert threads.busy == 0


async def test_a_thread_says_of_itself_that_no_event_loop_runs_there() -> None:
    """Else code that has both kinds, and looks where it is, would take the wrong one."""

    async def inner() -> str:
        return "run"

    assert await Threads(1).run(lambda: anyio.run(inner)) == "run"
    assert await Threads(1).run(lambda: asyncio.run(inner())) == "run"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_one_set_of_threads_serves_one_event_loop_after_another(backend: str) -> None:
    threads = Threads(1)

    async def main() -> str:
        result: str = await threads.run(lambda: "done")
        assert threads.busy == 0
        return result

    assert [anyio.run(main, backend=backend) for _ in range(3)] == ["done"] * 3


def test_two_event_loops_at_once_do_not_wait_for_each_other() -> None:
    threads, gate = Threads(1), Gate()

    def other_loop() -> str:
        result: str = anyio.run(threads.run, gate.work)
        return result

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(other_loop)
        assert gate.begun.acquire(timeout=5)
        assert anyio.run(threads.run, lambda: "mine") == "mine"
        gate.open.set()
        assert other.result(10) == "done"


def test_a_thread_that_outlives_its_event_loop_ends() -> None:
    """It must not wait for a loop that does not run any more: the interpreter would wait for it."""
    threads, gate = Threads(1), Gate()
    worker: list[threading.Thread] = []

    def work() -> str:
        worker.append(threading.current_thread())
        return gate.work()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, work)
            await gate.has_begun()
            group.cancel_scope.cancel()

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(main())
        gate.open.set()  # the loop is neither running nor closed
        worker[0].join(5)
        assert not worker[0].is_alive()
    finally:
        loop.close()


async def test_a_thread_that_waits_lends_its_place() -> None:
    """Else as many threads as there are places, all waiting for a person, would stop all others."""
    threads, answered = Threads(2), anyio.Event()
    found: list[str] = []

    async def answer() -> str:
        await answered.wait()
        return "answered"

    async def ask() -> None:
        found.append(await threads.run(lambda: wait(answer())))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(ask)
            while threads.busy < 6:
                await wait_all_tasks_blocked()
            assert await threads.run(lambda: "quick") == "quick"
            answered.set()

    assert found == ["answered"] * 6
    assert threads.busy == 0
    assert await threads.run(lambda: "still there") == "still there"


async def test_a_thread_gets_its_place_back_however_much_there_is_to_do() -> None:
    threads, asked, answered = Threads(1), anyio.Event(), anyio.Event()
    resumed = anyio.Event()
    done = 0

    async def answer() -> None:
        asked.set()
        await answered.wait()

    async def ask() -> None:
        await threads.run(lambda: wait(answer()))
        resumed.set()

    async def load() -> None:
        nonlocal done
        while not resumed.is_set():
            await threads.run(lambda: None)
            done += 1
            if done == 100:
                answered.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await asked.wait()
            for _ in range(4):
                group.start_soon(load)


async def test_a_thread_whose_call_is_cancelled_while_it_waits_may_wait_again() -> None:
    """It has no place any more, and lends none: it is told of its end, as often as it waits."""
    threads, ended = Threads(1), threading.Semaphore(0)

    def stubborn(asked: Callable[[], object]) -> None:
        for _ in range(3):
            try:
                wait(never(asked))
            except asyncio.CancelledError:
                ended.release()

    async def never(asked: Callable[[], object]) -> None:
        asked()
        await anyio.sleep_forever()

    with anyio.fail_after(20):
        for _ in range(MAX_WAITING + 10):  # more than may wait at once
            async with anyio.create_task_group() as group:
                asked = anyio.Event()
                group.start_soon(threads.run, partial(stubborn, asked.set))
                await asked.wait()
                group.cancel_scope.cancel()
            await threads.idle()
            assert [ended.acquire(blocking=False) for _ in range(4)] == [True] * 3 + [False]
        assert await threads.run(lambda: "still there") == "still there"


async def test_threads_that_go_on_after_their_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else who makes and cancels calls that ask could have any number of threads."""
    monkeypatch.setattr("dedalus_mcp.threads.MAX_WAITING", 2)
    threads, gate = Threads(1), Gate()

    async def never(asked: anyio.Event) -> None:
        asked.set()
        await anyio.sleep_forever()

    def tidy(asked: anyio.Event) -> None:
        try:
            wait(never(asked))
        finally:
            gate.work()

    with anyio.fail_after(20):
        for _ in range(2):
            async with anyio.create_task_group() as group:
                asked = anyio.Event()
                group.start_soon(threads.run, partial(tidy, asked))
                await asked.wait()
                group.cancel_scope.cancel()
            await gate.has_begun()
        async with anyio.create_task_group() as group:
            asked = anyio.Event()
            group.start_soon(threads.run, partial(tidy, asked))  # as many as may are without a place: it keeps its own
            await asked.wait()
            group.start_soon(threads.run, gate.work)
            await wait_all_tasks_blocked()
            assert (threads.busy, threads.queued) == (3, 1)
            gate.open.set()
            group.cancel_scope.cancel()
        await threads.idle()

    assert gate.most <= 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_tasks_that_are_all_ended_by_force_leave_threads_for_those_that_tidy_up() -> None:
    """As by `asyncio.run` at its end."""
    threads, gate = Threads(1), Gate()
    tidied: list[str] = []

    async def call() -> None:
        try:
            await threads.run(gate.work)
        finally:
            gate.open.set()
            tidied.extend([await threads.run(lambda: "tidied") for _ in range(3)])

    tasks = [asyncio.create_task(call()) for _ in range(2)]
    await gate.has_begun()
    await wait_all_tasks_blocked()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        if task in tasks or "_serve" in repr(task.get_coro()):
            task.cancel()
    with anyio.fail_after(20):
        await asyncio.wait(tasks)

    assert tidied == ["tidied"] * 6


async def test_nothing_is_kept_of_work_that_is_done() -> None:
    """Nor does it take the garbage collector to see that: results may be large."""

    class Large:
        pass

    def make() -> Large:
        made.append(ref(large := Large()))
        return large

    made: list[ref[Large]] = []
    threads = Threads(1)
    gc.disable()
    try:
        for _ in range(3):
            assert isinstance(await threads.run(make), Large)
        await wait_all_tasks_blocked()
        assert [each() for each in made] == [None] * 3
    finally:
        gc.enable()


def _ignore(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Take no notice."""


def test_what_waits_for_a_thread_is_not_done_once_the_event_loop_is_closed() -> None:
    threads, gate = Threads(1), Gate()
    done: list[str] = []
    ended: list[threading.Thread] = []

    def first() -> None:
        ended.append(threading.current_thread())
        gate.work()

    async def main() -> None:
        asyncio.ensure_future(threads.run(first))  # noqa: RUF006 - it is left behind
        for _ in range(5):
            asyncio.ensure_future(threads.run(lambda: done.append("done")))  # noqa: RUF006
        await gate.has_begun()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.set_exception_handler(_ignore)  # it complains of the tasks
    loop.close()
    gate.open.set()
    ended[0].join(5)

    assert len(done) <= 1  # the one that was begun before it was known


def test_an_event_loop_that_is_over_is_forgotten() -> None:
    threads = Threads(1)
    loops: list[ref[object]] = []

    async def main() -> None:
        loops.append(ref(current_loop()))
        await threads.run(lambda: None)

    for _ in range(3):
        asyncio.run(main())
    gc.collect()

    assert sum(each() is not None for each in loops) <= 1  # the last one may still be known


async def test_only_so_many_wait_without_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp.threads.MAX_WAITING", 1)
    threads, answered = Threads(1), anyio.Event()
    found: list[str] = []

    async def answer() -> str:
        await answered.wait()
        return "answered"

    async def ask() -> None:
        found.append(await threads.run(lambda: wait(answer())))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
            while threads.busy < 2:
                await wait_all_tasks_blocked()
            await wait_all_tasks_blocked()
            assert threads.busy == 2
            answered.set()

    assert found == ["answered"] * 3


async def test_a_wait_that_fails_fails_in_the_thread_and_keeps_the_place() -> None:
    threads = Threads(1)

    async def fail() -> None:
        await lowlevel.checkpoint()
        raise ValueError("no answer")

    def work() -> str:
        with pytest.raises(ValueError, match="no answer"):
            wait(fail())
        return "went on"

    with anyio.fail_after(20):
        assert await threads.run(work) == "went on"
        assert await threads.run(lambda: "free again") == "free again"


@pytest.mark.parametrize("places", [1, 2])
async def test_a_cancelled_wait_ends_the_thread_by_no_mere_exception(places: int) -> None:
    """On asyncio it arrives as an `Exception` there, which any `except` would take."""
    threads, begun, ended = Threads(places), threading.Event(), threading.Event()
    caught: list[BaseException] = []

    def work() -> None:
        begun.set()
        try:
            wait(anyio.sleep_forever())
        except Exception as error:  # noqa: BLE001 - as careless code does
            caught.append(error)
        finally:
            ended.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(threads.run, work)
            assert await anyio.to_thread.run_sync(begun.wait, 5)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(ended.wait, 5)
        await threads.idle()
        assert caught == []
        assert await threads.run(lambda: "free again") == "free again"


async def test_nobody_waits_in_the_event_loop_or_in_a_strange_thread() -> None:
    async def answer() -> None: ...

    with pytest.raises(RuntimeError, match="async def"):
        wait(answer())
    with pytest.raises(RuntimeError, match="async def"):
        wait(anyio.create_task_group().__aenter__())

    def deeper() -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            context = contextvars.copy_context()
            pool.submit(context.run, wait, answer()).result()

    with pytest.raises(RuntimeError, match="async def"):
        await Threads(1).run(deeper)


async def test_a_handlers_thread_knows_its_event_loop_and_other_threads_know_none() -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append(home())
        other = threading.Thread(target=lambda: seen.append(home()))
        other.start()
        other.join()

    await Threads(1).run(look)

    assert seen == [current_loop(), None]
    assert home() is None
