"""A program that forgets to close its clients: it ends all the same, quietly, and its servers with it."""

from __future__ import annotations

import subprocess
import sys

import psutil  # type: ignore[import-untyped]
import pytest

from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED
from tests.sources import ROOT

PROGRAM = """
import asyncio, gc, sys
import anyio
from dedalus_mcp import MCPClient
from tests.interaction.reach import script
from tests.interaction.server import make

async def use():
    target = make() if sys.argv[1] == "memory" else script("tests.interaction.server")
    client = await MCPClient.connect(target, revision=sys.argv[2], tools_list_changed=print, elicitation=print)
    assert (await client.call_tool("echo", {"text": "x"})).content[0].text == "x"

async def main():
    if sys.argv[3] == "asyncio":
        asyncio.get_running_loop().slow_callback_duration = 60  # the machine may be busy
    await use()
    gc.collect()
    await anyio.sleep(0)
    import psutil
    print(*(child.pid for child in psutil.Process().children()))

anyio.run(main, backend=sys.argv[3])
gc.collect()
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("transport", ["memory", "stdio"])
def test_a_client_that_was_never_closed_ends_with_the_event_loop(transport: str, revision: str, backend: str) -> None:
    """B094: no traceback, no complaint of tasks or transports, and no process that stays."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", PROGRAM, transport, revision, backend]
    done = subprocess.run(
        command, env={**INHERITED, **ENV}, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    children = [int(pid) for pid in done.stdout.split()]

    assert (done.returncode, done.stderr) == (0, "")
    assert len(children) == (transport == "stdio")
    assert not any(psutil.pid_exists(pid) for pid in children)
