"""`Connection`: made when it is needed, anew when it was lost, and never left behind."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, proxy
from dedalus_mcp.proxies.connections import Connection
from dedalus_mcp.types import ElicitRequestParams
from tests.client.counting import back_to, living_tasks
from tests.interaction import proxied_server
from tests.interaction.reach import PATIENCE, text_of
from tests.proxies.line import Line


async def agree(params: ElicitRequestParams) -> dict[str, Any]:
    return {"confirm": True}


@pytest.mark.parametrize("cut", [False, True])
async def test_a_call_that_is_cancelled_at_any_moment_leaves_nothing_behind(cut: bool) -> None:
    line = Line(proxied_server.make())
    server = proxy(line, revision="2025-11-25")
    with anyio.fail_after(PATIENCE):
        async with server.running():
            tasks = living_tasks()
            for moment in range(0, 80, 2):
                async with MCPClient.connect(server, revision="2025-11-25", elicitation=agree) as client:
                    async with anyio.create_task_group() as group:
                        group.start_soon(client.call_tool, "ask_at_once")
                        for _ in range(moment):
                            await anyio.lowlevel.checkpoint()
                        group.cancel_scope.cancel()
                    if cut:
                        await line.cut()
                    assert text_of(await client.call_tool("ask_at_once")) == "[True, True, True]"
            await back_to(tasks)


async def test_who_needs_it_at_once_gets_the_same_and_it_is_made_anew_when_it_was_lost() -> None:
    line = Line(proxied_server.make())

    async def connect() -> MCPClient:
        return await MCPClient.connect(line, revision="2025-11-25")

    connection, found = Connection(connect), list[MCPClient]()

    async def need() -> None:
        found.append(await connection.client())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(need)
    assert len(set(map(id, found))) == len(line.opened) == 1
    await line.cut()
    await found[0].close()
    assert await connection.client() is not found[0]
    await connection.aclose()

    assert all(client.ended is not None for client in found)


async def test_one_that_is_ended_while_it_is_made_is_not_left_open() -> None:
    line, clients = Line(proxied_server.make()), list[MCPClient]()

    async def connect() -> MCPClient:
        clients.append(await MCPClient.connect(line, revision="2025-11-25"))
        await connection.aclose()
        return clients[0]

    connection = Connection(connect)
    for _ in range(2):
        with pytest.raises(ConnectionError, match="is gone"):
            await connection.client()

    assert len(clients) == 1
    assert clients[0].ended is not None


async def test_one_that_was_given_is_not_ended() -> None:
    async with MCPClient.connect(proxied_server.make()) as client:

        async def connect() -> MCPClient:
            return client

        connection = Connection(connect, given=True)
        assert await connection.client() is client
        await connection.aclose()
        assert client.ended is None
