"""The life of a client: opened and closed from any task, at any moment, with nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from dedalus_mcp import (
    ConnectionLost,
    Context,
    MCPClient,
    MCPServer,
    tool,
)
from tests.client.counting import back_to, living_tasks
from tests.client.serving import LEGACY, MODERN, echo, offering, wait


async def test_a_connection_is_entered_once_at_a_time_and_then_again() -> None:
    """A second entry would take the first client's place, and nobody would close that."""
    connecting, before = MCPClient.connect(offering()), living_tasks()

    async with connecting as client:
        with pytest.raises(RuntimeError, match="entered already"):
            await connecting.__aenter__()
        await client.ping()
    async with connecting as client:
        await client.ping()
    await back_to(before)


async def test_what_is_raised_inside_comes_out_as_itself() -> None:
    before = living_tasks()

    async def use() -> None:
        async with MCPClient.connect(offering()):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await use()
    await back_to(before)


async def test_any_task_may_close_and_many_at_once() -> None:
    """B094, B100."""
    before = living_tasks()
    client = await MCPClient.connect(offering(wait))
    lost: list[str] = []

    async def call() -> None:
        try:
            await client.call_tool("wait")
        except ConnectionLost as error:
            lost.append(error.reason)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call)
            await wait_all_tasks_blocked()
            for _ in range(5):
                group.start_soon(client.close)

    assert lost == ["the client was closed"] * 3
    await client.close()
    await back_to(before)


async def test_a_client_closed_while_its_task_is_cancelled_is_closed() -> None:
    before = living_tasks()
    client = await MCPClient.connect(offering(wait))

    with anyio.CancelScope() as scope:
        scope.cancel()
        await client.close()
    await back_to(before)


@pytest.mark.parametrize("revision", [None, LEGACY])
async def test_connecting_may_be_cancelled_at_every_point_and_leaves_nothing(revision: str | None) -> None:
    """B097."""
    lives: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        lives.append("in")
        try:
            await checkpoint()
            yield
            await checkpoint()
        finally:
            lives.append("out")

    server, before = offering(lifespan=life), living_tasks()
    connected = 0

    async def connect() -> None:
        nonlocal connected
        client = await MCPClient.connect(server, revision=revision)
        connected += 1
        await client.close()

    for turns in range(60):
        async with anyio.create_task_group() as group:
            group.start_soon(connect)
            for _ in range(turns):
                await checkpoint()
            group.cancel_scope.cancel()
        await back_to(before)
        assert lives.count("in") == lives.count("out")

    assert 0 < connected < 60  # the sweep began before the end of connecting, and ended after it


async def test_a_lifespan_that_never_gets_ready_can_be_given_up_on() -> None:
    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield

    before = living_tasks()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(_connect, offering(lifespan=life))
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    await back_to(before)


async def _connect(server: MCPServer) -> None:
    await MCPClient.connect(server)


async def test_a_lifespan_that_fails_fails_the_connecting_with_its_own_error() -> None:
    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        raise KeyError("no database")
        yield

    before = living_tasks()
    with pytest.raises(KeyError, match="no database"):
        await MCPClient.connect(offering(lifespan=life))
    await back_to(before)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_asyncios_own_wait_for_goes_round_connecting() -> None:
    """B097."""

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield

    before = living_tasks()
    client = await asyncio.wait_for(MCPClient.connect(offering()), 5)
    await asyncio.wait_for(client.close(), 5)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(MCPClient.connect(offering(lifespan=life)), 0.01)
    await back_to(before)


@pytest.mark.parametrize("kind", ["logging", "progress"])
async def test_a_callback_may_close_the_client_and_one_that_never_returns_does_not_keep_it_open(kind: str) -> None:
    """B100."""
    before, closed, stuck = living_tasks(), anyio.Event(), anyio.Event()

    async def close(_: Any) -> None:
        await client.close()
        closed.set()

    async def hang(_: Any) -> None:
        stuck.set()
        await anyio.sleep_forever()

    @tool
    async def talk(ctx: Context) -> None:
        await ctx.error("x")
        await ctx.report_progress(1)
        await anyio.sleep_forever()

    async def call(progress: Any) -> None:
        with pytest.raises(ConnectionLost):
            await client.call_tool("talk", progress=progress)

    for callback, happened in ((close, closed), (hang, stuck)):
        logging = callback if kind == "logging" else None
        client = await MCPClient.connect(offering(talk), revision=LEGACY, logging=logging)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(call, callback if kind == "progress" else None)
                await happened.wait()
                await client.close()
        await back_to(before)


async def test_two_hundred_calls_at_once_half_of_them_cancelled_lose_nothing() -> None:
    may_go = anyio.Event()
    ended: list[int] = []

    @tool
    async def hold(n: int) -> int:
        try:
            await may_go.wait()
        finally:
            ended.append(n)
        return n

    before, got = living_tasks(), dict[int, Any]()
    scopes = [anyio.CancelScope() for _ in range(200)]

    async def call(client: MCPClient, n: int) -> None:
        with scopes[n]:
            got[n] = (await client.call_tool("hold", {"n": n})).structuredContent

    with anyio.fail_after(20):
        async with MCPClient.connect(offering(hold)) as client, anyio.create_task_group() as group:
            for n in range(200):
                group.start_soon(call, client, n)
            await wait_all_tasks_blocked()
            for scope in scopes[::2]:
                scope.cancel()
            await wait_all_tasks_blocked()
            assert sorted(ended) == list(range(0, 200, 2))
            may_go.set()

    assert got == {n: {"result": n} for n in range(1, 200, 2)}
    assert sorted(ended) == list(range(200))
    await back_to(before)


async def test_ten_clients_share_one_server_object() -> None:
    """B071: it is set up once, also for those that come and go at the same time."""
    entered: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[str]:
        entered.append("in")
        yield "shared"
        entered.append("out")

    server, before = offering(echo, lifespan=life), living_tasks()

    async def use(n: int) -> None:
        async with MCPClient.connect(server, revision=(LEGACY, MODERN)[n % 2]) as client:
            for step in range(10):
                assert (await client.call_tool("echo", {"a": [n, step]})).structuredContent == {"a": [n, step]}

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for n in range(10):
                group.start_soon(use, n)

    assert entered == ["in", "out"]
    await back_to(before)


async def test_two_hundred_connections_and_two_thousand_calls_leave_nothing_behind() -> None:
    server, before = offering(echo), living_tasks()

    for n in range(200):
        async with MCPClient.connect(server, revision=(LEGACY, MODERN)[n % 2]) as client:
            await client.ping()
    async with MCPClient.connect(server) as client:
        connected = living_tasks()
        for _ in range(2000):
            await client.call_tool("echo", {"a": 1})
        await back_to(connected)

    await back_to(before)
