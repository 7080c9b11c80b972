"""The command line in this process: what was typed goes in, what was written and the exit code come out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dedalus_mcp.cli.program import parsed
from dedalus_mcp.cli.talking import talking
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.client.settings import ClientSettings

__all__ = ("Played", "Script", "play", "terminal")


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a command."""

    status: int
    out: str
    err: str


class Script:
    """Somebody who types these lines, and then goes away; a `Typing`."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)

    async def line(self) -> str:
        """Return the next line."""
        try:
            return next(self._lines)
        except StopIteration:
            raise EOFError from None


def terminal(typed: Iterable[str] | None = None, *, json: bool = False, quiet: bool = False) -> Terminal:
    """Return a terminal that writes to memory; nobody is there where nothing is typed."""
    keyboard = None if typed is None else Script(typed)
    return Terminal(io.StringIO(), io.StringIO(), keyboard=keyboard, json=json, quiet=quiet)


async def play(
    target: Connectable,
    *argv: str,
    typed: Sequence[str] | None = None,
    settings: ClientSettings | None = None,
) -> Played:
    """Run a command of the program on a target, and return what it wrote.

    Args:
        target: What to connect to.
        argv: What was typed after the program's name; `@` stands for the target.
        typed: What is typed while it runs; None where nobody is at the terminal.
        settings: What else the client is told.
    """
    module, options = parsed(argv)
    there = terminal(typed, json=options.json, quiet=options.quiet)
    work: Any = getattr(module, argv[0])
    status = await talking(options, work, there, settings, target)
    return Played(status, written(there.out.file), written(there.err.file))


def written(file: Any) -> str:
    """Return what was written to a file in memory."""
    text: str = file.getvalue()
    return text
