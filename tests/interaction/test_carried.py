"""What every transport carries alike: the messages as they are, and what belongs to a request within it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, McpError, MCPServer, tool
from dedalus_mcp.run import serve_duplex
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.memory import pair
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE
from tests.interaction.server import make
from tests.interaction.test_rounds import ABLE, MODERN, answering, ask, offering, text

BOTH = ("2025-11-25", MODERN)
TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
    "tracestate": "vendor1=opaque+/=,vendor2@tenant=a:b",
    "baggage": "userId=am%C3%A9lie,serverNode=DF%2028;prop=1",
}


class Letters:
    """A transport of somebody else's: each frame is a letter that is read out."""

    def __init__(self, sent: Any, came: Any) -> None:
        self._sent = sent
        self._came = came
        self.written: list[Any] = []

    async def receive(self) -> Sequence[bytes]:
        return [bytes.fromhex(await self._came.receive())]

    async def send(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self.written.append(json.loads(frame))
            await self._sent.send(frame.hex())

    async def aclose(self) -> None:
        await self._sent.aclose()
        await self._came.aclose()


class Heard:
    """One end of a transport of ours, whose frames are written down."""

    def __init__(self, end: Duplex) -> None:
        self._end = end
        self.receive, self.aclose = end.receive, end.aclose
        self.written: list[Any] = []

    async def send(self, frames: Sequence[bytes]) -> None:
        self.written += [json.loads(frame) for frame in frames]
        await self._end.send(frames)


def letters() -> tuple[Letters, Letters]:
    (to_there, here), (to_here, there) = (anyio.create_memory_object_stream[str](100) for _ in range(2))
    return Letters(to_there, there), Letters(to_here, here)


def heard() -> tuple[Heard, Heard]:
    near, far = pair()
    return Heard(near), Heard(far)


async def talk(near: Letters | Heard, far: Letters | Heard, revision: str) -> list[list[Any]]:
    """Let a client and a server of ours say a bit of everything; return what each wrote."""

    async def yes(params: Any) -> dict[str, Any]:
        return {"ok": True}

    async with anyio.create_task_group() as group:
        group.start_soon(serve_duplex, make(), far)
        async with MCPClient.connect(near, revision=revision, elicitation=yes) as client:
            await client.list_tools()
            await client.call_tool("echo", {"text": "é\u2028"}, meta={"mine": 1})
            await client.call_tool("progress", {"steps": 3}, progress=lambda _: None)
            await client.call_tool("ask", {"message": "?"})
            for name in ("fail", "nope"):
                with pytest.raises(McpError):
                    await client.call_tool(name, {"how": "protocol"})
            await client.get_prompt("greet", {"name": "x"})
            await client.ping()
        group.cancel_scope.cancel()
    for message in near.written + far.written:
        for part in (message.get("params", {}), message.get("result", {})):
            part.pop("requestState", None)  # never the same twice
    return [near.written, far.written]


@pytest.mark.parametrize("revision", BOTH)
async def test_a_transport_of_somebody_elses_carries_the_same_messages(revision: str) -> None:
    """HTTP-80: the same format, in the same order, with all that a request says of itself."""
    with anyio.fail_after(PATIENCE):
        theirs, ours = await talk(*letters(), revision), await talk(*heard(), revision)

    assert theirs == ours
    assert all(message["jsonrpc"] == "2.0" for messages in theirs for message in messages)
    requests = [message["params"] for message in theirs[0] if "method" in message and "id" in message]
    assert len(requests) > 7
    if revision == MODERN:
        assert {params["_meta"]["io.modelcontextprotocol/protocolVersion"] for params in requests} == {MODERN}
        assert all("io.modelcontextprotocol/clientCapabilities" in params["_meta"] for params in requests)


@tool
async def trace(ctx: Context) -> dict[str, Any]:
    return {name: ctx.meta.get(name) for name in TRACE}


@pytest.mark.parametrize("revision", BOTH)
async def test_trace_context_crosses_as_it_is_and_is_never_made_up(revision: str) -> None:
    """META-16: what follows the W3C's rules goes on following them."""
    server = MCPServer("s")
    server.collect(trace)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            assert (await client.call_tool("trace", meta=TRACE)).structuredContent == TRACE
            assert (await client.call_tool("trace")).structuredContent == dict.fromkeys(TRACE)


@tool
async def order(dish: str = "") -> str:
    return f"{await ask('how many')} {await ask('for whom')}"


async def test_calls_of_one_connection_are_told_apart_by_what_each_request_says() -> None:
    """META-17, META-18: the same tool with the same arguments, answered crosswise."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering(order)) as raw:
            await raw.open(MODERN, ABLE)
            call: dict[str, Any] = {"name": "order", "arguments": {}}
            first = [await raw.call(f"first {n}", "tools/call", call) for n in range(3)]
            second: dict[int, Any] = {}
            for n in (2, 0, 1):
                retry = answering(first[n], **{"how many": n})
                second[n] = await raw.call(f"second {n}", "tools/call", {**call, **retry})
            end: dict[int, Any] = {}
            for n in (1, 2, 0):
                retry = answering(second[n], **{"for whom": 7 + n})
                end[n] = await raw.call(f"third {n}", "tools/call", {**call, **retry})

    assert {n: text(reply) for n, reply in end.items()} == {0: "0 7", 1: "1 8", 2: "2 9"}
