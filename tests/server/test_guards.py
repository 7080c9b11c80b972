"""`require_within_roots` round a tool."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, tool
from dedalus_mcp.server.guards import require_within_roots
from tests.interaction.asked import asked, text_of
from tests.interaction.reach import PATIENCE


@tool
@require_within_roots()
async def read(path: str = "") -> str:
    return f"read {path}"


async def test_a_tool_runs_only_for_paths_within_the_roots() -> None:
    """ROOT-08."""
    server = MCPServer("guarded")
    server.collect(read)
    able = {"roots": {"listChanged": True}}
    with anyio.fail_after(PATIENCE):
        async with asked(server, "", "memory", "2025-11-25", able) as talking:
            question = await talking.begin("read", path="/nowhere/a")
            found = await talking.text(question, {"roots": [{"uri": "file:///nowhere"}]})
            assert found == "read /nowhere/a"
            assert text_of(await talking.begin("read", path="/nowhere/b")) == "read /nowhere/b"
            error = (await talking.begin("read", path="/nowhere/../c"))["error"]
            assert (error["code"], "outside" in error["message"]) == (-32602, True)
            error = (await talking.begin("read"))["error"]
            assert error["message"] == "Argument 'path' is required for roots validation"


def test_what_cannot_be_guarded_is_refused() -> None:
    def plain(path: str) -> Any: ...

    async def other(file: str) -> Any: ...

    with pytest.raises(TypeError, match="expects an async function"):
        require_within_roots()(plain)
    with pytest.raises(TypeError, match="no parameter 'path'"):
        require_within_roots()(other)
