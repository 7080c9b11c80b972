"""What becomes of a handler that fails: one reply, one traceback, and nothing internal."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from typing import Any

import anyio
import msgspec
import pytest

from dedalus_mcp.errors import ErrorData, McpError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from tests.jsonrpc.wire import Answers, Told, call, conversing, failure, feed, remains, success

INTERNAL = failure(1, -32603, "Internal error")


class Odd(BaseException):
    """Neither an error nor a cancellation."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Answers:
    async def fail(_call: Inbound) -> Any:
        raise error

    return Answers(fail=fail)


def returning(value: Any) -> Answers:
    async def give(_call: Inbound) -> Any:
        return value

    return Answers(fail=give)


async def reply_of(answers: Answers) -> Any:
    """The one reply to a call of `fail`, after which the conversation still works."""
    async with conversing(answers) as (conversation, wire):
        await wire.send(call(1, "fail"))
        reply = await wire.receive()
        assert await wire.quiet() == []
        await wire.send(call(2, "echo"))
        assert await wire.receive() == success(2)
        assert remains(conversation.peer) == 0
    return reply


@pytest.mark.parametrize("groups", [0, 1, 2])
async def test_mcp_error_keeps_code_message_and_data(groups: int, caplog: pytest.LogCaptureFixture) -> None:
    """B007: also out of task groups."""
    errors: list[Exception] = [McpError(-32050, "mine", {"why": ["so"]})]
    for _ in range(groups):
        errors.append(ExceptionGroup("tasks", errors[-1:]))
    reply = await reply_of(raising(errors[-1]))

    assert reply == failure(1, -32050, "mine", data={"why": ["so"]})
    assert not caplog.records


@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret"),
        KeyError("secret"),
        SystemExit("secret"),
        Odd("secret"),
        Unprintable(),
        RuntimeError("\udfff"),
        StopAsyncIteration("secret"),
        ExceptionGroup("secret", [McpError(-1, "a"), McpError(-2, "b")]),
        ExceptionGroup("secret", [McpError(-1, "a"), ValueError("secret")]),
        BaseExceptionGroup("secret", [McpError(-1, "a"), SystemExit(1)]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_any_other_error_is_internal_on_the_wire_and_one_traceback_in_the_log(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    assert await reply_of(raising(error)) == INTERNAL
    assert [(record.levelno, bool(record.exc_info)) for record in caplog.records] == [(logging.ERROR, True)]
    assert "secret" not in caplog.records[0].getMessage()


@pytest.mark.parametrize("value", [object(), {"x": object()}, {(1, 2): 3}, 1j, {"x": lambda: None}])
async def test_result_that_is_no_json_is_an_internal_error(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert await reply_of(returning(value)) == INTERNAL
    assert len(caplog.records) == 1


@pytest.mark.parametrize("text", ["a\udca3b", "\ud800"])
async def test_half_a_surrogate_pair_is_replaced_in_results_and_errors(text: str) -> None:
    """B124."""
    assert "\ufffd" in (await reply_of(returning({"x": text})))["result"]["x"]
    assert "\ufffd" in (await reply_of(raising(McpError(-1, text))))["error"]["message"]


async def test_data_that_is_no_json_is_left_out_of_the_error(caplog: pytest.LogCaptureFixture) -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    for data in (object(), {"x": object()}, cyclic):
        caplog.clear()
        assert await reply_of(raising(McpError(-32050, "mine", data))) == failure(1, -32050, "mine")
        assert len(caplog.records) == 1


@pytest.mark.parametrize("wrong", [ErrorData(-1, ValueError("x")), ErrorData(object(), "m")])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
async def test_error_that_is_no_json_itself_is_an_internal_error(
    wrong: ErrorData, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception passed on as the message, say: the peer must not wait for ever."""
    assert await reply_of(raising(McpError(wrong))) == INTERNAL
    assert caplog.records


async def test_foreign_cancellation_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that awaits a task which somebody cancelled: nobody cancelled the call itself."""

    async def fail(_call: Inbound) -> Any:
        if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:  # only asyncio lets one wander
            raise ValueError
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    assert await reply_of(Answers(fail=fail)) == INTERNAL
    assert len(caplog.records) == 1


async def test_handler_whose_task_is_cancelled_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    """By a library that cancels whatever task it finds: the peer still gets its reply."""

    async def fail(_call: Inbound) -> Any:
        if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
            raise ValueError
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep(1)

    assert await reply_of(Answers(fail=fail)) == INTERNAL
    del caplog


def test_call_whose_task_is_cancelled_before_its_first_step_is_answered() -> None:
    """On asyncio, where that can happen: and its coroutine is closed, without a warning."""

    async def main() -> None:
        async with conversing() as (conversation, wire):
            before = asyncio.all_tasks()
            feed(conversation.peer, b'{"jsonrpc":"2.0","id":1,"method":"echo"}')
            for task in asyncio.all_tasks() - before:
                task.cancel()
            assert await wire.receive() == INTERNAL
            assert remains(conversation.peer) == 0

    asyncio.run(main())
    gc.collect()


async def test_handler_that_ends_itself_is_answered() -> None:
    """Nothing leaves a handler's task: on trio it would end the program."""
    assert await reply_of(raising(GeneratorExit())) == INTERNAL


async def cancel_itself(_call: Inbound) -> Any:
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        raise GeneratorExit
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await anyio.sleep(1)


@pytest.mark.parametrize("handler", [raising(GeneratorExit()), Answers(fail=cancel_itself)], ids=["exit", "cancel"])
async def test_reply_to_a_call_whose_task_was_ended_by_force_is_sent(handler: Answers) -> None:
    """B076: on a channel of its own nobody else would send it."""
    channel = Told()
    peer = Peer(handler, channel, answers_malformed=True)
    peer.feed(msgspec.json.encode(call(1, "fail")), channel)
    with anyio.fail_after(20):
        await channel.flushed.wait()
    await peer.idle()

    (reply,) = channel.told
    assert reply is not None
    assert json.loads(reply.frame) == INTERNAL


async def test_handler_that_leaves_a_scope_open_is_answered() -> None:
    async def fail(_call: Inbound) -> Any:
        anyio.CancelScope().__enter__()
        return {}

    reply = await reply_of(Answers(fail=fail))
    assert reply in (success(1), INTERNAL)


async def test_error_in_the_part_that_runs_at_once_is_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    """Before there is a coroutine, `answer` runs in the read loop."""

    class Hasty(Answers):
        def answer(self, call: Inbound) -> Any:
            if call.method == "fail":
                raise ValueError("secret")
            return super().answer(call)

    assert await reply_of(Hasty()) == INTERNAL
    assert len(caplog.records) == 1


async def test_notice_that_cannot_be_heard_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    class Deaf(Answers):
        def frees_others(self, call: Any) -> bool:
            return False

        def hear(self, notice: Any) -> None:
            raise ValueError(notice.method)

    async with conversing(Deaf()) as (_, wire):
        await wire.send({"jsonrpc": "2.0", "method": "n"}, call(1, "echo"))
        assert await wire.receive() == success(1)
    assert len(caplog.records) == 1


async def test_progress_that_cannot_be_told_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_params: Any) -> None:
        raise ValueError

    async with conversing() as (conversation, wire), anyio.create_task_group() as group:
        group.start_soon(lambda: conversation.peer.call("a", progress=(0, refuse)))
        await wire.receive()
        await wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 0}})
        await wire.send(success(1))
    assert len(caplog.records) == 1
