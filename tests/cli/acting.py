"""A session at the terminal, played by a script that has both sides of it."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dedalus_mcp import MCPServer
from dedalus_mcp.cli.program import parsed
from dedalus_mcp.cli.talking import talking
from dedalus_mcp.cli.terminal import Terminal
from tests.sources import ROOT
from tests.test_documents import fenced

__all__ = ("PAGE", "Actor", "perform", "scenes", "server_of_the_page")

PAGE = ROOT / "docs" / "command-line.md"
PROMPT = "$ dedalus-mcp "


def server_of_the_page() -> MCPServer:
    """Run the first block of the page, and return its server."""
    block = next(fenced(PAGE, "python"))
    module = ModuleType("airport")
    sys.modules["airport"] = module
    exec(compile(block.source, "airport.py", "exec", dont_inherit=True), vars(module))
    server: MCPServer = module.server
    return server


def scenes() -> Iterator[tuple[str, str]]:
    """Each command of the page's console blocks, and what is shown after it."""
    for block in fenced(PAGE, "console"):
        for scene in block.source.split(PROMPT)[1:]:
            line, _, shown = scene.partition("\n")
            yield line, shown


class Actor:
    """Types what a script has at the place where the program asks; a `Typing`.

    Args:
        script: What is to be seen, with what is typed in it.
        file: What has been written so far; what is typed is written there too, as a terminal does.
    """

    def __init__(self, script: str, file: io.StringIO) -> None:
        self._script = script
        self._file = file

    async def line(self) -> str:
        """Return the rest of the line that the program asks on."""
        shown = self._file.getvalue()
        if not self._script.startswith(shown):  # the difference is for the test to show
            raise EOFError
        typed, end, _ = self._script[len(shown) :].partition("\n")
        if not end:
            raise EOFError
        self._file.write(f"{typed}\n")
        return typed


async def perform(line: str, script: str, server: MCPServer) -> tuple[int, str]:
    """Run a command on a server in memory; return the exit code, and all that was to be seen."""
    command, *argv = shlex.split(line)
    module, options = parsed([command, *argv])
    file = io.StringIO()
    interactive = "[c]ancel: " in script
    there = Terminal(file, file, keyboard=Actor(script, file) if interactive else None, json=options.json)
    work: Any = getattr(module, command)
    status = await talking(options, work, there, target=server)
    return status, file.getvalue()
