"""`Quiet`: a round goes out once nothing more has been asked for a few turns of the event loop."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.quiet import MAX_TURNS, QUIET_TURNS, Quiet


class Asking:
    """A call that asks; `turns` counts those of the event loop."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.told = 0
        self._then = then

    def round_is_due(self) -> None:
        self.told += 1
        self._then()


async def turns(count: int) -> None:
    for _ in range(count):
        await checkpoint()


async def until_over(tasks: Tasks) -> None:
    with anyio.fail_after(20):
        await tasks.wait()


async def test_a_call_is_told_once_and_the_counting_ends() -> None:
    tasks = Tasks()
    call = Asking()
    Quiet(tasks).await_for(call)
    await until_over(tasks)
    assert call.told == 1


async def test_siblings_have_the_promised_turns_to_ask_as_well() -> None:
    tasks = Tasks()
    quiet, call = Quiet(tasks), Asking()
    quiet.await_for(call)
    for _ in range(5):
        await turns(QUIET_TURNS - 1)
        quiet.await_for(call)
        assert not call.told
    await until_over(tasks)
    assert call.told == 1


async def test_who_asks_without_end_is_told_all_the_same() -> None:
    tasks = Tasks()
    quiet, call = Quiet(tasks), Asking()
    asked = 0
    with anyio.fail_after(20):
        while not call.told:
            quiet.await_for(call)
            asked += 1
            await turns(1)
    assert asked >= MAX_TURNS - QUIET_TURNS
    await until_over(tasks)


async def test_each_of_many_calls_waits_for_itself_alone() -> None:
    tasks = Tasks()
    quiet = Quiet(tasks)
    early, late = Asking(), Asking()
    quiet.await_for(early)
    with anyio.fail_after(20):
        while not early.told:
            quiet.await_for(late)
            await turns(1)
    assert not late.told
    await until_over(tasks)
    assert (early.told, late.told) == (1, 1)


async def test_a_call_that_asks_again_when_it_is_told_is_told_again() -> None:
    tasks = Tasks()
    quiet = Quiet(tasks)
    call = Asking(lambda: quiet.await_for(call) if call.told < 3 else None)
    quiet.await_for(call)
    await until_over(tasks)
    assert call.told == 3
