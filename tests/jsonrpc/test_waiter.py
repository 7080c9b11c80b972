"""How long a call is waited for: every instant here is exact, since time is virtual."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import anyio
import pytest

from dedalus_mcp import transport
from dedalus_mcp.errors import ConnectionLost, McpError, RequestTimeout
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.peer import Peer
from tests.jsonrpc.wire import Asking, Stuck, call, cancelled, conversing, notice, remains, success


async def took(peer: Peer, timeout: Timeout | None, **options: Any) -> float:
    """The seconds until a call times out."""
    begin = anyio.current_time()
    with pytest.raises(RequestTimeout) as expired:
        await peer.call("a", timeout=timeout, **options)
    seconds = anyio.current_time() - begin
    assert expired.value.seconds == pytest.approx(seconds)
    return seconds


def progress() -> dict[str, Any]:
    return notice("notifications/progress", {"progressToken": 0, "progress": 1})


async def test_call_expires_after_its_timeout() -> None:
    """CANC-13."""
    async with conversing() as (conversation, _):
        assert await took(conversation.peer, Timeout(5)) == pytest.approx(5)
        assert await took(conversation.peer, Timeout(5, total=3)) == pytest.approx(3)
        assert await took(conversation.peer, Timeout(0)) == pytest.approx(0)
        assert remains(conversation.peer) == 0


async def test_call_without_timeout_waits_for_as_long_as_it_takes() -> None:
    """B038."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await anyio.sleep(500)
        await wire.send(success(1))

        assert await waiting() == {}


@pytest.mark.parametrize(
    ("timeout", "expires"),
    [
        (Timeout(3), 3),
        (Timeout(3, reset_on_progress=True), 13),
        (Timeout(3, reset_on_progress=True, total=6), 6),
        (Timeout(1.5, reset_on_progress=True), 1.5),  # the first progress comes too late
    ],
    ids=repr,
)
async def test_progress_prolongs_the_wait_up_to_the_total(timeout: Timeout, expires: float) -> None:
    """B038, CANC-14: progress comes at 2, 4, 6, 8 and 10 seconds."""
    async with conversing() as (conversation, wire), anyio.create_task_group() as group:

        async def report() -> None:
            for _ in range(5):
                await anyio.sleep(2)
                await wire.send(progress())

        group.start_soon(report)
        assert await took(conversation.peer, timeout, progress=(0, None)) == pytest.approx(expires)


async def test_time_while_a_person_is_asked_does_not_count() -> None:
    async with conversing() as (conversation, _), anyio.create_task_group() as group:
        peer = conversation.peer

        async def ask(after: float, for_: float) -> None:
            await anyio.sleep(after)
            with peer.clocks_stopped():
                await anyio.sleep(for_)

        group.start_soon(ask, 1, 100)
        group.start_soon(ask, 50, 100)  # overlaps: together they stop 149 seconds
        group.start_soon(ask, 152, 10)
        assert await took(peer, Timeout(5, total=8)) == pytest.approx(5 + 149 + 10)


async def test_call_that_begins_while_a_person_is_asked_counts_from_the_end_of_that() -> None:
    async with conversing() as (conversation, _), anyio.create_task_group() as group:
        stopped: AbstractContextManager[None] = conversation.peer.clocks_stopped()

        async def answer() -> None:
            await anyio.sleep(100)
            stopped.__exit__(None, None, None)

        stopped.__enter__()
        group.start_soon(answer)
        assert await took(conversation.peer, Timeout(5)) == pytest.approx(105)


async def test_time_while_the_transport_asks_a_person_does_not_count() -> None:
    """To sign in, for example; other reasons to wait may overlap."""
    async with conversing() as (conversation, _), anyio.create_task_group() as group:
        peer = conversation.peer

        async def ask(after: float) -> None:
            await anyio.sleep(after)
            peer.feed(transport.Asking(begins=True), peer.channel)
            await anyio.sleep(100)
            peer.feed(transport.Asking(begins=False), peer.channel)

        group.start_soon(ask, 1)
        group.start_soon(ask, 51)
        assert await took(peer, Timeout(5)) == pytest.approx(5 + 150)


async def test_asking_that_fails_lets_time_count_again() -> None:
    async with conversing() as (conversation, _):
        with pytest.raises(McpError), conversation.peer.clocks_stopped():
            raise McpError(-1, "declined")

        assert await took(conversation.peer, Timeout(5)) == pytest.approx(5)


async def test_progress_while_a_person_is_asked_counts_from_the_end_of_that() -> None:
    async with conversing() as (conversation, wire), anyio.create_task_group() as group:

        async def ask() -> None:
            await anyio.sleep(4)
            with conversation.peer.clocks_stopped():
                await anyio.sleep(50)
                await wire.send(progress())
                await anyio.sleep(50)

        group.start_soon(ask)
        timeout = Timeout(5, reset_on_progress=True)
        assert await took(conversation.peer, timeout, progress=(0, None)) == pytest.approx(109)


async def test_reply_at_the_last_moment_wins_over_the_timeout() -> None:
    """CANC-10: at the same instant, the answer is there, and no cancellation is sent."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", timeout=Timeout(5))
        await wire.receive()
        await anyio.sleep(4.999)
        await wire.send(success(1))

        assert await waiting() == {}
        assert await wire.quiet() == []


# A channel that has no room.


async def test_time_in_the_queue_counts_and_what_was_not_sent_is_not_cancelled() -> None:
    """CANC-13: a peer that does not read cannot make a call wait for ever."""
    async with conversing(duplex=Stuck()) as (conversation, _):
        conversation.peer.notify("fill", "x" * (1 << 21))
        await anyio.wait_all_tasks_blocked()

        assert await took(conversation.peer, Timeout(5)) == pytest.approx(5)
        assert remains(conversation.peer) == 0


async def test_call_in_the_queue_fails_as_soon_as_the_connection_is_lost() -> None:
    """B034: also while the handlers of the other side are still given time."""
    for timeout in (None, Timeout(500)):
        stuck = Stuck()
        async with conversing(duplex=stuck, drain=60) as (conversation, _), Asking(conversation.peer) as asking:
            stuck.feed(call(1, "block"))
            conversation.peer.notify("fill", "x" * (1 << 21))
            await anyio.wait_all_tasks_blocked()
            waiting = asking("a", timeout=timeout)
            await anyio.wait_all_tasks_blocked()
            stuck.end("they left")
            begin = anyio.current_time()

            with pytest.raises(ConnectionLost, match="they left"):
                await waiting()
            assert anyio.current_time() - begin < 1  # virtual seconds; the drain takes 60


async def test_call_in_the_queue_can_be_cancelled() -> None:
    stuck = Stuck()
    async with conversing(duplex=stuck) as (conversation, _), Asking(conversation.peer) as asking:
        conversation.peer.notify("fill", "x" * (1 << 21))
        await anyio.wait_all_tasks_blocked()
        scope = anyio.CancelScope()
        waiting = asking("a", scope=scope)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await waiting()
        stuck.release()
        await anyio.wait_all_tasks_blocked()

        assert [message["method"] for message in stuck.written] == ["fill"]
        assert remains(conversation.peer) == 0


async def test_call_in_the_queue_goes_out_when_there_is_room_and_can_be_cancelled_then() -> None:
    stuck = Stuck()
    async with conversing(duplex=stuck) as (conversation, _), Asking(conversation.peer) as asking:
        conversation.peer.notify("fill", "x" * (1 << 21))
        await anyio.wait_all_tasks_blocked()
        expired = asking("a", timeout=Timeout(50))
        answered = asking("b")
        await anyio.wait_all_tasks_blocked()
        stuck.release()
        await anyio.wait_all_tasks_blocked()
        ids = {message["method"]: message["id"] for message in stuck.written if "id" in message}
        stuck.feed(success(ids["b"], {"b": 1}))

        assert await answered() == {"b": 1}
        await anyio.sleep(60)
        assert stuck.written[-1] == cancelled(ids["a"], reason="timed out")
        with pytest.raises(RequestTimeout):
            await expired()
