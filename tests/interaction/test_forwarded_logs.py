"""Forwarded log records and progress, over HTTP and in memory, in every revision: on the stream of their call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, tool, types
from dedalus_mcp.server.log_forwarding import MAX_UNSENT
from dedalus_mcp.types.revisions import MODERN, REVISIONS
from tests.interaction.reach import PATIENCE, Heard
from tests.transports.asgi import serving

every = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture
def app() -> Iterator[logging.Logger]:
    logger = logging.getLogger("forwarded.http")
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


@every
@pytest.mark.parametrize("name", ["inside", "threaded", "fan_out"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_records_come_on_the_stream_of_their_call_and_before_the_reply(
    app: logging.Logger, revision: str, name: str
) -> None:
    """LOG-04, LOG-05, B127."""
    count = 50

    def log() -> None:
        for number in range(count):
            app.info("%d", number)

    @tool
    async def inside() -> None:
        log()

    @tool
    async def fan_out() -> None:
        await anyio.to_thread.run_sync(log)

    server = MCPServer("test")
    server.collect(inside, tool("threaded")(log), fan_out)
    handler = server.forward_logs("forwarded.http")
    async with serving(server) as web:
        client = web.client()
        await client.open(revision)
        if revision not in MODERN:
            await client.begin(1, "logging/setLevel", level="debug").ended()
        call = client.begin(2, "tools/call", name=name, _meta={"io.modelcontextprotocol/logLevel": "debug"})
        await call.ended()

    *notices, reply = call.messages
    assert reply["id"] == 2
    assert [notice["params"]["data"]["msg"] for notice in notices] == [str(number) for number in range(count)]
    assert handler.dropped == 0


@every
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_progress_comes_on_the_stream_of_its_call_and_before_the_reply(revision: str) -> None:
    """PROG-03, PROG-09, B127."""

    @tool
    async def work(ctx: Context) -> None:
        async with ctx.progress(total=1000) as bar:
            for _ in range(1000):
                await bar.advance()

    server = MCPServer("test")
    server.collect(work)
    async with serving(server) as web:
        client = web.client()
        await client.open(revision)
        call = client.begin(2, "tools/call", name="work", _meta={"progressToken": 0})
        await call.ended()

    *notices, reply = call.messages
    values = [notice["params"]["progress"] for notice in notices]
    assert reply["id"] == 2
    assert (values[0], values[-1]) == (1, 1000)
    assert values == sorted(set(values))
    assert {notice["params"]["progressToken"] for notice in notices} == {0}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", ["inside", "threaded"])
async def test_a_flood_of_records_is_cut_off_for_a_client_that_does_not_read(app: logging.Logger, name: str) -> None:
    """LOG-09: what is dropped is counted, the call goes on, and its result arrives."""

    logged = threading.Event()

    def log() -> str:
        for number in range(5000):
            app.info("%d", number)
        logged.set()
        return "done"

    @tool
    async def inside() -> str:
        return log()

    server = MCPServer("test")
    server.collect(inside, tool("threaded")(log))
    handler = server.forward_logs("forwarded.http")
    async with serving(server) as web:
        client = await web.client().open("2026-07-28")
        call = client.begin(2, "tools/call", name=name, _meta={"io.modelcontextprotocol/logLevel": "debug"})
        call.stall()
        with anyio.fail_after(PATIENCE):
            await anyio.to_thread.run_sync(logged.wait, PATIENCE)
        call.go_on()
        await call.ended()

    *notices, reply = call.messages
    assert reply["result"]["content"][0]["text"] == "done"
    assert 0 < len(notices) <= 2 * MAX_UNSENT
    assert len(notices) + handler.dropped == 5000


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_progress_and_records_go_on_after_a_question(app: logging.Logger, revision: str) -> None:
    """PROG-03: they follow the request that waits for the call at the moment."""

    @tool
    async def work(ctx: Context) -> bool:
        async with ctx.progress(total=3) as bar:
            await bar.advance(message="before")
            app.info("before")
            agreed = await ctx.confirm("Go on?")
            await bar.advance(2, message="after")
            app.info("after")
        return agreed

    def yes(params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"confirm": True})

    server = MCPServer("test")
    server.collect(work)
    server.forward_logs("forwarded.http")
    told, logged = Heard[Any](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision, elicitation=yes, logging=logged) as client:
            await client.set_logging_level("info")
            result = await client.call_tool("work", progress=told)
            steps = [(each.progress, each.message) for each in await told.wait(2)]
            texts = [each.data["msg"] for each in await logged.wait(2)]

    assert result.structuredContent == {"result": True}
    assert steps == [(1, "before"), (3, "after")]
    assert texts == ["before", "after"]
