"""A server that is hard to end and hard to keep quiet; run as a script with the path of a file for its marks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from dedalus_mcp import MCPServer, tool

MEETING = threading.Barrier(3)
READ_ALL = "import sys; print(len(sys.stdin.read())); print('on stderr', file=sys.stderr)"
ODD = "a\u2028b\u2029c\u0085d\x0b\x0c\x1c\r\n\U0001f600"


def mark(what: str) -> None:
    with Path(sys.argv[1]).open("a") as file:
        file.write(f"{what}\n")


async def tick() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        mark("background over")


@asynccontextmanager
async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
    mark(f"up {os.getpid()}")
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            if "--never-up" in sys.argv:
                await anyio.sleep_forever()
            yield
            group.cancel_scope.cancel()
    finally:
        mark("down")


@tool
async def hold() -> None:
    mark("hold began")
    try:
        await anyio.sleep_forever()
    finally:
        mark("hold over")


@tool
def block(seconds: float) -> str:
    mark("block began")
    time.sleep(seconds)
    mark("block over")
    return "blocked"


@tool
async def late(seconds: float) -> str:
    mark("late began")
    await anyio.sleep(seconds)
    return "in time"


@tool
def children() -> list[str]:
    """Start children that read what they inherit and print all over the place."""
    done = subprocess.run([sys.executable, "-c", READ_ALL], stdout=subprocess.PIPE, check=True)
    subprocess.run([sys.executable, "-c", READ_ALL], check=True)
    subprocess.run("echo from a shell; echo and its stderr >&2", shell=True, check=True)
    return [done.stdout.decode().strip()]


@tool
def prints() -> str:
    print("from print")
    sys.stdout.write("from sys.stdout")
    sys.stdout.flush()
    os.write(1, b"from descriptor 1\n")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    return "printed"


@tool
async def odd() -> str:
    return ODD


@tool
async def echo(text: str) -> str:
    return text


@tool
async def big(size: int) -> str:
    return "x" * size


@tool
def meet() -> str:
    """Return when three of these run at the same time."""
    MEETING.wait(timeout=20)
    return "met"


if __name__ == "__main__":
    before = (list(logging.getLogger().handlers), logging.getLogger().level)
    server = MCPServer("busy", lifespan=lifespan)
    server.collect(hold, block, late, children, prints, odd, echo, big, meet)
    print("before serving")
    if "--trio" in sys.argv:
        anyio.run(server.serve, backend="trio")
    else:
        server.run()
    assert before == (list(logging.getLogger().handlers), logging.getLogger().level)
    mark("returned")
