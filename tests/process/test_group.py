"""A group of real programs, from the configuration file of a desktop host."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClientGroup
from tests.client.counting import back_to, living_tasks
from tests.interaction.reach import PATIENCE

SCRIPT = str(Path(__file__).with_name("scripted_server.py"))


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """What a group does by itself has its own tests on both."""
    return str(request.param)


async def test_programs_of_a_configuration_are_started_called_lost_and_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDALUS_TEST_WAY", "plain")
    path = tmp_path / "mcp.json"
    args = ["-I", "-S", SCRIPT]
    servers = {
        "good one": {"command": sys.executable, "args": [*args, "${DEDALUS_TEST_WAY}"]},
        "dies": {"command": sys.executable, "args": [*args, "exits-at-call"]},
        "bad": {"command": sys.executable, "args": [*args, "exits"]},
        "missing": {"command": str(tmp_path / "nowhere")},
        "off": {"command": "never started", "disabled": True},
    }
    path.write_text(json.dumps({"mcpServers": servers}))
    before = living_tasks()
    with anyio.fail_after(PATIENCE):
        async with MCPClientGroup(path, patience=PATIENCE) as group:
            assert group.names == ("good_one", "dies", "bad", "missing")
            assert sorted(group.errors) == ["bad", "missing"]
            assert "boom" in str(group.errors["bad"])  # its last words
            assert (await group.call_tool("good_one__x")).text == "yes"
            with pytest.raises(ConnectionLost, match="fatal: no more"):
                await group.call_tool("dies__x")
            assert sorted(group.errors) == ["bad", "dies", "missing"]
            await group.reconnect("dies")
            assert sorted(group.errors) == ["bad", "missing"]
            assert (await group.call_tool("good_one__x")).text == "yes"
        await back_to(before)
