"""A program that serves on stdio and says on stderr what it sets up and takes down, and whether its client is there."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anyio.lowlevel import checkpoint

from dedalus_mcp import CallNext, Context, Incoming, MCPServer, Session, tool


def say(word: str) -> None:
    print(word, file=sys.stderr, flush=True)


@asynccontextmanager
async def life(server: MCPServer) -> AsyncGenerator[str]:
    say("server in")
    yield "server"
    say("server out")


@asynccontextmanager
async def visit(session: Session) -> AsyncGenerator[str]:
    say("session in")
    try:
        yield "session"
    finally:
        await checkpoint()
        say("session out")


async def look(incoming: Incoming, call_next: CallNext) -> Any:
    result = await call_next()
    say(f"through {incoming.method}")
    return result


@tool
async def there(ctx: Context[str, str]) -> str:
    answered = await ctx.server.ping_current_session(timeout=20)
    return f"{ctx.lifespan} {ctx.session_lifespan} {answered}"


if __name__ == "__main__":
    server = MCPServer("sessions", lifespan=life, session_lifespan=visit, middleware=[look])
    server.collect(there)
    server.run()
    say("returned")
