"""A client of stdio that says what it has to say, closes its side, and reads on."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from dedalus_mcp import Context, MCPServer, tool
from dedalus_mcp.run import serve_duplex
from dedalus_mcp.testing.raw import Message, envelope
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.stdio_streams import FrameStream
from tests.faults.line import Line
from tests.faults.pipes import joined
from tests.interaction.reach import PATIENCE

ABLE: dict[str, Any] = {"elicitation": {}}


def make() -> MCPServer:
    server = MCPServer("half")

    @tool
    async def ask(ctx: Context) -> str:
        sure = await ctx.confirm("Sure?", key="sure")
        await anyio.sleep(0.01)  # more than the client's end takes to be noticed
        return f"sure: {sure}"

    @tool
    async def ask_twice(ctx: Context) -> str:
        await ctx.confirm("Sure?", key="sure")
        return f"really: {await ctx.confirm('Really?', key='really')}"

    server.collect(ask, ask_twice)
    return server


def call(id: int, name: str, **more: object) -> bytes:
    params = {"name": name, "arguments": {}, "_meta": envelope("2026-07-28", ABLE), **more}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


async def heard(near: Duplex) -> Message:
    (frame,) = await near.receive()
    message: Message = msgspec.json.decode(bytes(frame))  # type: ignore[arg-type]  # nothing is oversized here
    return message


async def said_last(name: str, newline: bytes) -> Message:
    """Answer the question of a tool, in the last message that there is; return what that is answered with."""
    line = Line()
    async with joined(line) as (near, far), anyio.create_task_group() as group:
        with anyio.fail_after(PATIENCE):
            assert isinstance(near, FrameStream)
            group.start_soon(serve_duplex, make(), far)
            await near.send([call(1, name)])
            asked = (await heard(near))["result"]
            answers = {"sure": {"action": "accept", "content": {"confirm": True}}}
            retry = call(2, name, inputResponses=answers, requestState=asked["requestState"])
            near._sink.write(memoryview(retry + newline))  # pyright: ignore[reportPrivateUsage]
            await near._sink.aclose()  # pyright: ignore[reportPrivateUsage]
            reply = await heard(near)
            await near.aclose()
            return reply
    raise AssertionError("a group raises, or what is in it has returned")


@pytest.mark.parametrize("newline", [b"\n", b""], ids=["a line", "without newline"])
async def test_the_retry_of_a_round_is_answered_though_it_was_the_last_thing_said(newline: bytes) -> None:
    """As a call without rounds is: what runs when the client is done has its time to end (B047)."""
    reply = await said_last("ask", newline)

    assert reply["result"]["content"][0]["text"] == "sure: True"


async def test_a_round_that_nobody_can_answer_any_more_is_still_asked_and_ends_with_the_connection() -> None:
    reply = await said_last("ask_twice", b"\n")

    assert list(reply["result"]["inputRequests"]) == ["really"]
