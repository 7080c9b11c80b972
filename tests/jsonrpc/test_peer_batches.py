"""Batches (2025-03-26 only): one array in, one array out, and nothing for what is not answered."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp.errors import RemoteProtocolError
from tests.jsonrpc.wire import Answers, Asking, busy, call, cancelled, conversing, failure, notice, remains, success


def by_id(replies: list[Any]) -> list[Any]:
    return sorted(replies, key=lambda reply: repr(reply["id"]))


async def test_batch_is_refused_where_it_is_not_legal() -> None:
    """RPC-17: and none of it is run."""
    answers = Answers()
    async with conversing(answers) as (_, wire):
        await wire.send([call(1, "block"), notice("n")])

        refused = await wire.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert (answers.started, answers.heard) == (0, [])


async def test_batch_is_refused_silently_by_a_client() -> None:
    """B055."""
    async with conversing(answers_malformed=False) as (_, wire):
        await wire.send([call(1, "echo")])

        assert await wire.quiet() == []


@pytest.mark.parametrize("reply", [success(1, {"a": 1}), failure(1, -1, "no"), {**success(1), "error": 5}])
async def test_reply_in_a_batch_that_is_not_legal_ends_its_call(reply: Any) -> None:
    """Nothing else comes for it, so it would be waited for until a clock ends it."""
    async with conversing(answers_malformed=False) as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await wire.receive()
        await wire.send([success(99), reply, 5])

        with anyio.fail_after(20), pytest.raises(RemoteProtocolError, match=r"bad reply to 'a': .* batches belong to"):
            await waiting()


async def test_batch_is_answered_in_one_array() -> None:
    """RPC-14: notices aside, garbage included."""
    answers = Answers()
    async with conversing(answers) as (conversation, wire):
        conversation.peer.batches = True
        await wire.send([call(1, "echo", {"x": 1}), notice("n"), call("1", "nope"), call(2, "ping"), 5, {"id": "q"}])

        replies = by_id(await wire.receive())
        assert [reply["id"] for reply in replies] == ["1", "q", 1, 2, None]
        assert replies[2:4] == [success(1, {"x": 1}), success(2)]
        assert replies[0] == failure("1", -32601, "Unknown method: nope")
        assert answers.heard == ["n"]
        assert await wire.quiet() == []


async def test_batch_that_wants_no_answer_gets_none() -> None:
    """RPC-12, RPC-14: notices, and replies to us."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        conversation.peer.batches = True
        first = asking("a")
        await wire.receive()
        second = asking("b")
        await wire.receive()
        await wire.send([notice("n"), success(1, {"a": 1}), failure(2, -1, "no"), {"id": 99, "result": {}}])

        assert await first() == {"a": 1}
        with pytest.raises(Exception, match="no"):
            await second()
        assert await wire.quiet() == []


@pytest.mark.parametrize("frame", [b"[ ]", b"[1", b"[[]]", b"[[],[]]"])
async def test_batch_of_nothing_legal_is_answered_with_errors(frame: bytes) -> None:
    async with conversing() as (conversation, wire):
        conversation.peer.batches = True
        await wire.send(frame)

        reply: Any = await wire.receive()
        one_by_one = frame.startswith(b"[[")
        assert [each["id"] for each in (reply if one_by_one else [reply])] == [None] * (frame.count(b"[]") or 1)


async def test_batch_with_cancelled_calls_is_answered_when_the_rest_is_done() -> None:
    """CANC-07."""
    async with conversing() as (conversation, wire):
        conversation.peer.batches = True
        await wire.send([call(1, "block"), call(2, "echo"), call(3, "block")])
        await anyio.wait_all_tasks_blocked()
        await wire.send(cancelled(1))
        assert await wire.quiet() == []
        await wire.send(cancelled(3))

        assert await wire.receive() == [success(2)]
        assert remains(conversation.peer) == 0


async def test_batch_whose_calls_are_all_cancelled_gets_no_answer() -> None:
    async with conversing() as (conversation, wire):
        conversation.peer.batches = True
        await wire.send([call(1, "block"), call(2, "block"), cancelled(1)], cancelled(2))

        assert await wire.quiet() == []
        assert remains(conversation.peer) == 0


async def test_duplicate_id_in_a_batch_is_refused_alone() -> None:
    """B004."""
    async with conversing() as (conversation, wire):
        conversation.peer.batches = True
        await wire.send([call(7, "echo", {"x": 1}), call(7, "echo", {"x": 2})])

        replies = await wire.receive()
        assert success(7, {"x": 1}) in replies
        assert len(replies) == 2


async def test_batch_in_flight_ends_with_the_conversation() -> None:
    async with conversing() as (conversation, wire):
        conversation.peer.batches = True
        await wire.send([call(id, "block") for id in range(10)])
        await anyio.wait_all_tasks_blocked()
        assert busy(conversation.peer) == 10
