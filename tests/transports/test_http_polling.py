"""Handlers that end their stream, so that the client polls (HTTP-37)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, get_context, tool
from dedalus_mcp.transport import Reply
from dedalus_mcp.types import ElicitRequestParams
from dedalus_mcp_transports.event_log import MemoryEventLog
from dedalus_mcp_transports.http_channel import Form, PostChannel
from dedalus_mcp_transports.http_request import HttpRequest
from dedalus_mcp_transports.http_stream_log import StreamLog
from tests.interaction.server import YES_OR_NO, Story
from tests.transports.asgi import Exchange, serving

POLLED = "2025-11-25"


def polled(story: Story) -> MCPServer:
    """A server with a tool that ends its stream as often as it is told to."""
    server = MCPServer("polled")
    with server.binding():

        @tool
        async def work(ctx: Context, times: int = 1, retry: float | None = None) -> str:
            for time in range(times):
                await ctx.report_progress(time)
                await ctx.close_sse_stream(retry=retry)
                story.tell(f"closed {time}")
                await story.until(f"go {time}")
            return "worked"

        @tool
        async def ask(ctx: Context) -> str:
            await ctx.close_sse_stream()
            params = ElicitRequestParams(message="?", requestedSchema=YES_OR_NO)
            return (await ctx.server.request_elicitation(params)).action

    return server


def last(exchange: Exchange) -> str:
    """The id of the last event that was received."""
    return str([event.id for event in exchange.events if event.id][-1])


async def test_the_stream_ends_and_the_rest_is_had_by_coming_again() -> None:
    """HTTP-35, HTTP-36, HTTP-37."""
    story = Story()
    async with serving(polled(story), retry_milliseconds=1000) as web:
        client = await web.open(POLLED)
        first = await client.tool(1, "work", retry=0.25).ended()
        again = await client.get(last_event_id=last(first))
        story.tell("go 0")

        assert first.status == 200
        assert (first.events[0].data, first.events[0].id is not None) == (b"", True)
        assert first.body.startswith(b"retry: 1000\n")
        assert first.body.endswith(b"retry: 250\n\n")
        assert first.messages == []
        assert (await again.reply())["result"]["content"][0]["text"] == "worked"


async def test_who_comes_after_the_reply_gets_it_too() -> None:
    story = Story()
    async with serving(polled(story)) as web:
        client = await web.open(POLLED)
        first = await client.tool(1, "work").ended()
        story.tell("go 0")
        await anyio.wait_all_tasks_blocked()

        assert (await (await client.get(last_event_id=last(first))).reply())["id"] == 1


async def test_a_stream_that_was_resumed_can_be_ended_too_and_nothing_is_lost() -> None:
    story = Story()
    async with serving(polled(story)) as web:
        client = await web.open(POLLED)
        stream = await client.tool(1, "work", meta={"progressToken": "p"}, times=3).ended()
        heard = list(stream.messages)
        for time in range(3):
            stream = await client.get(last_event_id=last(stream))
            story.tell(f"go {time}")
            await stream.ended()
            heard += stream.messages

        assert [message["params"]["progress"] for message in heard[:-1]] == [0, 1, 2]
        assert heard[-1]["result"]["content"][0]["text"] == "worked"


async def test_a_question_waits_for_the_client_to_come_again() -> None:
    async with serving(polled(Story())) as web:
        client = await web.open(POLLED, {"elicitation": {}})
        first = await client.tool(1, "ask").ended()
        again = await client.get(last_event_id=last(first))
        question = await again.message()
        await client.answer(question["id"], {"action": "decline"})

        assert (await again.reply())["result"]["content"][0]["text"] == "decline"


@pytest.mark.parametrize("comes", [True, False])
async def test_a_call_that_is_cancelled_meanwhile_leaves_nothing(comes: bool) -> None:
    story = Story()
    async with serving(polled(story)) as web:
        client = await web.open(POLLED)
        first = await client.tool(1, "work").ended()
        again = await client.get(last_event_id=last(first)) if comes else None
        await client.notify("notifications/cancelled", requestId=1)
        await anyio.wait_all_tasks_blocked()
        again = again or await client.get(last_event_id=last(first))

        assert (await again.ended()).messages == []
        assert "result" in await client.call(1, "tools/list")


async def test_a_call_that_is_cancelled_while_its_reader_reads_nothing_ends_its_stream() -> None:
    story = Story()

    @tool
    async def work(ctx: Context) -> None:
        await ctx.info("begun")
        await story.until("stalled")
        await ctx.close_sse_stream()

    server = MCPServer("polled")
    server.collect(work)
    async with serving(server) as web:
        client = await web.open(POLLED)
        call = client.tool(1, "work")
        await call.message()
        call.stall()
        story.tell("stalled")
        await anyio.wait_all_tasks_blocked()
        await client.notify("notifications/cancelled", requestId=1)
        await anyio.wait_all_tasks_blocked()
        call.go_on()

        assert [message["method"] for message in (await call.ended()).messages] == ["notifications/message"]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28"])
async def test_clients_that_would_not_come_again_notice_nothing(revision: str) -> None:
    story = Story()
    async with serving(polled(story)) as web:
        client = await web.open(revision)
        call = client.tool(1, "work")
        await story.until("closed 0")
        story.tell("go 0")

        assert (await call.reply())["result"]["content"][0]["text"] == "worked"


@pytest.mark.parametrize("settings", [{"event_log": None}, {"json_only": True}], ids=repr)
async def test_where_nothing_is_kept_nothing_is_ended(settings: dict[str, Any]) -> None:
    story = Story()
    async with serving(polled(story), **settings) as web:
        call = (await web.open(POLLED)).tool(1, "work")
        await story.until("closed 0")
        story.tell("go 0")

        assert (await call.reply())["result"]["content"][0]["text"] == "worked"


async def test_it_does_nothing_where_there_is_no_stream() -> None:
    story = Story()
    story.tell("go 0")
    async with MCPClient.connect(polled(story), revision=POLLED) as client:
        assert (await client.call_tool("work")).text == "worked"


@pytest.mark.parametrize("retry", [-1, float("nan"), float("inf"), 100_000])
async def test_a_time_that_nobody_waits_is_refused(retry: float) -> None:
    @tool
    async def work() -> str:
        with pytest.raises(ValueError, match="retry is 0 to 86400 seconds") as raised:
            await get_context().close_sse_stream(retry=retry)
        return str(raised.value)

    server = MCPServer("test")
    server.collect(work)
    async with serving(server) as web:
        assert "retry is" in await (await web.open(POLLED)).use(1, "work")


async def test_a_response_that_is_over_stays_as_it_is() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    def make_log() -> StreamLog:
        return StreamLog(MemoryEventLog(), "1", primed=True, retry=None)

    channel = PostChannel(HttpRequest({"headers": []}), send, Form.LATE, make_log=make_log)
    channel.reply(Reply(b"{}", None))
    await channel.pause(None)
    assert sent == []
    await channel.flush()
    await channel.pause(5)

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1]["body"] == b"{}"
