"""Callbacks and handlers of a client use that client, while the server waits for them to."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, resource, tool
from dedalus_mcp.types import ElicitRequestParams
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.transports.test_http_client import serving

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28")


@resource("r://fact")
async def fact() -> str:
    return "42"


def make() -> MCPServer:
    """A server with tools that end when their client has done something in the meantime."""
    server = MCPServer("waiting")
    seen = anyio.Event()

    async def added() -> None: ...

    @tool
    async def change() -> str:
        server.collect(tool("added")(added))
        await seen.wait()
        return "seen"

    @tool
    async def see() -> None:
        seen.set()

    @tool
    async def ask(times: int, ctx: Context) -> str:
        return ", ".join([str(await ctx.text(f"{n}?")) for n in range(times)])

    server.collect(fact, change, see, ask)
    return server


async def hear_in_the_middle(target: Any, revision: str) -> None:
    """Make a call that ends when a callback, which its notice wakes, has made calls itself."""
    found: list[str] = []
    clients: list[MCPClient] = []

    async def changed(_: Any) -> None:
        found.extend(each.name for each in (await clients[0].list_tools()).tools)
        await clients[0].call_tool("see")

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target, revision=revision, tools_list_changed=changed) as client:
            clients.append(client)
            assert text_of(await client.call_tool("change")) == "seen"
    assert "added" in found


@ways
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_callback_calls_while_a_call_waits_for_that(revision: str, transport: str) -> None:
    """B011."""
    await hear_in_the_middle(make() if transport == "memory" else script("tests.interaction.test_reentrancy"), revision)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_a_callback_calls_over_http_while_a_call_waits_for_that(revision: str) -> None:
    """B011."""
    async with serving(make()) as url:
        await hear_in_the_middle(url, revision)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("revision", ASKING)
async def test_whoever_answers_over_http_reads_and_calls_in_the_meantime(revision: str) -> None:
    """B011: ten questions in one call."""
    clients: list[MCPClient] = []

    async def answer(params: ElicitRequestParams) -> dict[str, Any]:
        (content,) = (await clients[0].read_resource("r://fact")).contents
        (field,) = params.requestedSchema["properties"]
        return {field: f"{params.message[:-1]}-{getattr(content, 'text', None)}"}

    async with serving(make()) as url:
        with anyio.fail_after(PATIENCE):
            async with MCPClient.connect(url, revision=revision, elicitation=answer) as client:
                clients.append(client)
                said = text_of(await client.call_tool("ask", {"times": 10}))
    assert said == ", ".join(f"{n}-42" for n in range(10))


if __name__ == "__main__":
    make().run()
