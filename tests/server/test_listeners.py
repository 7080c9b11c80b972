"""`Listeners`: who hears of what, in which event loop, and how often."""

from __future__ import annotations

import asyncio
import threading

import anyio
import anyio.lowlevel
import pytest

from dedalus_mcp.server.changes import PROMPTS, RESOURCES, TOOLS, Change, updated
from dedalus_mcp.server.listeners import Listeners

PATIENCE = 20.0


class Ears:
    """A `Listener` that remembers."""

    def __init__(self, listeners: Listeners, *changes: Change) -> None:
        self.told: list[Change] = []
        self._news = anyio.Event()
        for change in changes:
            listeners.join(self, change)

    def tell(self, change: Change) -> None:
        self.told.append(change)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, *changes: Change) -> None:
        with anyio.fail_after(PATIENCE):
            while self.told != list(changes):
                await self._news.wait()


async def test_each_hears_of_what_it_waits_for_and_of_nothing_else() -> None:
    """SUB-01."""
    listeners = Listeners(0)
    one, other = Ears(listeners, TOOLS), Ears(listeners, PROMPTS, updated("a://b"))

    for change in (TOOLS, RESOURCES, updated("a://c"), updated("a://b"), PROMPTS):
        listeners.hear(change)
    await other.until(updated("a://b"), PROMPTS)

    assert one.told == [TOOLS]


async def test_what_changes_many_times_in_one_turn_is_told_once() -> None:
    listeners = Listeners(0)
    ears = Ears(listeners, TOOLS, updated("a://b"))
    for _ in range(100):
        listeners.hear(TOOLS)
        listeners.hear(updated("a://b"))
    await ears.until(TOOLS, updated("a://b"))

    listeners.hear(TOOLS)
    await ears.until(TOOLS, updated("a://b"), TOOLS)


async def test_what_changes_again_while_changes_are_gathered_is_told_once() -> None:
    listeners = Listeners(0.5)
    ears = Ears(listeners, TOOLS, PROMPTS)
    for _ in range(5):
        listeners.hear(TOOLS)
        await anyio.wait_all_tasks_blocked()
    listeners.hear(PROMPTS)

    await ears.until(TOOLS, PROMPTS)


async def test_whoever_has_left_is_told_nothing() -> None:
    listeners = Listeners(0)
    ears, other = Ears(listeners, TOOLS, PROMPTS), Ears(listeners, TOOLS, PROMPTS)
    listeners.hear(PROMPTS)
    listeners.leave(ears, PROMPTS)
    listeners.leave(ears, PROMPTS)
    listeners.leave(ears, RESOURCES)
    listeners.hear(TOOLS)
    await other.until(PROMPTS, TOOLS)

    assert ears.told == [TOOLS]
    for change in (TOOLS, PROMPTS):
        listeners.leave(ears, change)
        listeners.leave(other, change)
    listeners.leave(ears, TOOLS)
    assert len(listeners) == 0


def test_where_nobody_listens_nothing_is_needed_to_hear() -> None:
    listeners = Listeners(0)

    listeners.hear(TOOLS)  # in no event loop

    assert len(listeners) == 0


async def test_a_thread_without_an_event_loop_is_heard() -> None:
    listeners = Listeners(0)
    ears = Ears(listeners, TOOLS)
    thread = threading.Thread(target=listeners.hear, args=(TOOLS,))
    thread.start()
    await ears.until(TOOLS)

    thread.join()


async def test_each_event_loop_hears_in_its_own_thread() -> None:
    listeners = Listeners(0)
    here = Ears(listeners, TOOLS)
    threads: list[int] = []

    class Elsewhere(Ears):
        def tell(self, change: Change) -> None:
            threads.append(threading.get_ident())
            super().tell(change)

    async def elsewhere() -> int:
        there = Elsewhere(listeners, TOOLS)
        assert len(listeners) == 1
        listeners.hear(TOOLS)
        await there.until(TOOLS)
        listeners.leave(there, TOOLS)
        return threading.get_ident()

    ident = await anyio.to_thread.run_sync(anyio.run, elsewhere)
    await here.until(TOOLS)

    assert threads == [ident]


async def test_an_event_loop_that_is_over_is_forgotten() -> None:
    listeners = Listeners(0)

    async def leave_without_a_word() -> None:
        Ears(listeners, TOOLS)

    await anyio.to_thread.run_sync(anyio.run, leave_without_a_word)
    assert len(listeners._rooms) == 1  # pyright: ignore[reportPrivateUsage]
    listeners.hear(TOOLS)

    assert not listeners._rooms  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_whoever_cancels_all_tasks_of_a_loop_silences_nobody_for_good() -> None:
    listeners = Listeners(0)
    ears = Ears(listeners, TOOLS)
    before = asyncio.all_tasks()
    listeners.hear(TOOLS)
    for task in asyncio.all_tasks() - before:
        task.cancel()
        await asyncio.wait([task])
    await anyio.lowlevel.checkpoint()
    assert ears.told == []

    listeners.hear(TOOLS)
    await ears.until(TOOLS)
