"""Clients that are left in the middle, closed by others, or kept by a fixture: the event loop stays quiet."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import MCPClient, ServerConfig, tool
from tests.client.counting import back_to, living_tasks
from tests.client.serving import BOTH, echo, offering, wait
from tests.interaction.reach import PATIENCE, script
from tests.transports.scripted_http import Asked, Talk, answering, scripted


async def abandon(steps: int, target: Any, **settings: Any) -> None:
    """Connect and call, and be cancelled after so many turns of the event loop, wherever that may be."""

    async def use() -> None:
        async with MCPClient.connect(target, **settings) as client:
            await client.call_tool("wait")

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()


@BOTH
async def test_clients_abandoned_at_any_point_in_memory_leave_a_quiet_loop(revision: str) -> None:
    """B095, B097: no task is left, and none spins."""
    server, before = offering(echo, wait), living_tasks()
    with anyio.fail_after(20):
        for steps in range(40):
            await abandon(steps, server, revision=revision, tools_list_changed=print)
        await back_to(before)
        await wait_all_tasks_blocked()  # never true of a loop that delivers a cancellation for ever
        async with MCPClient.connect(server, revision=revision) as client:
            assert not (await client.call_tool("echo")).isError


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # httpx leaves generators behind, which trio complains of
@BOTH
async def test_clients_abandoned_at_any_point_over_http_leave_a_quiet_loop(revision: str) -> None:
    """B095, B097, B088."""

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.message["params"]["name"] == "wait":
            await talk.gone()
        await talk.result({"content": [], "resultType": "complete"})

    async with scripted(answering(then, revision)) as server:
        await wait_all_tasks_blocked()  # it listens
        before = living_tasks()
        for steps in (*range(0, 60, 3), 100, 200, 300):
            await abandon(steps, server.url, revision=revision)
        while server.open:
            await anyio.lowlevel.checkpoint()
        await back_to(before)
        await wait_all_tasks_blocked()
        async with MCPClient.connect(server.url, revision=revision) as client:
            assert (await client.call_tool("echo")).content == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@BOTH
async def test_clients_abandoned_at_any_point_over_stdio_leave_a_quiet_loop(revision: str) -> None:
    """B095, B097: and no process."""
    target, tasks, processes = script("tests.process.lifespan_server"), living_tasks(), set(psutil.Process().children())
    with anyio.fail_after(PATIENCE):
        for steps in (0, 1, 10, 100, 1000, 30_000):
            await abandon(steps, target, revision=revision, tools_list_changed=print)
        await back_to(tasks)
        await wait_all_tasks_blocked()
        assert set(psutil.Process().children()) <= processes
        async with MCPClient.connect(target, revision=revision) as client:
            await client.ping()


@BOTH
async def test_ten_tasks_may_close_a_client_at_once_while_others_call_it(revision: str) -> None:
    """B095, B100."""
    before = living_tasks()
    failures: list[Exception] = []
    client = await MCPClient.connect(offering(echo, wait), revision=revision)

    async def call() -> None:
        try:
            await client.call_tool("wait")
        except ConnectionError as error:
            failures.append(error)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(call)
            await wait_all_tasks_blocked()
            for _ in range(10):
                group.start_soon(client.close)

    assert len(failures) == 10
    await back_to(before)


@pytest.mark.parametrize("threads", [1, 10])
async def test_sync_tools_may_be_clients_themselves(threads: int) -> None:
    """B143: nothing inside waits for the threads that they take."""
    inner = await MCPClient.connect(offering(echo))

    @tool
    def relay(number: int) -> Any:
        result = anyio.from_thread.run(inner.call_tool, "echo", {"a": number})
        return result.structuredContent

    answered: list[Any] = []
    config = ServerConfig(worker_threads=threads)
    with anyio.fail_after(20):
        async with MCPClient.connect(offering(relay, config=config)) as client:

            async def call(number: int) -> None:
                answered.append((await client.call_tool("relay", {"number": number})).structuredContent)

            async with anyio.create_task_group() as group:
                for number in range(60):
                    group.start_soon(call, number)
        await inner.close()

    assert sorted(each["a"] for each in answered) == list(range(60))


@pytest.fixture
async def kept() -> AsyncGenerator[MCPClient]:
    async with MCPClient.connect(offering(echo, wait)) as client:
        yield client


@pytest.mark.parametrize("number", range(3))
async def test_a_client_may_come_from_a_fixture(kept: MCPClient, number: int) -> None:
    """B098: whose end may run in another task than its start."""
    assert (await kept.call_tool("echo", {"a": number})).structuredContent == {"a": number}
