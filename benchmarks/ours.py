"""Our server with the tools that `bare.py` has.

python benchmarks/ours.py            both tools
python benchmarks/ours.py --one      echo alone: what a small server pays to start
python benchmarks/ours.py --http     over HTTP, at a free port that it names on stderr
"""

from __future__ import annotations

import sys

from dedalus_mcp import Context, MCPServer, ServerConfig, tool, types
from dedalus_mcp.server.config import ParkingConfig

__all__ = ("server",)

server = MCPServer("bench", version="1", config=ServerConfig(parking=ParkingConfig(max_parked=100_000)))
QUESTION = types.ElicitRequestParams(
    message="Sure?",
    requestedSchema={"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
)


@tool
async def echo(text: str) -> str:
    return text


@tool
async def large(size: int) -> str:
    return "x" * size


@tool
async def confirm() -> str:
    answer = await server.request_elicitation(QUESTION)
    return str((answer.content or {})["sure"])


@tool
def confirm_in_thread(ctx: Context) -> str:
    return str(ctx.wait(ctx.confirm("Sure?")))


server.collect(*([echo] if "--one" in sys.argv else [echo, large, confirm, confirm_in_thread]))

if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", port=0)
    else:
        server.run()
