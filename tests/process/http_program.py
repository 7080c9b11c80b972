"""A program that serves HTTP the way authors write it:  python -m tests.process.http_program '{"port": 0}'.

What it says on stderr: where it serves, what its lifespan does, and that `run` has returned.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from dedalus_mcp import MCPServer, get_context, tool, types

__all__ = ()


def say(word: str) -> None:
    sys.stderr.write(f"{word}\n")
    sys.stderr.flush()


@asynccontextmanager
async def life(server: MCPServer) -> AsyncGenerator[None]:
    say("entered")
    yield
    if os.environ.get("NEVER_LEAVES"):
        say("leaving")
        await anyio.sleep_forever()
    say("left")


@tool
async def pid() -> str:
    return str(os.getpid())


@tool(inline=True)
def hold_the_loop(says: str, until: str) -> str:
    Path(says).write_text(str(os.getpid()))
    while not Path(until).exists():
        pass
    return str(os.getpid())


@tool
async def finish_in(seconds: float) -> str:
    await get_context().report_progress(1)
    await anyio.sleep(seconds)  # longer than the program takes to hear of its end
    return "finished"


@tool
async def never_ends() -> None:
    await get_context().report_progress(1)
    try:
        await anyio.sleep_forever()
    finally:
        say("cleaned up")


@tool
async def never_stops_telling() -> None:
    """Tell more than all buffers of a connection hold, and say so once nothing more is taken."""
    number = 0
    while True:
        with anyio.move_on_after(0.5):
            while True:
                number += 1
                await get_context().report_progress(number, message="x" * 10_000)
        say("told much")
        number += 1


@tool
async def asks() -> str:
    """Say which process asks, and in the result which has heard the answer."""
    say(f"asks {os.getpid()}")
    answer = await server.request_elicitation(
        types.ElicitRequestParams(
            message="Sure?",
            requestedSchema={"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
        )
    )
    return f"{answer.action} {os.getpid()}"


server = MCPServer("program", lifespan=life)
server.collect(pid, hold_the_loop, finish_in, never_ends, never_stops_telling, asks)

if __name__ == "__main__":
    server.run("streamable-http", **json.loads(sys.argv[1]))
    say("returned")
