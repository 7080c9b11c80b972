"""Calls that last: they are ended when the conversation drains, and nobody waits for them before."""

from __future__ import annotations

from typing import Any

import anyio

from dedalus_mcp.jsonrpc.inbound import Inbound
from tests.jsonrpc.wire import Answers, call, cancelled, conversing, success


class Lasting(Answers):
    """A handler with a method that goes on until it is ended."""

    def __init__(self) -> None:
        super().__init__(last=self._last)
        self.over = 0

    async def _last(self, call: Inbound) -> Any:
        ended = anyio.Event()
        call.peer.release(call, ended.set)
        try:
            await ended.wait()
        finally:
            self.over += 1
        return {"ended": call.id}


async def test_a_call_that_lasts_is_answered_when_the_conversation_drains_and_later_ones_at_once() -> None:
    async with conversing(Lasting()) as (conversation, wire):
        await wire.send(call(1, "last"), call(2, "last"), call(3, "echo"))
        assert await wire.receive() == success(3)
        assert conversation.peer.lasting == 2

        conversation.peer.drain()
        await conversation.peer.drained()
        assert await wire.receive_many(2) == [success(1, {"ended": 1}), success(2, {"ended": 2})]
        await wire.send(call(4, "last"))
        assert await wire.receive() == success(4, {"ended": 4})
        await conversation.peer.drained()
        assert conversation.peer.lasting == 0


async def test_a_call_that_lasts_can_be_cancelled() -> None:
    answers = Lasting()
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(1, "last"))
        assert await wire.quiet() == []
        await wire.send(cancelled(1))
        assert await wire.quiet() == []

        assert (answers.over, conversation.peer.lasting) == (1, 0)
        conversation.peer.drain()
        assert await wire.quiet() == []


async def test_whoever_waits_for_the_end_of_all_of_them_waits_for_the_last() -> None:
    async with conversing(Lasting()) as (conversation, wire):
        await wire.send(call(1, "last"), call(2, "last"))
        await wire.quiet()
        async with anyio.create_task_group() as group:
            group.start_soon(conversation.peer.drained)
            await wire.send(cancelled(1))
            await wire.quiet()
            assert conversation.peer.lasting == 1
            conversation.peer.drain()
        assert conversation.peer.lasting == 0
        assert await wire.receive() == success(2, {"ended": 2})


async def test_the_end_of_the_other_side_ends_them_with_a_reply() -> None:
    """The connection drains: whoever has stopped sending may still read."""
    answers = Lasting()
    async with conversing(answers) as (_, wire):
        await wire.send(call(1, "last"))
        await wire.quiet()
    assert answers.over == 1


async def test_ending_them_takes_no_time_where_there_are_none() -> None:
    async with conversing(Lasting()) as (conversation, _):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await conversation.end_lasting()  # waits for nothing, so it is not cancelled

        assert not scope.cancelled_caught
