"""Where the command line writes: results to stdout, everything else to stderr; and who types the answers.

What is written is made harmless here, whoever said it, and no text is ever taken for markup.

Layer: L6; rich.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TextIO

import msgspec
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from dedalus_mcp.cli.harmless import harmless, harmless_json, one_line
from dedalus_mcp.cli.keyboard import Keyboard, Typing
from dedalus_mcp.types import ProgressNotificationParams

__all__ = ("Terminal", "cell", "standard_terminal")

WIDTH = 100
"""Columns of what is written to no terminal, where `COLUMNS` does not say."""


class Terminal:
    """The two streams of a program, and its keyboard.

    Args:
        out: For results.
        err: For everything else.
        keyboard: Who types; None where nobody is there.
        json: Whether results are JSON.
        quiet: Whether logs and progress are left out.

    Attributes:
        out: The console of `out`.
        err: The console of `err`.
        keyboard, json, quiet: See above.
    """

    def __init__(
        self, out: TextIO, err: TextIO, *, keyboard: Typing | None = None, json: bool = False, quiet: bool = False
    ) -> None:
        self.out = _console(out)
        self.err = _console(err)
        self.keyboard = keyboard
        self.json = json
        self.quiet = quiet
        self._bar: _Bar | None = None

    def say(self, text: str) -> None:
        """Write text to stdout, as it is."""
        self.out.file.write(f"{harmless(text)}\n")
        self.out.file.flush()

    def show(self, *what: RenderableType) -> None:
        """Write what rich can draw to stdout; text in it is harmless already: see `cell`."""
        self.out.print(*what)

    def emit(self, value: Any, *, indent: int = 2) -> None:
        """Write a value to stdout as JSON; `indent` 0 makes one line of it."""
        text = msgspec.json.format(msgspec.json.encode(value), indent=indent or -1).decode()
        self.out.file.write(f"{harmless_json(text)}\n")
        self.out.file.flush()

    def note(self, text: str, style: str = "") -> None:
        """Write text to stderr."""
        self.err.print(Text(harmless(text), style=style), soft_wrap=True)

    def fail(self, text: str) -> None:
        """Write to stderr what went wrong."""
        self.err.print(Text.assemble(("error: ", "bold red"), harmless(text)), soft_wrap=True)

    async def ask(self, prompt: str) -> str:
        """Return the line that is typed after a prompt.

        Raises:
            EOFError: Nobody is there, or goes away.
        """
        if self.keyboard is None:
            raise EOFError
        self.err.print(Text(harmless(prompt), style="bold"), soft_wrap=True, end="")
        self.err.file.flush()
        try:
            return await self.keyboard.line()
        except EOFError:
            self.err.print()
            raise

    @contextmanager
    def progress(self) -> Generator[Callable[[ProgressNotificationParams], None] | None]:
        """Give what shows progress as a bar on stderr; None where nobody would see one."""
        if self.quiet or not self.err.is_terminal:
            yield None
            return
        self._bar = bar = _Bar(self.err)
        try:
            yield bar.hear
        finally:
            self._bar = None
            bar.pause()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Take the bar away while something is asked."""
        bar = self._bar
        if bar is None:
            yield
            return
        bar.pause()
        try:
            yield
        finally:
            if self._bar is bar:  # else the call is over
                bar.go_on()


class _Bar:
    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)
        self._heard = self._paused = False

    def hear(self, params: ProgressNotificationParams) -> None:
        self._heard = True
        if not self._paused:
            self._progress.start()
        text = one_line(params.message or "", 60)
        self._progress.update(self._task, completed=params.progress, total=params.total, description=text)

    def pause(self) -> None:
        self._paused = True
        self._progress.stop()

    def go_on(self) -> None:
        self._paused = False
        if self._heard:
            self._progress.start()


def cell(text: str, style: str = "", *, limit: int = 400) -> Text:
    """Return text for what `Terminal.show` draws: harmless, in one paragraph, clipped."""
    return Text(one_line(text, limit), style=style)


def standard_terminal(*, json: bool = False, quiet: bool = False) -> Terminal:
    """Return the terminal of this program."""
    out, err = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115, PTH123
    for stream in (out, err):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # what the locale has no bytes for is shown by its code
            reconfigure(errors="backslashreplace")
    stdin: TextIO | None = sys.stdin  # None where the program was started without one
    there = stdin is not None and stdin.isatty() and err.isatty()
    keyboard = Keyboard(stdin.fileno()) if stdin is not None and there else None
    return Terminal(out, err, keyboard=keyboard, json=json, quiet=quiet)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Nobody reads any more: the program decides what becomes of that, not rich."""
        raise BrokenPipeError


def _console(file: TextIO) -> Console:
    console = _Console(file=file, markup=False, emoji=False, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH
    return console
