"""Clients that pytest's plugins keep for tests, however their fixtures are run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from dedalus_mcp import MCPClient
from tests.client.serving import BOTH, echo, offering


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def kept() -> AsyncGenerator[MCPClient]:
    async with MCPClient.connect(offering(echo)) as client:
        yield client


@pytest.mark.parametrize("number", range(3))
async def test_a_client_may_be_kept_for_a_whole_module(kept: MCPClient, number: int) -> None:
    """B098: by the plugin of anyio, which keeps one task for it."""
    assert (await kept.call_tool("echo", {"a": number})).structuredContent == {"a": number}


@BOTH
def test_each_step_of_a_fixture_may_run_in_a_task_of_its_own(revision: str) -> None:
    """B098: as pytest-asyncio does it, which runs the two halves of a fixture and each test one by one."""

    async def fixture() -> AsyncGenerator[MCPClient]:
        async with MCPClient.connect(offering(echo), revision=revision) as client:
            yield client

    async def test(client: MCPClient, number: int) -> Any:
        return (await client.call_tool("echo", {"a": number})).structuredContent

    async def step(generator: AsyncGenerator[MCPClient]) -> MCPClient:
        return await anext(generator)

    with asyncio.Runner() as runner:
        generator = fixture()
        client = runner.run(step(generator))
        for number in range(3):
            assert runner.run(test(client, number)) == {"a": number}
        with pytest.raises(StopAsyncIteration):
            runner.run(step(generator))
        assert runner.run(others()) == 0


async def others() -> int:
    """How many tasks live beside this one."""
    return len(asyncio.all_tasks()) - 1
