"""The command line: which commands there are, and what each ends with.

Only the chosen command is imported, so that `--help` answers at once, and a server that is run loads
nothing that only clients need.

Layer: L6.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dedalus_mcp import __version__
from dedalus_mcp.cli.exits import BROKEN_PIPE, INTERRUPTED, MISUSED

__all__ = ("main", "parsed")

COMMANDS = {
    "run": "serve the server in a file",
    "inspect": "show what a server is and has",
    "call": "call a tool",
    "prompt": "render a prompt",
    "read": "read a resource",
    "complete": "ask what an argument may be",
    "listen": "show what a server tells of, until Ctrl-C",
    "trace": "show what a client and a server say to each other",
    "doctor": "check a server, and say how to mend what is wrong",
    "install": "write a server into the configuration of a desktop host",
}
"""Each command, a module of this package, and what it does."""

EXITS = """\
exit codes:
  0    fine
  1    the tool or the server answered with an error
  2    the command line is not legal, or an extra is missing
  3    the server could not be reached, did not answer in time, or went away
  4    a question of the server was declined or cancelled
  130  interrupted; `run` and `listen`, which end so, end with 0
"""

LINES = "\n".join(f"  {name:<10} {about}" for name, about in COMMANDS.items())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program, and return its exit code.

    Args:
        argv: What was typed after its name; None for what was typed.

    Raises:
        SystemExit: Help was asked for, or the command line is not legal.
    """
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads has gone, as `head` does; and the interpreter would flush once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _main(argv: Sequence[str]) -> int:
    try:
        command, options = parsed(argv)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "rich":
            raise
        sys.stderr.write(f"error: `{argv[0]}` needs an extra: pip install 'dedalus-mcp[cli]'\n")
        return MISUSED
    status: int = command.main(options)
    return status


def parsed(argv: Sequence[str]) -> tuple[Any, argparse.Namespace]:
    """Return the module of the command that was typed, and its options.

    Raises:
        SystemExit: Help was asked for, or the command line is not legal.
    """
    name = argv[0] if argv else ""
    if name not in COMMANDS:
        _no_command(argv)
    words = list(argv[1:])
    command: list[str] | None = None
    if "--" in words:  # what follows is the command of a server, with options of its own
        command = words[words.index("--") + 1 :]
        words = words[: words.index("--")]
    module = import_module(f"dedalus_mcp.cli.{name}")
    parser = argparse.ArgumentParser(
        prog=f"dedalus-mcp {name}",
        description=(module.__doc__ or "").partition("\n\nLayer")[0],
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser, command)
    options = parser.parse_intermixed_args(words)
    return module, options


def _no_command(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="dedalus-mcp",
        usage="dedalus-mcp COMMAND ...",
        description="Serve, look at and use servers of the Model Context Protocol.",
        epilog=f"commands:\n{LINES}\n\n`dedalus-mcp COMMAND --help` says what a command takes.\n\n{EXITS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dedalus-mcp {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.parse_args(argv[:1] or ["--help"])
