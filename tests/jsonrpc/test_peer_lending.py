"""Calls that are answered in a task of the host's: it has their ids at once, and looks into them there."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from anyio import get_current_task

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import Run
from tests.jsonrpc.wire import Answers, Told, busy, call, cancelled, remains, success


def lend(peer: Peer, channel: Told, message: Any) -> Run | None:
    return peer.lend(decode(msgspec.json.encode(message)), channel)


def lent(peer: Peer, channel: Told, message: Any) -> Run:
    run = lend(peer, channel, message)
    assert run is not None
    return run


def told(channel: Told) -> list[Any]:
    return [None if reply is None else msgspec.json.decode(reply.frame) for reply in channel.told]


async def test_the_handler_runs_in_the_task_that_runs_it() -> None:
    async def where(_call: Inbound) -> Any:
        return {"task": get_current_task().id}

    channel = Told()
    peer = Peer(Answers(where=where), channel, answers_malformed=True)
    run = lent(peer, channel, call(1, "where"))
    assert told(channel) == []

    await run()

    assert told(channel) == [success(1, {"task": get_current_task().id})]
    assert channel.flushed.is_set()
    assert remains(peer) == 0


@pytest.mark.parametrize(("method", "code"), [("ping", None), ("nothing", -32601)])
async def test_what_needs_no_handler_is_replied_to_there_too(method: str, code: int | None) -> None:
    channel = Told()
    peer = Peer(Answers(), channel, answers_malformed=True)

    await lent(peer, channel, call(1, method))()

    [reply] = told(channel)
    assert reply.get("error", {}).get("code") == code
    assert channel.flushed.is_set()
    assert remains(peer) == 0


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_call_that_ends_before_its_turn_is_never_looked_into(how: str) -> None:
    """CANC-07: and no reply is sent."""
    answers, channel = Answers(), Told()
    peer = Peer(answers, channel, answers_malformed=True)
    run = lent(peer, channel, call(1, "block"))
    if how == "cancelled":
        assert lend(peer, channel, cancelled(1)) is None
    else:
        peer.close("over")
    assert busy(peer) == 1

    await run()
    await peer.idle()

    assert not any(told(channel))  # None says that no reply will come
    assert (answers.started, remains(peer)) == (0, 0)


async def test_it_is_waited_for_from_the_first_moment_on() -> None:
    channel = Told()
    peer = Peer(Answers(), channel, answers_malformed=True)
    run = lent(peer, channel, call(1, "echo"))
    idle = anyio.Event()

    async def wait() -> None:
        await peer.idle()
        idle.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert not idle.is_set()
        await run()
    assert idle.is_set()


async def test_a_call_whose_id_is_taken_is_refused_at_once() -> None:
    """The first goes on."""
    channel, second = Told(), Told()
    peer = Peer(Answers(), channel, answers_malformed=True)
    run = lent(peer, channel, call(1, "echo"))

    assert lend(peer, second, call(1, "echo")) is None
    assert told(second)[0]["error"]["code"] == INVALID_REQUEST

    await run()
    assert told(channel) == [success(1)]


async def test_a_task_that_is_ended_by_force_frees_its_call() -> None:
    answers, channel = Answers(), Told()
    peer = Peer(answers, channel, answers_malformed=True)
    run = lent(peer, channel, call(1, "block"))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    await peer.idle()

    assert (answers.started, answers.ended, remains(peer)) == (1, 1, 0)
    assert told(channel)[0]["error"]["code"] == -32603  # its call was not cancelled, so somebody waits


async def test_all_else_is_taken_as_ever() -> None:
    answers, channel = Answers(), Told()
    peer = Peer(answers, channel, answers_malformed=True)

    assert lend(peer, channel, {"jsonrpc": "2.0", "method": "notifications/x"}) is None
    assert answers.heard == ["notifications/x"]
    peer.batches = True
    assert lend(peer, channel, [call(1, "ping"), call(2, "echo")]) is None
    await peer.idle()
    assert sorted(reply["id"] for reply in told(channel)[0]) == [1, 2]
