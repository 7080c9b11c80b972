"""`Turn`: one task at a time, whatever becomes of those that wait."""

from __future__ import annotations

import anyio
import pytest
from anyio import lowlevel

from dedalus_mcp_transports.turn import Turn


async def test_a_free_turn_is_taken_without_waiting() -> None:
    turn = Turn()
    for _ in range(2):
        waiting = turn.__aenter__()
        with pytest.raises(StopIteration):
            waiting.send(None)

        assert turn.taken
        await turn.__aexit__(None, None, None)
        assert not turn.taken


async def test_tasks_have_it_one_after_the_other() -> None:
    turn = Turn()
    inside: list[int] = []

    async def use(number: int) -> None:
        async with turn:
            assert inside == []
            inside.append(number)
            await lowlevel.checkpoint()
            inside.remove(number)
            done.append(number)

    done: list[int] = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(use, number)

    assert sorted(done) == list(range(20))
    assert not turn.taken


async def test_it_is_given_back_by_whoever_fails() -> None:
    turn = Turn()
    with pytest.raises(ValueError, match="no"):
        async with turn:
            raise ValueError("no")

    assert not turn.taken


async def test_cancelling_one_who_waits_leaves_it_to_the_next() -> None:
    turn = Turn()
    had: list[str] = []

    async def use(name: str) -> None:
        async with turn:
            had.append(name)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group, turn, anyio.create_task_group() as impatient:
            impatient.start_soon(use, "impatient")
            group.start_soon(use, "patient")
            await anyio.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()

    assert had == ["patient"]


async def test_a_turn_is_taken_once_until_it_is_given_back() -> None:
    turn = Turn()
    assert turn.take()
    assert not turn.take()
    turn.give_back()
    assert turn.take()
