"""Makes docs/images/terminal.svg of a session that really ran: python -m tests.cli.picture."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import anyio
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from dedalus_mcp.cli.program import parsed
from dedalus_mcp.cli.talking import talking
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.types import ProgressNotificationParams
from tests.cli.acting import Actor, scenes, server_of_the_page
from tests.sources import ROOT

__all__ = ("PICTURE", "SCENES", "picture", "session")

PICTURE = ROOT / "docs" / "images" / "terminal.svg"
SCENES = ("inspect airport.py", 'call airport.py book flight="AI 101"', "read airport.py airport://gates/LH7")
COLUMNS = 100
ENVIRONMENT = {
    "FORCE_COLOR": "1",
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "COLUMNS": str(COLUMNS),
    "NO_COLOR": "",
}
"""What makes a terminal of a file, as far as rich can tell."""
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family: Fira Code, monospace")
_CREDIT = "<!-- Generated with Rich https://www.textualize.io -->"


class Still(Terminal):
    """A terminal without anything that moves."""

    @contextmanager
    def progress(self) -> Generator[Callable[[ProgressNotificationParams], None] | None]:
        """Show nothing: a bar is drawn over and over."""
        yield None


async def session() -> str:
    """Play some scenes of the page, and return what was to be seen, with the codes for colours."""
    scripts = dict(scenes())
    server = server_of_the_page()
    seen: list[str] = []
    for line in SCENES:
        command, *argv = shlex.split(line)
        module, options = parsed([command, *argv])
        file = Plain()
        there = Still(file, file, keyboard=Actor(scripts[line], file))
        work: Any = getattr(module, command)
        await talking(options, work, there, target=server)
        seen.append(f"\x1b[1;32m$\x1b[0m \x1b[1mdedalus-mcp {line}\x1b[0m\n{file.coloured()}")
    return "\n".join(seen)


class Plain(io.StringIO):
    """A file that shows what it holds without the codes for colours, and with them when asked."""

    def getvalue(self) -> str:
        """Return the text alone, which is what a script has."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", super().getvalue())

    def coloured(self) -> str:
        """Return all of it."""
        return super().getvalue()


def picture(seen: str) -> str:
    """Return what was to be seen as an SVG that needs nothing from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(seen), soft_wrap=True)
    made = console.export_svg(title="dedalus-mcp", theme=MONOKAI, unique_id="terminal")
    made = _FAMILY.sub("font-family: ui-monospace, Menlo, Consolas, monospace", _FONTS.sub("", made))
    return made.replace(_CREDIT, "<!-- Made with Rich, of a session that ran: see tests/cli/picture.py -->")


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    PICTURE.write_text(picture(anyio.run(session)), encoding="utf-8")
