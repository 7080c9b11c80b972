"""A client for each request that is under way: taken over by the next one, and closed in the end."""

from __future__ import annotations

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp_transports.http_lanes import Lanes, OneClient
from tests.transports.scripted_http import Asked, ScriptedHttp, Talk, answering, scripted

AT_ONCE = 24


async def test_the_client_that_was_used_last_is_used_first() -> None:
    """What was used lately is still connected."""
    lanes = Lanes(httpx.AsyncClient)
    first, second = lanes.take(), lanes.take()
    await lanes.give_back(first)
    await lanes.give_back(second)

    assert [lanes.take(), lanes.take()] == [second, first]
    assert lanes.take() not in (first, second)
    await lanes.aclose()


async def test_clients_that_nobody_uses_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a burst of calls would keep its connections for as long as the program runs."""
    monkeypatch.setattr("dedalus_mcp_transports.http_lanes.IDLE_SECONDS", -1.0)  # a moment ago was too long ago
    lanes = Lanes(httpx.AsyncClient)
    first, second = lanes.take(), lanes.take()

    await lanes.give_back(first)
    assert first.is_closed
    assert not second.is_closed
    await lanes.aclose()


async def test_the_end_closes_all_clients_also_those_in_use() -> None:
    lanes = Lanes(httpx.AsyncClient)
    taken, idle = lanes.take(), lanes.take()
    await lanes.give_back(idle)
    await lanes.aclose()
    assert taken.is_closed
    assert idle.is_closed

    await lanes.give_back(taken)  # its request ends with an error, and it is not kept
    late = lanes.take()
    assert late is not taken
    await lanes.give_back(late)
    assert late.is_closed


class Stubborn(httpx.AsyncBaseTransport):
    """A transport that cannot be closed."""

    async def aclose(self) -> None:
        raise OSError("no")


async def test_a_client_that_cannot_be_closed_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp_transports.http_lanes.IDLE_SECONDS", -1.0)
    lanes = Lanes(lambda: httpx.AsyncClient(transport=Stubborn()))
    await lanes.give_back(lanes.take())
    lanes.take()
    await lanes.aclose()


async def test_a_client_of_the_callers_is_left_open() -> None:
    async with httpx.AsyncClient() as client:
        clients = OneClient(client)
        assert clients.take() is clients.take() is client
        await clients.give_back(client)
        await clients.aclose()
        assert not client.is_closed


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_calls_at_once_have_a_connection_each_and_later_ones_take_them_over(revision: str) -> None:
    server: ScriptedHttp
    together = anyio.Event()
    at_once = 0

    async def call(asked: Asked, talk: Talk) -> None:
        nonlocal at_once
        at_once += 1
        if at_once % AT_ONCE == 0:
            together.set()
        await together.wait()
        await talk.result({"content": [], "resultType": "complete"})

    async with scripted(answering(call, revision)) as server:
        async with MCPClient.connect(server.url) as client:
            for _ in range(3):
                together = anyio.Event()
                async with anyio.create_task_group() as group:
                    for _ in range(AT_ONCE):
                        group.start_soon(client.call_tool, "t")

        assert server.count("tools/call") == 3 * AT_ONCE
        assert AT_ONCE <= server.made <= AT_ONCE + 1  # and the stream, where one is tried for
        with anyio.fail_after(5):
            while server.open:
                await anyio.wait_all_tasks_blocked()


async def test_cookies_are_shared() -> None:
    """A balancer finds the process that has the session by them, whichever connection a call comes on."""

    async def call(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": []}, set_cookie="lane=1")

    async with scripted(answering(call)) as server, MCPClient.connect(server.url) as client:
        await client.call_tool("t")
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(client.call_tool, "t")

    calls = [asked for asked in server.asked if asked.what == "tools/call"]
    assert "cookie" not in calls[0].headers
    assert {asked.headers.get("cookie") for asked in calls[1:]} == {"lane=1"}
