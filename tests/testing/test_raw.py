"""Raw peers: what they say and hear, and how a script that is not kept to is told."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, MCPServer, tool
from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.testing import REVISIONS, RawPeer, raw_client, scripted_server
from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.memory import pair

LEGACY = "2025-11-25"


@tool
async def add(a: int, b: int) -> int:
    return a + b


def calculator() -> MCPServer:
    server = MCPServer("calculator", version="1")
    server.collect(add)
    return server


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_raw_client_speaks_every_revision_by_hand(revision: str) -> None:
    async with raw_client(calculator()) as raw:
        await raw.open(revision)
        await raw.begin(5, "tools/call", name="add", arguments={"a": 1, "b": 2})
        reply = await raw.expect({"id": 5, "result": {"content": [{"type": "text", "text": "3"}], ...: ...}})

    assert reply == raw.heard[-1]


async def test_what_is_not_expected_is_shown() -> None:
    async with raw_client(calculator()) as raw:
        await raw.say({"id": 1, "method": "ping"})

        with pytest.raises(AssertionError, match=r'-  "id": 2,\n\+  "id": 1,'):
            await raw.expect({"id": 2, "result": {}})


async def test_bytes_go_out_as_they_are() -> None:
    async with raw_client(calculator()) as raw:
        await raw.say(b"{")
        await raw.expect({"id": None, "error": {"code": -32700, "message": ...}})


async def test_a_message_that_does_not_come_is_no_hang() -> None:
    near, _far = pair()
    raw = RawPeer(near, patience=0.01)

    with pytest.raises(AssertionError, match=r'^no message came within 0.01 s; expected was \{"jsonrpc": "2.0"'):
        await raw.expect({"id": 1, "result": ...})


async def test_the_end_is_told_with_what_was_expected() -> None:
    near, far = pair()
    await far.aclose()

    with pytest.raises(AssertionError, match=r'was closed; expected was \["...", 1\]'):
        await RawPeer(near).expect([..., 1])


async def test_a_frame_that_was_dropped_is_no_message() -> None:
    class Dropping:
        async def receive(self) -> list[Oversized]:
            return [Oversized(10, b"{", b"}")]

        async def send(self, frames: object) -> None: ...

        async def aclose(self) -> None: ...

    with pytest.raises(AssertionError, match="a frame arrived as Oversized"):
        await RawPeer(Dropping()).hear()


async def test_what_came_and_was_not_read_is_there_to_be_seen() -> None:
    async with raw_client(calculator()) as raw:
        await raw.say([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], {"id": 2, "method": "ping"})
        await raw.hear()
        await raw.barrier()

    assert raw.unread == []
    assert len(raw.frames) == len(raw.heard) == 3


async def greet(raw: RawPeer) -> None:
    """A server of 2025-11-25 with one tool, by hand."""
    opening = await raw.expect({"id": ..., "method": "initialize", "params": ...})
    agreed: dict[str, Any] = {
        "protocolVersion": LEGACY,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    await raw.say({"id": opening["id"], "result": agreed})
    await raw.expect({"method": "notifications/initialized", ...: ...})
    call = await raw.expect({"id": ..., "method": "tools/call", "params": {"name": "greet"}})
    await raw.say({"id": call["id"], "result": {"content": [{"type": "text", "text": "hello"}]}})


async def test_a_scripted_server_talks_to_a_real_client() -> None:
    async with scripted_server(greet) as target, MCPClient.connect(target, revision=LEGACY) as client:
        assert (await client.call_tool("greet")).text == "hello"


async def test_a_client_that_says_something_else_is_shown_and_not_what_came_of_it() -> None:
    with pytest.raises(AssertionError, match=r'-    "name": "greet"\n\+    "name": "leave"') as caught:
        async with scripted_server(greet) as target, MCPClient.connect(target, revision=LEGACY) as client:
            await client.call_tool("leave")

    assert isinstance(caught.value.__cause__, ConnectionLost)


async def test_what_the_client_never_said_is_told() -> None:
    with pytest.raises(AssertionError, match=r"closed; expected was \{"):
        async with scripted_server(greet) as target, MCPClient.connect(target, revision=LEGACY):
            pass


async def test_what_fails_beside_the_script_is_raised_as_it_is() -> None:
    async def listen(raw: RawPeer) -> None:
        while True:
            await raw.hear()

    async def fail() -> None:
        async with scripted_server(listen) as target:
            await target.open()
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await fail()


async def test_each_connection_has_its_script() -> None:
    async with scripted_server(greet, greet) as target:
        for _ in range(2):
            async with MCPClient.connect(target, revision=LEGACY) as client:
                await client.call_tool("greet")
        with pytest.raises(AssertionError, match="no script for another connection"):
            await target.open()

    with pytest.raises(AssertionError, match="2 of 2 scripts got no connection"):
        async with scripted_server(greet, greet):
            pass


async def test_a_script_that_does_not_end_is_ended() -> None:
    ended: list[str] = []

    async def stay(raw: RawPeer) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("yes")

    with anyio.fail_after(20):
        async with scripted_server(stay) as target:
            await target.open()
            await anyio.wait_all_tasks_blocked()

    assert ended == ["yes"]
