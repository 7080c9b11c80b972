"""A server of the official package: two plain tools, one that asks, one that fails, a prompt.

official_server.py [PORT]          serves on stdio, or HTTP on that port
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("official", version="1.2.3", instructions="For tests.")


class Approval(BaseModel):
    approve: bool
    reason: str = ""


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def ask(env: Literal["dev", "prod"]) -> Elicit[Approval]:
    return Elicit(f"Deploy to {env}?", Approval)


@server.tool()
async def confirm(env: Literal["dev", "prod"], answer: Annotated[ElicitationResult[Approval], Resolve(ask)]) -> str:
    """Ask before going on; live on the legacy revisions, in rounds on 2026-07-28."""
    if answer.action != "accept":
        return answer.action
    return f"{env}: approve={answer.data.approve} reason={answer.data.reason}"


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress on the way."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, f"step {step}")
    return "counted"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it broke")


@server.prompt(title="Greeting")
def greet(name: str, tone: str = "warm") -> str:
    """Greet somebody."""
    return f"Write a {tone} greeting to {name}."


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
