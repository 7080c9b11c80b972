"""A handler of an included server asks, tells and is cancelled as if it were the outer server's own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, get_context, prompt, resource, tool
from dedalus_mcp.types import CreateMessageResult, ElicitRequestParams, ProgressNotificationParams, TextContent
from tests.interaction import included_server
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, Heard, script, text_of
from tests.interaction.server import Story
from tests.interaction.test_proxied import Someone
from tests.interaction.test_replay import KEY, buying, offering
from tests.interaction.test_rounds import ABLE, MODERN, Talk, answering, text
from tests.transports.test_http_client import serving as web_serving

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28")
asking = pytest.mark.parametrize("revision", ASKING)


def within(inner: MCPServer, levels: int = 2, prefix: str = "x", **settings: Any) -> MCPServer:
    for level in range(levels):
        outer = MCPServer(f"level {level}", **settings)
        outer.include(inner, prefix=prefix)
        inner = outer
    return inner


def making(*functions: Any) -> MCPServer:
    server = MCPServer("inner")
    server.collect(*functions)
    return server


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("anyio_backend", "transport"),
    [("asyncio", "memory"), ("trio", "memory"), ("asyncio", "stdio"), ("asyncio", "http")],
)
async def test_over_every_transport_included_handlers_ask_and_what_changes_is_told(
    transport: str, revision: str
) -> None:
    user, tools, updated = Someone(1), Heard[Any](), Heard[Any]()
    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(PATIENCE))
        target: Any = script("tests.interaction.included_server") if transport == "stdio" else included_server.make()
        if transport == "http":
            target = await stack.enter_async_context(web_serving(target))
        client = await stack.enter_async_context(
            MCPClient.connect(
                target, revision=revision, tools_list_changed=tools, resource_updated=updated, **user.able
            )
        )
        assert text_of(await client.call_tool("in_ask", {"user": 1})) == user.told
        await client.subscribe_resource("a://t/9")
        await client.call_tool("in_change", {"what": "a://t/9"})
        await updated.wait(1)
        await client.call_tool("in_change", {"what": "tool"})
        await tools.wait(1)
        assert text_of(await client.call_tool("in_added")) == "new"


@asking
async def test_every_kind_of_question_of_an_included_handler_is_answered(revision: str) -> None:
    @tool("ask")
    async def everything(ctx: Context) -> str:
        sure = await ctx.confirm("Sure?")
        said = await ctx.sample("Say.", max_tokens=5)
        roots = await ctx.list_roots()
        result = await get_context().server.request_elicitation(
            ElicitRequestParams(
                message="Name?", requestedSchema={"type": "object", "properties": {"name": {"type": "string"}}}
            )
        )
        return f"{sure} {getattr(said.content, 'text', None)} {[root.uri for root in roots]} {result.content}"

    async def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        (field,) = params.requestedSchema["properties"]
        return {field: "Ada" if field == "name" else True}

    async def sample(params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="said"), model="m")

    outer = within(making(everything))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(
            outer, revision=revision, elicitation=elicit, sampling=sample, roots=["file:///r"]
        ) as client:
            result = await client.call_tool("x_x_ask")

    assert text_of(result) == "True said ['file:///r'] {'name': 'Ada'}"


@asking
async def test_plain_functions_prompts_and_resources_of_an_included_server_ask_as_well(revision: str) -> None:
    @tool("ask")
    def in_a_thread(ctx: Context) -> str:
        return f"{ctx.wait(ctx.confirm('Sure?'))} {ctx.server.name}"

    @prompt("ask")
    async def asked(arguments: dict[str, str] | None) -> Any:
        return [("user", f"{await get_context().confirm('Sure?')}")]

    @resource("a://ask")
    async def read() -> str:
        return f"{await get_context().confirm('Sure?')}"

    outer = within(making(in_a_thread, asked, read), levels=1, prefix="")
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, revision=revision, elicitation=lambda _: {"confirm": True}) as client:
            said = [text_of(await client.call_tool("ask"))]
            said += [getattr(each.content, "text", "") for each in (await client.get_prompt("ask")).messages]
            said += [getattr(each, "text", "") for each in (await client.read_resource("a://ask")).contents]

    assert said == ["True level 0", "True", "True"]


async def test_an_included_handler_that_asked_runs_again_in_another_process_and_its_step_ran_once() -> None:
    story = Story()
    with anyio.fail_after(PATIENCE):
        first, second = (within(offering(buying(story), keys=()), state_keys=[KEY]) for _ in range(2))
        async with serving(first) as one, serving(second) as two:
            for raw in (one, two):
                await raw.open(MODERN, ABLE)
            began = await Talk(one, "x_x_buy").call()
            asked = await Talk(two, "x_x_buy").call(**answering(began, seat=7))
            end = await Talk(one, "x_x_buy").call(**answering(asked, sure=1))

    assert text(end) == "('seat', 7) 1"
    assert story.told == ["began", "began", "reserved 7", "bought"]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_progress_and_logs_of_an_included_handler_reach_the_client(revision: str) -> None:
    @tool("work")
    async def work(ctx: Context) -> None:
        await ctx.info("working")
        await ctx.report_progress(1, total=2)

    told, logged = Heard[ProgressNotificationParams](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(within(making(work)), revision=revision, logging=logged) as client:
            await client.call_tool("x_x_work", progress=told)
            (step,), (message,) = await told.wait(1), await logged.wait(1)

    assert (step.progress, step.total) == (1, 2)
    assert message.data == {"msg": "working"}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_cancelled_call_ends_the_included_handler(revision: str) -> None:
    began, ended = anyio.Event(), anyio.Event()

    @tool("wait")
    async def wait() -> None:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(within(making(wait)), revision=revision) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "x_x_wait")
                await began.wait()
                group.cancel_scope.cancel()
            await ended.wait()


async def test_a_call_that_is_at_home_elsewhere_comes_back_when_that_is_over() -> None:
    """A tool of the outer server calls one of an included server in process, and its own lifespan is there again."""
    seen: list[int] = []

    @tool("inner")
    async def inner_tool() -> None:
        seen.append(len(get_context().homes))
        if not seen[1:]:
            raise RuntimeError

    @tool("outer")
    async def outer_tool(ctx: Context) -> None:
        for _ in range(2):
            await ctx.server.tools.call("x_inner", None)
            seen.append(len(ctx.homes))

    outer = within(making(inner_tool), levels=1)
    outer.collect(outer_tool)
    async with MCPClient.connect(outer) as client:
        await client.call_tool("outer")
    assert seen == [1, 0, 1, 0]
