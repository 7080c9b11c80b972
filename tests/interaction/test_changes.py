"""Changes, from one end to the other: what a server changes is heard by its clients, whatever they speak."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, MCPServer, StdioServer, tool
from dedalus_mcp.types import ResourceUpdatedNotificationParams
from dedalus_mcp.types.revisions import REVISIONS
from tests.client.counting import back_to, living_tasks
from tests.interaction.reach import PATIENCE, Heard, script, ways
from tests.interaction.resource_server import make

every = pytest.mark.parametrize("revision", REVISIONS)


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.resource_server")


@ways
@every
async def test_a_client_hears_of_the_resources_that_it_subscribed_to(revision: str, transport: str) -> None:
    """SUB-01, SUB-05, SUB-08, RES-10: with the same words on every revision."""
    heard = Heard[ResourceUpdatedNotificationParams]()
    before = living_tasks()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision, resource_updated=heard) as client:
            for uri in ("demo://text", "demo://json", "demo://bytes"):
                await client.subscribe_resource(uri)
            await client.unsubscribe_resource("demo://json")
            for uri in ("demo://parts", "demo://json", "demo://text", "demo://bytes"):
                await client.call_tool("touch", {"uri": uri})
            assert sorted(told.uri for told in await heard.wait(2)) == ["demo://bytes", "demo://text"]
            await client.unsubscribe_resource("demo://text")
            await client.call_tool("touch", {"uri": "demo://text"})
            await client.call_tool("touch", {"uri": "demo://bytes"})
            assert [told.uri for told in await heard.wait(3)][2:] == ["demo://bytes"]
    await back_to(before)


@every
async def test_a_client_hears_that_the_tools_have_changed(revision: str) -> None:
    """TOOL-03, SUB-01: what was added is there when it is listed then."""
    heard = Heard[Any]()
    server = MCPServer("changing")

    @tool
    async def first() -> None: ...

    @tool
    async def second() -> None: ...

    server.collect(first)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision, tools_list_changed=heard) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ["first"]
            server.collect(second)
            await heard.wait(1)
            assert [each.name for each in (await client.list_tools()).tools] == ["first", "second"]
            server.tools.remove("first")
            await heard.wait(2)
            assert [each.name for each in (await client.list_tools()).tools] == ["second"]
