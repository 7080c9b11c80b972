"""Changes from one end to the other: a real client hears of them, on every revision and transport."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.changing_server import make
from tests.interaction.reach import PATIENCE, Heard, script, ways
from tests.transports.test_http_client import serving


async def hear_all(target: Any, revision: str) -> None:
    """Change everything, and see that a client hears of it."""
    tools, prompts, resources, updates = Heard[Any](), Heard[Any](), Heard[Any](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(
            target,
            revision=revision,
            tools_list_changed=tools,
            prompts_list_changed=prompts,
            resources_list_changed=resources,
            resource_updated=updates,
        ) as client:
            await client.subscribe_resource("a://watched")
            before = [tool.name for tool in (await client.list_tools()).tools]
            for what in ("tool", "prompt", "resource", "other", "watched"):
                await client.call_tool("change", {"what": what})
            for heard in (tools, prompts, resources, updates):
                await heard.wait(1)
            after = [tool.name for tool in (await client.list_tools()).tools]
            assert after == [*before, "added"]
            assert updates.values[-1].uri == "a://watched"


@ways
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_client_hears_of_every_kind_of_change(revision: str, transport: str) -> None:
    """TOOL-20, PROMPT-11, RES-11, RES-12: what it asked for, and nothing of other resources."""
    await hear_all(make() if transport == "memory" else script("tests.interaction.changing_server"), revision)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_client_hears_of_every_kind_of_change_over_http(revision: str) -> None:
    """The same."""
    async with serving(make()) as url:
        await hear_all(url, revision)
