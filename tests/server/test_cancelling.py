"""Handlers that cannot be cancelled are told that their call is: `Context.on_cancel` and `cancel_reason`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import Context, MCPServer, get_context, tool
from dedalus_mcp.types import ElicitRequestParams
from tests.interaction.raw import Raw, serving

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
PATIENCE = 20.0

both = pytest.mark.parametrize("revision", [LEGACY, MODERN])


def offering(*functions: Callable[..., Any]) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


async def cancel(raw: Raw, id: Any, reason: str) -> None:
    await raw.notify("notifications/cancelled", requestId=id, reason=reason)


@both
async def test_a_thread_is_told_and_can_ask_why(revision: str) -> None:
    began, interrupted = threading.Event(), threading.Event()
    ended = anyio.Event()
    reasons: list[str | None] = []

    @tool
    def query(ctx: Context) -> None:
        with ctx.on_cancel(interrupted.set):
            began.set()
            assert interrupted.wait(PATIENCE)
            reasons.append(ctx.cancel_reason)
        anyio.from_thread.run_sync(ended.set)

    with anyio.fail_after(PATIENCE):
        async with serving(offering(query)) as raw:
            await raw.open(revision)
            await raw.begin(1, "tools/call", name="query", arguments={})
            await anyio.to_thread.run_sync(began.wait)
            assert reasons == []
            await cancel(raw, 1, "changed my mind")
            await ended.wait()

    assert reasons == ["changed my mind"]


async def test_a_block_that_is_over_is_told_nothing() -> None:
    told: list[str] = []
    inside = anyio.Event()

    @tool
    async def work(ctx: Context) -> None:
        with ctx.on_cancel(lambda: told.append("early")):
            pass
        with ctx.on_cancel(lambda: told.append("in time")):
            inside.set()
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(work)) as raw:
            await raw.open(LEGACY)
            await raw.begin(1, "tools/call", name="work", arguments={})
            await inside.wait()
            await cancel(raw, 1, "no")
            await raw.barrier()

    assert told == ["in time"]


async def test_a_block_that_begins_too_late_is_told_at_once_and_once() -> None:
    told: list[str] = []
    inside, over = anyio.Event(), anyio.Event()

    @tool
    async def work(ctx: Context) -> None:
        inside.set()
        try:
            await anyio.sleep_forever()
        finally:
            with ctx.on_cancel(lambda: told.append("late")):
                assert told == ["late"]
            over.set()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(work)) as raw:
            await raw.open(LEGACY)
            await raw.begin(1, "tools/call", name="work", arguments={})
            await inside.wait()
            await cancel(raw, 1, "no")
            await over.wait()

    assert told == ["late"]


@pytest.mark.parametrize("error", [KeyError("no such connection"), SystemExit("no such connection")], ids=repr)
async def test_a_callback_that_fails_is_logged_and_keeps_nobody_from_being_told(
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever cancels calls it, as the read loop does: nothing that it raises may end that."""
    told: list[str] = []
    inside = anyio.Event()

    def fail() -> None:
        raise error

    @tool
    async def work(ctx: Context) -> None:
        with ctx.on_cancel(fail), ctx.on_cancel(lambda: told.append("second")):
            inside.set()
            await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(work)) as raw:
            await raw.open(LEGACY)
            await raw.begin(1, "tools/call", name="work", arguments={})
            await inside.wait()
            await cancel(raw, 1, "no")
            assert [message["id"] for message in [await raw.call(2, "ping")]] == [2]

    assert told == ["second"]
    assert "no such connection" in caplog.text


async def test_a_call_that_waits_for_an_answer_between_rounds_is_told_too() -> None:
    """Nobody comes back in time: the call is cancelled while no request of it is open."""
    told: list[str | None] = []
    server = MCPServer("test")

    @tool
    async def ask(ctx: Context) -> None:
        with ctx.on_cancel(lambda: told.append(ctx.cancel_reason)):
            await server.request_elicitation(
                ElicitRequestParams(
                    message="?", requestedSchema={"type": "object", "properties": {"a": {"type": "string"}}}
                )
            )

    server.collect(ask)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, {"elicitation": {"form": {}}})
            assert (await raw.tool(1, "ask"))["result"]["resultType"] == "input_required"
            await wait_all_tasks_blocked()
            assert told == []
            server.parkings.here().expire(float("inf"))
            await wait_all_tasks_blocked()

    assert told == ["nobody came back with an answer in time"]


@pytest.mark.parametrize("callback", [None, "close"], ids=repr)
async def test_what_cannot_be_called_at_once_is_refused(callback: Any) -> None:
    await _refused(callback)


async def test_a_coroutine_function_is_refused() -> None:
    async def later() -> None: ...

    await _refused(later)


async def _refused(callback: Any) -> None:
    refused: list[str] = []

    @tool
    async def work() -> None:
        try:
            get_context().on_cancel(callback)
        except TypeError as error:
            refused.append(str(error))

    async with serving(offering(work)) as raw:
        await raw.open(LEGACY)
        await raw.tool(1, "work")

    assert len(refused) == 1
    assert "on_cancel takes a plain function" in refused[0]
