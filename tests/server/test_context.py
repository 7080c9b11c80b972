"""`Context`: every member, in every kind of handler, and nothing after the reply."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import from_thread, wait_all_tasks_blocked

from dedalus_mcp import Context, MCPServer, get_context, tool
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.context import active_context
from dedalus_mcp.server.logs import LEVELS
from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities
from tests.interaction.raw import Raw, serving
from tests.server.stalled import Stalled

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


async def said(raw: Raw, method: str) -> list[Any]:
    """The params of the notices with that method, among all that has arrived until now."""
    await raw.barrier()
    return [message["params"] for message in raw.heard if message.get("method") == method]


def test_outside_of_a_call_there_is_none() -> None:
    with pytest.raises(LookupError, match=r"^No active context; use get_context\(\) from within a request handler$"):
        get_context()
    assert active_context() is None


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
async def test_every_member_tells_of_the_call(revision: str) -> None:
    seen: list[Context] = []

    @tool
    async def look(ctx: Context) -> None:
        seen.append(ctx)
        assert get_context() is ctx

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[str]:
        yield f"the life of {server.name}"

    server = offering(look, lifespan=life)
    async with serving(server) as raw:
        await raw.open(revision, {"roots": {}})
        await raw.call(7, "tools/call", name="look", _meta={"progressToken": 0, "mine": [1]})
        (ctx,) = seen

        assert ctx.server is server
        assert ctx.request_id == "7"
        assert ctx.session_id is None
        assert ctx.revision == revision
        assert ctx.modern == (revision == MODERN)
        assert ctx.client_capabilities.roots is not None
        assert (ctx.client_info is None) == ctx.modern
        assert ctx.progress_token == 0
        assert ctx.meta["mine"] == [1]
        assert ctx.lifespan == "the life of test"
        assert ctx.terms.revision == revision
        assert ctx.call.method == "tools/call"
        assert ctx.peer is not None
        assert ctx.headers == {}
    assert active_context() is None


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
async def test_it_is_given_to_the_parameter_that_is_annotated_so_whatever_types_it_names(revision: str) -> None:
    """B146: it is no argument."""
    seen: list[Any] = []

    @tool
    def typed(a: int, b: Context[dict[str, int]]) -> None:
        seen.append(b)

    @tool
    def optional(a: int, *, d: Context[None, int] | None = None) -> None:
        seen.append(d)

    server = offering(typed, optional)
    async with serving(server) as raw:
        await raw.open(revision)
        for number, each in enumerate((await raw.call(1, "tools/list"))["result"]["tools"]):
            assert list(each["inputSchema"]["properties"]) == ["a"]
            assert not (await raw.tool(number, each["name"], a=1))["result"].get("isError", False)

    assert [type(each) for each in seen] == [Context, Context]


async def test_threads_child_tasks_and_prompts_have_the_same_context() -> None:
    seen: dict[str, str] = {}

    @tool
    def in_thread(ctx: Context) -> None:
        assert get_context() is ctx
        seen["thread"] = ctx.request_id
        assert ctx.lifespan == "alive"
        assert threading.current_thread() is not threading.main_thread()
        from_thread.run(ctx.info, "from a thread")

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[str]:
        yield "alive"

    @tool
    async def in_child() -> None:
        async def child() -> None:
            seen["child"] = get_context().request_id

        async with anyio.create_task_group() as group:
            group.start_soon(child)

    @tool(inline=True)
    def in_line() -> None:
        seen["inline"] = get_context().request_id

    async with serving(offering(in_thread, in_child, in_line, lifespan=life)) as raw:
        await raw.open(LEGACY)
        await raw.tool("a", "in_thread")
        await raw.tool("b", "in_child")
        await raw.tool("c", "in_line")

        assert seen == {"thread": "a", "child": "b", "inline": "c"}
        assert [params["data"] for params in await said(raw, "notifications/message")] == [{"msg": "from a thread"}]


@pytest.mark.parametrize("token", [True, 1.5, [1], None], ids=repr)
async def test_a_progress_token_that_is_none_counts_as_absent(token: object) -> None:
    seen: list[Any] = []

    @tool
    async def look(ctx: Context) -> None:
        seen.append(ctx.progress_token)
        await ctx.report_progress(1)

    async with serving(offering(look)) as raw:
        await raw.open(LEGACY)
        await raw.call(1, "tools/call", name="look", _meta={"progressToken": token})

        assert await said(raw, "notifications/progress") == []
    assert seen in ([], [None])  # refused, or taken for none


@tool
async def log_all(ctx: Context) -> None:
    for level in LEVELS:
        await ctx.log(level, level, logger="l", data={"n": 1, "msg": "overwritten"})


@pytest.mark.parametrize("threshold", LEVELS)
async def test_a_session_hears_from_its_threshold_on(threshold: str) -> None:
    """LOG-02, LOG-07."""
    async with serving(offering(log_all)) as raw:
        await raw.open(LEGACY)
        await raw.call(1, "logging/setLevel", level=threshold)
        await raw.tool(2, "log_all")

        heard = await said(raw, "notifications/message")
    assert [params["level"] for params in heard] == list(LEVELS)[LEVELS.index(threshold) :]
    assert all(params["logger"] == "l" for params in heard)
    assert all(params["data"] == {"n": 1, "msg": params["level"]} for params in heard)


async def test_one_sessions_threshold_is_none_of_anothers() -> None:
    server = offering(log_all)
    async with serving(server) as loud, serving(server) as quiet:
        await loud.open(LEGACY)
        await quiet.open(LEGACY)
        await loud.call(1, "logging/setLevel", level="debug")
        await quiet.call(1, "logging/setLevel", level="emergency")
        await loud.tool(2, "log_all")
        await quiet.tool(2, "log_all")

        assert len(await said(loud, "notifications/message")) == len(LEVELS)
        assert len(await said(quiet, "notifications/message")) == 1


async def test_a_modern_request_hears_what_it_asks_for_and_nothing_else() -> None:
    """LOG-03, LOG-04."""
    async with serving(offering(log_all)) as raw:
        await raw.open(MODERN)
        await raw.tool(1, "log_all")
        assert await said(raw, "notifications/message") == []
        level = {"io.modelcontextprotocol/logLevel": "alert"}
        await raw.call(2, "tools/call", name="log_all", _meta=level)

        assert [params["level"] for params in await said(raw, "notifications/message")] == ["alert", "emergency"]


async def test_every_shorthand_logs_at_its_level() -> None:
    @tool
    async def log(ctx: Context) -> None:
        for name in ("debug", "info", "notice", "warning", "error", "critical"):
            shorthand: Callable[..., Awaitable[None]] = getattr(ctx, name)
            await shorthand("m", data=[name])

    async with serving(offering(log)) as raw:
        await raw.open(LEGACY)
        await raw.call(1, "logging/setLevel", level="debug")
        await raw.tool(2, "log")
        heard = await said(raw, "notifications/message")

    assert [params["level"] for params in heard] == list(LEVELS[:6])
    assert [params["data"] for params in heard] == [{"msg": "m", "data": [level]} for level in LEVELS[:6]]


async def test_a_level_that_is_none_is_refused() -> None:
    errors: list[str] = []

    @tool
    async def log(ctx: Context) -> None:
        loud: Any = "loud"
        try:
            await ctx.log(loud, "m")
        except ValueError as error:
            errors.append(str(error))

    async with serving(offering(log)) as raw:
        await raw.open(LEGACY)
        await raw.tool(1, "log")
    assert len(errors) == 1
    assert "emergency" in errors[0]


async def test_progress_is_reported_as_it_rises() -> None:
    """PROG-03, PROG-05."""
    refused: list[str] = []

    @tool
    async def work(ctx: Context) -> None:
        await ctx.report_progress(0.5, total=2, message="half")
        for wrong in (0.5, 0.4, float("nan"), float("inf")):
            try:
                await ctx.report_progress(wrong)
            except ValueError as error:
                refused.append(str(error))
        try:
            await ctx.report_progress(1, total=float("nan"))
        except ValueError as error:
            refused.append(str(error))
        await ctx.report_progress(2)

    async with serving(offering(work)) as raw:
        await raw.open(LEGACY)
        await raw.call(1, "tools/call", name="work", _meta={"progressToken": "t"})
        heard = await said(raw, "notifications/progress")

    assert heard[0] == {"progressToken": "t", "progress": 0.5, "total": 2, "message": "half"}
    assert heard[1] == {"progressToken": "t", "progress": 2}
    assert len(heard) == 2
    assert len(refused) == 5


async def test_nothing_of_a_call_follows_its_reply() -> None:
    """PROG-06: a task that outlives the handler speaks to nobody."""
    kept: list[Context] = []

    @tool
    async def leave(ctx: Context) -> None:
        kept.append(ctx)
        await ctx.report_progress(1)

    async with serving(offering(leave)) as raw:
        await raw.open(LEGACY)
        await raw.call(1, "tools/call", name="leave", _meta={"progressToken": "t"})
        await kept[0].report_progress(2)
        await kept[0].error("too late")

        assert await raw.barrier() == []
        assert len(await said(raw, "notifications/progress")) == 1


@pytest.mark.parametrize("end", ["replied", "cancelled", "neither"])
async def test_what_waits_for_room_is_sent_only_if_the_call_still_runs(end: str) -> None:
    """PROG-06."""
    server, channel = offering(log_all), Stalled()
    peer = Peer(server.answering(), channel, answers_malformed=True)
    call = Inbound(Call(1, "tools/call"), channel, None, peer)
    terms = Terms("2025-11-25", None, ClientCapabilities(), "debug")
    context = Context(server, peer, call, terms, {"progressToken": 1})

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(context.info, "m")
            group.start_soon(context.report_progress, 1)
            await wait_all_tasks_blocked()
            assert channel.sent == []
            call.finished = end == "replied"
            call.cancelled = "no" if end == "cancelled" else None
            channel.let_go()

    assert len(channel.sent) == (2 if end == "neither" else 0)


async def test_nothing_of_a_call_follows_its_cancellation() -> None:
    """CANC-07."""
    cleaned_up = anyio.Event()

    @tool
    async def wait(ctx: Context) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await ctx.error("cleaning up")
                await ctx.report_progress(1)
            cleaned_up.set()

    async with serving(offering(wait)) as raw:
        await raw.open(LEGACY)
        await raw.begin(1, "tools/call", name="wait", _meta={"progressToken": "t"})
        await wait_all_tasks_blocked()
        await raw.notify("notifications/cancelled", requestId=1)
        with anyio.fail_after(20):
            await cleaned_up.wait()

        assert await raw.barrier() == []
