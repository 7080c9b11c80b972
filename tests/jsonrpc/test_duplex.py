"""`Conversation`: how it ends, and that it always does."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import anyio
import pytest

from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.jsonrpc.duplex import CLOSING_SECONDS, Conversation
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.outbox import MAX_PENDING
from dedalus_mcp_transports.memory import pair
from tests.jsonrpc.wire import (
    Answers,
    Asking,
    Stuck,
    Wire,
    call,
    conversing,
    ended,
    feed,
    notice,
    remains,
    send,
    success,
)

# A little more than the handlers' and the outbox's time together: one each while draining, one at the end.
BOUND = 3 * CLOSING_SECONDS + 0.1


async def stubborn(_call: Inbound) -> Any:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(200)


async def careful(_call: Inbound) -> Any:
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(CLOSING_SECONDS / 2)


async def finishing(_call: Inbound) -> Any:
    await anyio.sleep(5)
    return {"finished": True}


# The other side ends.


async def test_end_of_the_other_side_fails_open_calls_at_once_with_its_reason() -> None:
    """B034: and later calls too."""
    stuck = Stuck()
    async with conversing(duplex=stuck, drain=60) as (conversation, _), Asking(conversation.peer) as asking:
        waiting = [asking("a"), asking("b")]
        await anyio.wait_all_tasks_blocked()
        stuck.feed(call(1, "block"))
        stuck.end("exit code 3: no such file")
        for each in waiting:
            with pytest.raises(ConnectionLost, match="exit code 3"):
                await each()

        with pytest.raises(ConnectionLost, match="exit code 3"):
            await conversation.peer.call("a")
        assert conversation.ended == "exit code 3: no such file"


async def test_handlers_may_finish_while_draining_and_their_replies_go_out() -> None:
    """B047: that is how a server fed from a file works."""
    stuck = Stuck()
    stuck.release()
    async with conversing(Answers(finishing=finishing), duplex=stuck, drain=10):
        stuck.feed(call(1, "finishing"), call(2, "ping"))
        stuck.end("end of file")
    assert stuck.written == [success(2), success(1, {"finished": True})]


async def test_handlers_still_running_after_the_drain_are_cancelled_and_clean_up() -> None:
    """B047."""
    stuck = Stuck()
    answers = Answers(careful=careful)
    begin = anyio.current_time()
    async with conversing(answers, duplex=stuck, drain=10) as (conversation, _):
        stuck.feed(call(1, "block"), call(2, "careful"))
        stuck.end("gone")

    assert answers.ended == 1
    assert remains(conversation.peer) == 0
    assert 10 <= anyio.current_time() - begin <= 10 + BOUND


async def test_run_returns_in_time_though_a_handler_will_not_end() -> None:
    begin = anyio.current_time()
    near, far = pair()
    conversation = Conversation(Answers(stubborn=stubborn), near, answers_malformed=True)
    async with anyio.create_task_group() as group:
        group.start_soon(conversation.run)
        await Wire(far).send(call(1, "stubborn"))
        await anyio.wait_all_tasks_blocked()
        await far.aclose()
    assert anyio.current_time() - begin <= BOUND
    await anyio.sleep(300)
    assert remains(conversation.peer) == 0


async def test_run_returns_in_time_though_nobody_reads() -> None:
    """Replies that wait for room included."""
    stuck = Stuck()
    begin = anyio.current_time()
    async with conversing(duplex=stuck) as (conversation, _):
        conversation.peer.notify("fill", "x" * (1 << 21))
        stuck.feed(*[call(id, "echo") for id in range(10)])
        await anyio.wait_all_tasks_blocked()
        stuck.end("gone")
    assert anyio.current_time() - begin <= BOUND
    assert remains(conversation.peer) == 0


async def test_handlers_that_ask_while_draining_are_told_that_nobody_can_answer() -> None:
    stuck = Stuck()
    told: list[str] = []

    async def ask(_call: Inbound) -> Any:
        await anyio.sleep(1)
        try:
            await conversation.peer.call("elicitation/create")
        except ConnectionLost as error:
            told.append(error.reason)
        return {}

    async with conversing(Answers(ask=ask), duplex=stuck, drain=10) as (conversation, _):
        stuck.feed(call(1, "ask"))
        stuck.end("they left")
    assert told == ["they left"]


# It ends here.


async def test_stop_fails_our_calls_cancels_theirs_and_closes_the_duplex() -> None:
    answers = Answers()
    async with conversing(answers) as (conversation, wire), Asking(conversation.peer) as asking:
        await wire.send(call(1, "block"))
        waiting = asking("a")
        await anyio.wait_all_tasks_blocked()
        conversation.stop("enough")
        conversation.stop("more than enough")

        with pytest.raises(ConnectionLost, match="enough"):
            await waiting()
        assert conversation.ended == "enough"
        await wire.receive()
        with pytest.raises(anyio.EndOfStream):
            await wire.receive()
    assert answers.ended == 1


async def test_ten_stops_at_once_are_one() -> None:
    """B100."""
    async with conversing() as (conversation, _), anyio.create_task_group() as group:

        async def stop(number: int) -> None:
            conversation.stop(f"stop {number}")

        for number in range(10):
            group.start_soon(stop, number)
        await ended(lambda: conversation.ended is not None)
        assert conversation.ended is not None
        assert conversation.ended.startswith("stop")


async def test_stop_before_run_ends_it_at_once() -> None:
    near, far = pair()
    conversation = Conversation(Answers(), near, answers_malformed=True)
    conversation.stop("not today")

    with anyio.fail_after(BOUND):
        await conversation.run()
    with pytest.raises(anyio.EndOfStream):
        await far.receive()
    with pytest.raises(ConnectionLost, match="not today"):
        await conversation.peer.call("a")


async def test_stop_from_a_handler_ends_that_handler_too() -> None:
    """B100."""
    after: list[bool] = []

    async def stop(_call: Inbound) -> Any:
        conversation.stop("from inside")
        conversation.stop("again")
        try:
            await anyio.sleep_forever()
        finally:
            after.append(True)

    async with conversing(Answers(stop=stop)) as (conversation, wire):
        await wire.send(call(1, "stop"), call(2, "block"))
        with pytest.raises(anyio.EndOfStream):
            await wire.receive()
    assert after == [True]
    assert conversation.ended == "from inside"


async def test_stop_while_a_frame_is_taken_drops_the_rest() -> None:
    """B100: from `hear`, which runs in the read loop."""

    class Stopping(Answers):
        def frees_others(self, call: Any) -> bool:
            return False

        def hear(self, notice: Any) -> None:
            super().hear(notice)
            conversation.stop("heard enough")

    answers = Stopping()
    async with conversing(answers) as (conversation, wire):
        await wire.send(notice("stop"), call(1, "block"), call(2, "ping"))
        with pytest.raises(anyio.EndOfStream):
            await wire.receive()
    assert answers.started == 0


async def test_nothing_that_arrives_after_the_end_is_run_or_answered() -> None:
    """B100: no handler starts while the conversation closes."""
    answers = Answers(careful=careful)
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(1, "careful"))
        await anyio.wait_all_tasks_blocked()
        conversation.stop("enough")
        for frame in (b'{"jsonrpc":"2.0","id":2,"method":"block"}', b'{"jsonrpc":"2.0","id":3,"method":"ping"}', b"?"):
            feed(conversation.peer, frame)
        conversation.peer.notify("too late")
        with pytest.raises(anyio.EndOfStream):
            await wire.receive()
    assert answers.started == 0


async def test_progress_listener_may_stop_the_conversation() -> None:
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", progress=(0, lambda _params: conversation.stop("seen enough")))  # pyright: ignore[reportUnknownLambdaType]
        await wire.receive()
        await wire.send(notice("notifications/progress", {"progressToken": 0, "progress": 1}), success(1))

        with pytest.raises(ConnectionLost, match="seen enough"):
            await waiting()


async def test_cancelling_run_ends_everything_and_lets_handlers_clean_up() -> None:
    answers = Answers(careful=careful)
    near, far = pair()
    conversation = Conversation(answers, near, answers_malformed=True)
    async with anyio.create_task_group() as group:
        group.start_soon(conversation.run)
        await Wire(far).send(call(1, "block"), call(2, "careful"))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert answers.ended == 1
    assert remains(conversation.peer) == 0
    assert conversation.ended == "the connection was closed here"


# The connection breaks.


class Broken(Stuck):
    """A duplex that fails where it is told to."""

    def __init__(self, *, receive: Exception | None = None, send: Exception | None = None, aclose: Any = None) -> None:
        super().__init__()
        self._errors = (receive, send, aclose)

    async def receive(self) -> Any:
        if self._errors[0] is not None:
            raise self._errors[0]
        return await super().receive()

    async def send(self, frames: Any) -> None:
        if self._errors[1] is not None:
            raise self._errors[1]
        await super().send(frames)

    async def aclose(self) -> None:
        await super().aclose()
        if self._errors[2] is not None:
            raise self._errors[2]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (anyio.EndOfStream("exit code 1"), "exit code 1"),
        (anyio.EndOfStream(), "the other side ended the connection"),
        (anyio.BrokenResourceError("reset"), "reset"),
        (anyio.BrokenResourceError(), "the connection broke"),
        (anyio.ClosedResourceError("closed"), "closed"),
        (OSError("on fire"), "on fire"),
        (RuntimeError("a bug"), "a bug"),
    ],
    ids=repr,
)
async def test_failing_receive_ends_the_conversation_with_its_reason(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    conversation = Conversation(Answers(), Broken(receive=error), answers_malformed=True)

    with anyio.fail_after(BOUND):
        await conversation.run(drain=10)
    assert conversation.ended is not None
    assert reason in conversation.ended
    assert len(caplog.records) == (type(error) in (OSError, RuntimeError))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (anyio.BrokenResourceError("nobody reads"), "nobody reads"),
        (anyio.BrokenResourceError(), "does not read any more"),
        (OSError("on fire"), "on fire"),
    ],
    ids=repr,
)
async def test_failing_send_ends_the_conversation_with_its_reason(error: Exception, reason: str) -> None:
    async with conversing(duplex=Broken(send=error)) as (conversation, _), Asking(conversation.peer) as asking:
        with pytest.raises(ConnectionLost, match=reason):
            await asking("a")()
        assert reason in str(conversation.ended)


async def test_reason_of_the_end_wins_over_the_broken_pipe_that_it_caused() -> None:
    """B034: the writer notices first, and the reader finds out why."""
    broken = Broken(send=anyio.BrokenResourceError("broken pipe"))
    async with conversing(duplex=broken) as (conversation, _), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await anyio.wait_all_tasks_blocked()
        broken.end("exit code 1")

        with pytest.raises(ConnectionLost, match="exit code 1"):
            await waiting()


async def test_failing_close_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """B040: `run` raises nothing but cancellation."""
    async with conversing(duplex=Broken(aclose=OSError("no"))) as (conversation, _):
        conversation.stop("enough")
        await ended(lambda: bool(caplog.records))
    assert len(caplog.records) == 1


async def test_overflow_ends_the_conversation_and_says_why() -> None:
    async with conversing(duplex=Stuck()) as (conversation, _), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await anyio.wait_all_tasks_blocked()
        frame = bytes(MAX_PENDING // 4)
        for _ in range(5):
            send(conversation.peer, frame)

        with pytest.raises(ConnectionLost, match="does not read"):
            await waiting()


# Event loops that end.


def test_loop_that_ends_with_an_open_conversation_lets_handlers_clean_up() -> None:
    """asyncio cancels every task natively then, and waits for them."""
    answers = Answers(careful=careful)

    async def main() -> None:
        near, far = pair()
        conversation = Conversation(answers, near, answers_malformed=True)
        running = asyncio.ensure_future(conversation.run(drain=10))
        await Wire(far).send(call(1, "block"), call(2, "careful"))
        await anyio.wait_all_tasks_blocked()
        assert not running.done()

    asyncio.run(main())
    gc.collect()
    assert (answers.started, answers.ended) == (1, 1)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_keyboard_interrupt_passes_through(backend: str) -> None:
    async def main() -> None:
        async with conversing():
            raise KeyboardInterrupt

    interrupts: list[object] = []
    try:
        anyio.run(main, backend=backend)
    except* KeyboardInterrupt as group:
        interrupts.append(group)
    assert interrupts
