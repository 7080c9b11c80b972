"""Bounds: what waits for whom, what is refused, and that nothing is left behind."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import anyio
import pytest
from msgspec import Raw

from dedalus_mcp.errors import DedalusError, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.outbox import HIGH_WATER
from dedalus_mcp.jsonrpc.peer import Limits, Peer
from tests.jsonrpc.wire import (
    Answers,
    Asking,
    Stuck,
    busy,
    call,
    cancelled,
    conversing,
    ended,
    joined,
    notice,
    remains,
    send,
    success,
)

FILL = b'{"jsonrpc":"2.0","method":"fill","params":"%s"}' % (b"x" * (HIGH_WATER + 1))


# Replies and cancellations never wait.


async def test_replies_and_cancellations_pass_thousands_of_blocked_calls() -> None:
    answers = Answers()
    async with conversing(answers) as (conversation, wire), Asking(conversation.peer) as asking:
        await wire.send(*[call(id, "block") for id in range(4000)])
        waiting = asking("a")
        assert await wire.receive() == call(1, "a")
        await wire.send(cancelled(3999), success(1, {"a": 1}), call("p", "ping"))

        assert await waiting() == {"a": 1}
        assert await wire.receive() == success("p")
        assert await wire.quiet() == []
        assert busy(conversation.peer) == 3999


async def test_replies_and_cancellations_are_taken_though_nothing_can_be_sent() -> None:
    """The outbox is full: our calls are settled, their cancels obeyed, progress told."""
    stuck, answers = Stuck(), Answers()
    told: list[Raw] = []
    async with conversing(answers, duplex=stuck) as (conversation, _), Asking(conversation.peer) as asking:
        waiting = asking("a", progress=(0, told.append))
        await anyio.wait_all_tasks_blocked()
        send(conversation.peer, FILL)
        stuck.feed(call(1, "block"), call(2, "echo"), call(3, "ping"))
        stuck.feed(notice("notifications/progress", {"progressToken": 0, "progress": 1}))
        await anyio.wait_all_tasks_blocked()
        stuck.feed(cancelled(1), cancelled(2), success(1, {"a": 1}))

        assert await waiting() == {"a": 1}
        assert len(told) == 1
        assert answers.ended == 1
        assert busy(conversation.peer) == 1  # the reply to the ping waits for room
        stuck.release()
        await anyio.wait_all_tasks_blocked()
        assert [message.get("id") for message in stuck.written] == [1, None, 3]
        assert remains(conversation.peer) == 0


# Every bound is reached, and everything else goes on.


async def test_one_call_too_many_of_ours_is_refused_here() -> None:
    limits = Limits(max_open=3)
    async with conversing(limits=limits) as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = [asking("a") for _ in range(3)]
        await anyio.wait_all_tasks_blocked()

        with pytest.raises(LocalProtocolError, match="3 are open already"):
            await conversation.peer.call("a")
        await wire.send(success(1), success(2), success(3))
        for each in waiting:
            assert await each() == {}


async def test_one_call_too_many_of_theirs_is_refused_and_the_rest_goes_on() -> None:
    """B140: and pings among them."""
    async with conversing(limits=Limits(max_in_flight=3)) as (_, wire):
        await wire.send(*[call(id, "block") for id in range(4)])
        refused = await wire.receive()
        assert refused["id"] == 3
        assert "3 are running" in refused["error"]["message"]

        await wire.send(cancelled(0), call(4, "echo"))
        while (reply := await wire.receive()).get("error"):  # until the cancelled one has cleaned up
            await wire.send(call(4, "echo"))
        assert reply == success(4)


async def test_call_and_cancel_in_turn_start_no_more_than_the_limit() -> None:
    running: list[int] = []

    async def slow(_call: Inbound) -> Any:
        running.append(1)
        try:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(30)
        finally:
            running.pop()

    async with conversing(Answers(slow=slow), limits=Limits(max_in_flight=5)) as (_, wire):
        for _ in range(50):
            await wire.send(call(1, "slow"), cancelled(1))
        refusals = [await wire.receive() for _ in range(45)]

        assert len(running) == 5
        assert all("5 are running" in refusal["error"]["message"] for refusal in refusals)


@pytest.mark.parametrize("method", ["echo", "ping", "nope"])
async def test_replies_that_nobody_reads_do_not_pile_up(method: str) -> None:
    """Calls whose reply waits for room are in flight: the next is refused."""
    stuck = Stuck()
    async with conversing(duplex=stuck, limits=Limits(max_in_flight=10)) as (conversation, _):
        send(conversation.peer, FILL)
        stuck.feed(*[call(id, method) for id in range(100)])
        await anyio.wait_all_tasks_blocked()
        assert remains(conversation.peer) <= 3 * 10

        stuck.release()
        await anyio.wait_all_tasks_blocked()
        refused = [message for message in stuck.written if "10 are running" in str(message)]
        assert len(refused) == 90
        assert sorted(message["id"] for message in stuck.written[1:]) == list(range(100))


async def test_garbage_is_not_answered_to_a_peer_that_does_not_read() -> None:
    stuck = Stuck()
    async with conversing(duplex=stuck) as (conversation, _):
        send(conversation.peer, FILL)
        stuck.feed(*[{"garbage": id} for id in range(100)])
        await anyio.wait_all_tasks_blocked()
        stuck.release()
        await anyio.wait_all_tasks_blocked()
        assert len(stuck.written) == 1


# Nothing is left behind.


async def fail(_call: Inbound) -> Any:
    raise McpError(-32602, "Invalid params")


async def odd(_call: Inbound) -> Any:
    raise ValueError


OUTCOMES = ["success", "error", "internal", "unknown", "cancelled", "timed out", "not json"]


async def come_to(outcome: str, peer: Peer) -> None:
    method = {"success": "echo", "error": "fail", "internal": "odd", "unknown": "nope"}.get(outcome, "block")
    try:
        match outcome:
            case "cancelled":
                with anyio.move_on_after(0.001):
                    await peer.call("block", progress=(0, None))
            case "timed out":
                await peer.call("block", timeout=Timeout(0.001, reset_on_progress=True))
            case "not json":
                await peer.call("echo", {"x": object()})
            case _:
                await peer.call(method, {"x": "y" * 100}, timeout=Timeout(60), progress=(0, None))
    except DedalusError:
        pass


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_tables_are_empty_after_a_thousand_calls_of_each_outcome(outcome: str) -> None:
    """B140."""
    answers = Answers(fail=fail, odd=odd)
    async with joined(Answers(), answers) as (near, far):
        for _ in range(1000):
            await come_to(outcome, near.peer)
        await ended(lambda: remains(near.peer) + remains(far.peer) == 0)
        assert answers.started == answers.ended


@pytest.mark.parametrize("outcome", ["success", "error", "cancelled", "timed out"])
async def test_calls_are_forgotten(outcome: str) -> None:
    """B140: no object of a finished call is kept alive by the engine."""
    calls: list[weakref.ref[Any]] = []

    class Noting(Answers):
        def answer(self, call: Inbound) -> Any:
            calls.append(weakref.ref(call.scope))
            return super().answer(call)

    async with joined(Answers(), Noting(fail=fail)) as (near, far):
        for _ in range(20):
            await come_to(outcome, near.peer)
        await ended(lambda: remains(near.peer) + remains(far.peer) == 0)
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        assert sum(ref() is not None for ref in calls) <= 1
