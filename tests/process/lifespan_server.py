"""A program that serves on stdio and says on stderr what it does: tests run it and send it signals."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from dedalus_mcp import MCPServer, tool


def say(word: str) -> None:
    print(word, file=sys.stderr, flush=True)


@asynccontextmanager
async def life(server: MCPServer) -> AsyncGenerator[str]:
    say("entered")
    if "fail-in" in sys.argv:
        raise KeyError("no database")
    if "never-ready" in sys.argv:
        await anyio.sleep_forever()
    try:
        yield "value"
    finally:
        say("left")
    if "fail-out" in sys.argv:
        raise KeyError("cannot save")


@tool
async def wait() -> None:
    try:
        say("waiting")
        await anyio.sleep_forever()
    finally:
        say("cleaned up")


@tool
def block() -> None:
    say("blocking")
    time.sleep(1000)


if __name__ == "__main__":
    server = MCPServer("program", lifespan=life)
    server.collect(wait, block)
    server.run()
    say("returned")
