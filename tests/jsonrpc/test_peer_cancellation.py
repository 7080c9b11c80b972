"""Cancellation both ways: a scope here is a notice there, and the other way round."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint

from dedalus_mcp.errors import ConnectionLost, McpError, RequestTimeout
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from tests.jsonrpc.wire import (
    Answers,
    Asking,
    Told,
    busy,
    call,
    cancelled,
    conversing,
    ended,
    feed,
    joined,
    remains,
    success,
)

# Theirs.


@pytest.mark.parametrize("id", [5, 0, "", "5"], ids=repr)
async def test_cancelled_call_ends_its_handler_and_gets_no_reply(id: int | str) -> None:
    """B005, B043, CANC-07."""
    answers = Answers()
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(id, "block"))
        await anyio.wait_all_tasks_blocked()
        await wire.send(cancelled(id))

        assert await wire.quiet() == []
        assert (answers.started, answers.ended) == (1, 1)
        assert remains(conversation.peer) == 0


async def test_its_channel_is_told_at_once_and_once_though_the_handler_takes_its_time() -> None:
    tidied = anyio.Event()

    async def tidy(_call: Inbound) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await tidied.wait()

    channel = Told()
    peer = Peer(Answers(tidy=tidy), channel, answers_malformed=True)
    peer.feed(msgspec.json.encode(call(1, "tidy")), channel)
    await anyio.wait_all_tasks_blocked()
    peer.feed(msgspec.json.encode(cancelled(1)), Told())
    with anyio.fail_after(20):
        await channel.flushed.wait()

        assert channel.told == [None]
        tidied.set()
        await peer.idle()
    assert channel.told == [None]


async def test_calls_that_were_forgotten_end_and_their_ids_come_again() -> None:
    """As those of a session that is lost, whose server began anew."""
    answers = Answers()
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(1, "block"), call(2, "block"))
        await anyio.wait_all_tasks_blocked()
        conversation.peer.cancel_theirs("forgotten")
        await wire.send(call(1, "echo", {"again": True}))

        assert await wire.receive() == success(1, {"again": True})
        assert await wire.quiet() == []
        assert (answers.started, answers.ended) == (2, 2)


async def test_call_cancelled_in_the_same_chunk_gets_no_reply() -> None:
    async with conversing() as (conversation, wire):
        await wire.send(call(1, "block"), cancelled(1), call(2, "echo"), cancelled(2))

        assert await wire.quiet() == []
        assert remains(conversation.peer) == 0


async def swallow(_call: Inbound) -> Any:
    for _ in range(3):
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            pass
    return {"swallowed": True}


async def raise_instead(_call: Inbound) -> Any:
    try:
        await anyio.sleep_forever()
    finally:
        raise ValueError("while cleaning up")


async def protocol_error_instead(_call: Inbound) -> Any:
    try:
        await anyio.sleep_forever()
    except BaseException as error:
        raise McpError(-1, "cancelled") from error


async def group_instead(_call: Inbound) -> Any:
    async def fail() -> None:
        await raise_instead(_call)

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        group.start_soon(anyio.sleep_forever)


async def shielded_cleanup(_call: Inbound) -> Any:
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(10)


@pytest.mark.parametrize("handler", [swallow, raise_instead, protocol_error_instead, group_instead, shielded_cleanup])
async def test_cancelled_call_gets_no_reply_whatever_its_handler_makes_of_it(
    handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """B044: the other calls go on."""
    async with conversing(Answers(odd=handler)) as (conversation, wire):
        await wire.send(*[call(id, "odd") for id in range(5)])
        await anyio.wait_all_tasks_blocked()
        await wire.send(cancelled(2))
        await anyio.sleep(20)
        assert await wire.quiet() == []
        assert busy(conversation.peer) == 4

        await wire.send(*[call(id, "echo") for id in range(10, 20)])
        assert await wire.receive_many(10) == [success(id) for id in range(10, 20)]
        assert not caplog.records


async def test_handler_that_finishes_while_it_is_cancelled_is_not_answered() -> None:
    """CANC-10: both in one turn of the loop, in either order."""
    gate = anyio.Event()

    async def wait(_call: Inbound) -> Any:
        await gate.wait()
        return {}

    for cancel_first in (True, False):
        gate = anyio.Event()
        async with conversing(Answers(wait=wait)) as (conversation, wire):
            await wire.send(call(1, "wait"))
            await anyio.wait_all_tasks_blocked()
            if not cancel_first:
                gate.set()
            feed(conversation.peer, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
            gate.set()

            assert await wire.quiet() == []
            assert remains(conversation.peer) == 0


async def test_id_of_a_cancelled_call_can_be_used_while_the_old_handler_cleans_up() -> None:
    """B004: and each cancel reaches the newest."""
    answers = Answers(slow=shielded_cleanup)
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(7, "slow"))
        await anyio.wait_all_tasks_blocked()
        await wire.send(cancelled(7), call(7, "echo", {"second": True}))
        assert await wire.receive() == success(7, {"second": True})
        await wire.send(call(7, "block"))
        await anyio.wait_all_tasks_blocked()
        assert busy(conversation.peer) == 2
        await wire.send(cancelled(7))

        assert await wire.quiet() == []
        await anyio.sleep(20)
        assert answers.ended == 1
        assert remains(conversation.peer) == 0


async def test_cancelling_one_call_leaves_the_one_with_the_same_digits_alone() -> None:
    """B008."""
    answers = Answers()
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(1, "block"), call("1", "block"), cancelled("1"))
        await wire.quiet()

        assert busy(conversation.peer) == 1


# Ours.


async def test_cancelling_the_scope_of_a_call_cancels_it_on_the_wire(caplog: pytest.LogCaptureFixture) -> None:
    """CANC-01, CANC-09: and the late reply is dropped without a warning."""
    scope = anyio.CancelScope()
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", scope=scope)
        assert (await wire.receive())["id"] == 1
        scope.cancel()

        assert await waiting() is None
        assert await wire.receive() == cancelled(1, reason="no longer wanted")
        await wire.send(success(1))
        assert await wire.quiet() == []
        assert not caplog.records


async def test_expired_call_is_cancelled_on_the_wire(caplog: pytest.LogCaptureFixture) -> None:
    """CANC-13, RPC-29: and the late reply is dropped without a warning."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", timeout=Timeout(0.5))

        with pytest.raises(RequestTimeout, match=r"'a' within 0\.5 s"):
            await waiting()
        assert [await wire.receive(), await wire.receive()] == [call(1, "a"), cancelled(1, reason="timed out")]
        await wire.send(success(1))
        assert await wire.quiet() == []
        assert not caplog.records


async def test_initialize_is_never_cancelled() -> None:
    """B046."""
    scope = anyio.CancelScope()
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        with pytest.raises(RequestTimeout):
            await asking("initialize", timeout=Timeout(0.5))()
        waiting = asking("initialize", scope=scope)
        await wire.receive()
        await wire.receive()
        scope.cancel()
        await waiting()

        assert await wire.quiet() == []


async def test_answered_call_is_never_cancelled() -> None:
    """CANC-02: the reply is there, though its waiter has not run yet when the scope is cancelled."""
    scope = anyio.CancelScope()
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", scope=scope)
        await wire.receive()
        feed(conversation.peer, b'{"jsonrpc":"2.0","id":1,"result":{}}')
        scope.cancel()
        await waiting()

        assert await wire.quiet() == []


async def test_cancelling_a_call_cancels_what_its_handler_asked() -> None:
    """B049: the dialog must not stay on the screen."""
    async with conversing(answers := Answers()) as (conversation, wire):

        async def ask(_call: Inbound) -> Any:
            return await conversation.peer.call("elicitation/create")

        answers.add(ask=ask)
        await wire.send(call(1, "ask"))
        assert await wire.receive() == call(1, "elicitation/create")
        await wire.send(cancelled(1))

        assert await wire.receive() == cancelled(1, reason="no longer wanted")
        await wire.send(success(1))
        assert await wire.quiet() == []


# The sweep: cancel after any number of steps.

SWEEP = range(25)


@pytest.mark.parametrize("count", SWEEP)
async def test_cancelling_after_any_number_of_steps_leaves_nothing_behind(count: int) -> None:
    """A call whose handler makes a call back, cancelled wherever it may be."""
    begun: list[str] = []
    over: list[str] = []

    async def noted(who: str, peer: Peer, method: str) -> Any:
        begun.append(who)
        try:
            return await peer.call(method, timeout=Timeout(60), progress=(0, None))
        finally:
            over.append(who)

    async def ask_back(_call: Inbound) -> Any:
        return await noted("handler", far, "echo")

    async with joined(near_answers := Answers(), Answers(ask=ask_back)) as (here, there):
        near, far = here.peer, there.peer
        async with anyio.create_task_group() as group:
            group.start_soon(noted, "caller", near, "ask")
            for _ in range(count):
                await checkpoint()
            group.cancel_scope.cancel()
        await ended(lambda: remains(near) + remains(far) == 0)

        assert sorted(begun) == sorted(over)
        assert len(begun) == len(set(begun))
        for peer in (near, far):
            assert msgspec.json.decode(await peer.call("echo", {"alive": True})) == {"alive": True}
        assert set(near_answers.heard) <= {"notifications/cancelled"}  # which names a call that is over


@pytest.mark.parametrize("count", SWEEP)
async def test_stopping_after_any_number_of_steps_ends_every_handler_once(count: int) -> None:
    over: list[str] = []

    async def ask_back(_call: Inbound) -> Any:
        try:
            return await there.peer.call("block")
        finally:
            over.append("handler")

    async def ask() -> None:
        with pytest.raises(ConnectionLost):
            await here.peer.call("ask")
        over.append("caller")

    async with joined(answers := Answers(), Answers(ask=ask_back)) as (here, there):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            for _ in range(count):
                await checkpoint()
            (here if count % 2 else there).stop("stopped")
        await ended(lambda: remains(here.peer) + remains(there.peer) == 0)

        assert over.count("caller") == 1
        assert over.count("handler") <= 1
        assert answers.started == answers.ended
