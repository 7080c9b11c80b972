"""Programs that are killed, and what they write down of what they do.

python -m tests.faults.program serve FILE [PORT]              a server, on stdio or on that port
python -m tests.faults.program ask MOMENT REVISION URL        a client whose call asks
python -m tests.faults.program ask MOMENT REVISION serve FILE  the same, with a server of its own
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from dedalus_mcp import Context, HttpServer, MCPClient, MCPServer, StdioServer, tool, types
from tests.interaction.reach import script

__all__ = ("MOMENTS", "ask_in", "make", "noted_in")

MOMENTS = ("before", "asked", "travels", "after")
"""When somebody is killed: before the question, while it is asked, while the answer travels, after that."""


def noted_in(file: Path) -> Callable[[str], None]:
    """Return what appends a line to a file."""

    def note(line: str) -> None:
        with file.open("a") as lines:
            lines.write(f"{line}\n")

    return note


def make(note: Callable[[str], None]) -> MCPServer:
    """A server that notes each thing that it does; a call holds at the moment that is named, for ever."""
    server = MCPServer("killed")

    @tool
    async def ask(ctx: Context, name: str, hold: str = "") -> str:
        async def reserve() -> str:
            note(f"{name} reserved")
            return "reserved"

        async def hold_at(moment: str) -> None:
            if hold == moment:
                note(f"{name} holds {moment}")
                await anyio.sleep_forever()

        try:
            await ctx.step("reserve", reserve)
            await hold_at("before")
            sure = await ctx.confirm(f"{name}?")
            note(f"{name} answered {sure}")
            await hold_at("after")
            return "done"
        finally:
            note(f"{name} over")

    server.collect(ask)
    return server


async def ask_in(target: str | StdioServer, revision: str, moment: str) -> None:
    """Be a client that is killed at that moment: it says on stdout when a question has come, and answers only then."""

    async def answer(params: types.ElicitRequestParams) -> types.ElicitResult:
        print("asked", flush=True)
        if moment == "asked":
            await anyio.sleep_forever()
        return types.ElicitResult(action="accept", content={"confirm": True})

    async with MCPClient.connect(target, revision=revision, elicitation=answer) as client:
        await client.call_tool("ask", {"name": moment, "hold": moment})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", file]:
            make(noted_in(Path(file))).run()
        case ["serve", file, port]:
            make(noted_in(Path(file))).run(HttpServer(port=int(port)))
        case ["ask", moment, revision, "serve", file]:
            anyio.run(ask_in, script("tests.faults.program", ["serve", file]), revision, moment)
        case ["ask", moment, revision, url]:
            anyio.run(ask_in, url, revision, moment)
        case _:
            sys.exit(__doc__)
