"""The bounds of a tool: how long a call may run, and how many may at once; questions are not counted."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, Depends, MCPClient, MCPServer, get_context, tool
from dedalus_mcp.errors import AskFailed
from dedalus_mcp.types import CallToolResult, ElicitResult, TextContent
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE
from tests.virtual_time import virtual

both = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


def offering(*functions: Callable[..., Any]) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@tool(timeout=2)
async def slow(seconds: float) -> str:
    await anyio.sleep(seconds)
    return "done"


async def test_a_call_that_takes_too_long_is_cancelled_and_the_model_is_told() -> None:
    server = offering(slow)
    began = anyio.current_time()
    result = await server.invoke_tool("slow", seconds=100)

    assert result.isError
    assert text(result) == "Tool 'slow' timed out after 2 s"
    assert anyio.current_time() - began == pytest.approx(2)
    assert text(await server.invoke_tool("slow", seconds=1)) == "done"


async def test_the_time_is_that_of_one_call_on_the_wire_too() -> None:
    server = offering(slow)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="slow", arguments={"seconds": 100})
            await anyio.sleep(1)
            assert "isError" not in (await raw.tool(2, "slow", seconds=1.5))["result"]
            assert any(message.get("id") == 1 and message["result"]["isError"] for message in raw.heard)


async def test_a_timeout_of_the_authors_own_is_a_failure_like_any_other() -> None:
    @tool(timeout=5)
    async def own() -> None:
        with anyio.fail_after(1):
            await anyio.sleep_forever()

    async with MCPClient.connect(offering(own)) as client:
        assert text(await client.call_tool("own")) == "Tool 'own' failed with an internal error"


async def test_a_tool_may_still_return_what_it_has_when_its_time_is_over() -> None:
    @tool(timeout=1)
    async def partial_result() -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            pass
        return "half"

    assert text(await offering(partial_result).invoke_tool("partial_result")) == "half"


async def test_what_a_call_depends_on_is_within_its_time_and_taken_down() -> None:
    events: list[str] = []

    async def dep() -> AsyncIterator[None]:
        await anyio.sleep(1)
        try:
            yield
        finally:
            await anyio.sleep(1)
            events.append("down")

    @tool(timeout=2)
    async def long(dep: None = Depends(dep)) -> None:
        await anyio.sleep(1.5)
        events.append("unreachable")

    assert text(await offering(long).invoke_tool("long")) == "Tool 'long' timed out after 2 s"
    assert events == ["down"]


class Crowd:
    """Counts who runs."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def enter(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def leave(self) -> None:
        self.now -= 1


async def test_no_more_calls_run_at_once_than_may_and_all_are_answered() -> None:
    crowd = Crowd()

    @tool(max_concurrent=3, timeout=2)
    async def limited() -> None:
        crowd.enter()
        await anyio.sleep(1)
        crowd.leave()

    server = offering(limited)
    results: list[CallToolResult] = []

    async def call() -> None:
        results.append(await server.invoke_tool("limited"))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(call)
    assert crowd.most == 3
    assert [result.isError for result in results] == [False] * 10  # waiting is no running: none was out of time


async def test_a_failing_and_a_cancelled_call_give_their_places_back() -> None:
    began = anyio.Event()

    @tool(max_concurrent=1)
    async def once(how: str) -> str:
        if how == "fail":
            raise KeyError(how)
        if how == "wait":
            began.set()
            await anyio.sleep_forever()
        return how

    server = offering(once)
    with anyio.fail_after(PATIENCE):
        with pytest.raises(KeyError):
            await server.invoke_tool("once", how="fail")
        async with anyio.create_task_group() as group:
            group.start_soon(partial(server.invoke_tool, "once", how="wait"))
            await began.wait()
            group.start_soon(partial(server.invoke_tool, "once", how="waits for its place"))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert text(await server.invoke_tool("once", how="fine")) == "fine"


async def test_each_tool_has_bounds_of_its_own() -> None:
    going = anyio.Event()

    @tool(max_concurrent=1)
    async def waits() -> None:
        await going.wait()

    @tool(max_concurrent=1)
    async def goes() -> None:
        going.set()

    server = offering(waits, goes)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(server.invoke_tool, "waits")
            await anyio.wait_all_tasks_blocked()
            group.start_soon(server.invoke_tool, "goes")


async def accept(params: Any) -> ElicitResult:
    await anyio.sleep(10)
    (name,) = params.requestedSchema["properties"]
    return ElicitResult(action="accept", content={name: True})


@both
async def test_the_time_in_which_a_person_thinks_does_not_count(revision: str) -> None:
    @tool(timeout=2)
    async def deploy(seconds: float, ctx: Context) -> str:
        await anyio.sleep(0.75)
        assert await ctx.confirm("One?")
        await anyio.sleep(seconds)
        assert await ctx.confirm("Two?")
        return "deployed"

    async with MCPClient.connect(offering(deploy), revision=revision, elicitation=accept) as client:
        assert text(await client.call_tool("deploy", {"seconds": 1})) == "deployed"
        assert text(await client.call_tool("deploy", {"seconds": 1.5})) == "Tool 'deploy' timed out after 2 s"


@both
async def test_questions_at_once_stop_the_time_until_the_last_is_answered(revision: str) -> None:
    async def answer(params: Any) -> ElicitResult:
        await anyio.sleep(10 if params.message == "short" else 60)
        (name,) = params.requestedSchema["properties"]
        return ElicitResult(action="accept", content={name: True})

    @tool(timeout=2, max_concurrent=1)
    async def both_at_once(ctx: Context) -> str:
        await anyio.sleep(1.5)
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.confirm, "short")
            group.start_soon(ctx.confirm, "long")
        return "done"

    async with MCPClient.connect(offering(both_at_once), revision=revision, elicitation=answer) as client:
        for _ in range(2):
            assert text(await client.call_tool("both_at_once")) == "done"


@both
async def test_a_call_that_asks_lets_others_run_and_waits_for_its_place_again(revision: str) -> None:
    crowd = Crowd()
    events: list[str] = []

    @tool(max_concurrent=1)
    async def deploy(asks: bool, ctx: Context) -> None:
        crowd.enter()
        if asks:
            crowd.leave()
            await ctx.confirm("Sure?")
            crowd.enter()
        events.append("asked" if asks else "ran")
        await anyio.sleep(20)
        crowd.leave()

    async with (
        MCPClient.connect(offering(deploy), revision=revision, elicitation=accept) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(client.call_tool, "deploy", {"asks": True})
        await anyio.sleep(1)
        group.start_soon(client.call_tool, "deploy", {"asks": False})
    assert events == ["ran", "asked"]
    assert crowd.most == 1


@both
async def test_a_question_that_is_given_up_leaves_the_bounds_as_they_were(revision: str) -> None:
    crowd = Crowd()

    @tool(timeout=2, max_concurrent=1)
    async def hasty(ctx: Context, seconds: float) -> str:
        with anyio.move_on_after(5):
            await ctx.confirm("Sure?")
        crowd.enter()
        await anyio.sleep(seconds)
        crowd.leave()
        return "went on"

    async with MCPClient.connect(offering(hasty), revision=revision, elicitation=accept) as client:
        assert text(await client.call_tool("hasty", {"seconds": 1})) == "went on"
        assert text(await client.call_tool("hasty", {"seconds": 3})) == "Tool 'hasty' timed out after 2 s"
        assert text(await client.call_tool("hasty", {"seconds": 1})) == "went on"


async def test_sync_tools_have_the_same_bounds() -> None:
    go_on = threading.Event()

    @tool(timeout=0.01)
    def blocked() -> None:
        go_on.wait(PATIENCE)

    server = offering(blocked)
    try:
        assert text(await server.invoke_tool("blocked")) == "Tool 'blocked' timed out after 0.01 s"
    finally:
        go_on.set()
    await server.threads.idle()


async def test_what_a_call_leaves_asking_takes_no_place_when_it_is_over() -> None:
    async with anyio.create_task_group() as group:

        @tool(max_concurrent=1)
        async def leaves(ctx: Context) -> str:
            group.start_soon(ask, ctx)
            await anyio.wait_all_tasks_blocked()
            return "left"

        async def ask(ctx: Context) -> None:
            with contextlib.suppress(AskFailed):
                await ctx.confirm("Sure?")

        async with MCPClient.connect(offering(leaves), revision="2025-11-25", elicitation=accept) as client:
            with anyio.fail_after(1000):
                for _ in range(3):
                    assert text(await client.call_tool("leaves")) == "left"
        group.cancel_scope.cancel()


@pytest.mark.parametrize("wrong", ["1", True, [1]], ids=repr)
def test_a_bound_is_a_number(wrong: Any) -> None:
    with pytest.raises(TypeError, match="timeout is a number of seconds"):
        tool(timeout=wrong)
    with pytest.raises(TypeError, match="max_concurrent is a number of calls"):
        tool(max_concurrent=wrong)
    with pytest.raises(TypeError, match=r"max_concurrent is a number of calls, not 1\.5"):
        tool(max_concurrent=1.5)  # type: ignore[call-overload]


def test_a_bound_leaves_room() -> None:
    for none in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="more than 0 seconds"):
            tool(timeout=none)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        tool(max_concurrent=0)


async def test_an_unbounded_tool_asks_as_ever() -> None:
    @tool
    async def free() -> bool:
        return await get_context().confirm("Sure?")

    async with MCPClient.connect(offering(free), elicitation=accept) as client:
        assert text(await client.call_tool("free")) == "true"
