"""A server whose calls ask, in one of several processes with the same keys.

python -m tests.process.rounds_server PORT FILE      what it does is written to that file, a line each
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp_transports.http_serve import HttpServer
from tests.interaction.test_rounds import ask


def make(file: Path) -> MCPServer:
    server = MCPServer("rounds", state_keys=[b"k" * 32])

    def reserve(seat: int) -> int:
        with file.open("a") as lines:
            lines.write(f"reserved {seat}\n")
        return seat

    with server.binding():

        @tool
        async def buy() -> str:
            seat = await get_context().step("reserve", reserve, int(await ask("seat")))
            sure = await ask("sure")
            return f"{seat} {sure} {os.getpid()}"

    return server


if __name__ == "__main__":
    make(Path(sys.argv[2])).run(HttpServer(port=int(sys.argv[1]), drain_seconds=1.0))
