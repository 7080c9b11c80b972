"""Ask what an argument may be.

For a resource template, say `resource` and its URI template.  VALUE is what is typed of the argument so
far, which may be nothing ('').  OTHER are the arguments that are chosen already.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from dedalus_mcp.cli.exits import DONE
from dedalus_mcp.cli.talking import add_options, pairs, talk
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.types import PromptReference, ResourceTemplateReference

__all__ = ("add_arguments", "complete", "main")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command)
    parser.add_argument("kind", choices=("prompt", "resource"), help="of what it is an argument")
    parser.add_argument("name", metavar="NAME", help="the prompt, or the URI template of the resource")
    parser.add_argument("argument", metavar="ARGUMENT", help="the argument")
    parser.add_argument("value", metavar="VALUE", help="what is typed of it so far")
    parser.add_argument("chosen", nargs="*", metavar="OTHER=VALUE", help="arguments that are chosen already")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return talk(options, complete)


async def complete(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Ask, and show the suggestions, one on a line."""
    ref: PromptReference | ResourceTemplateReference = (
        PromptReference(name=options.name) if options.kind == "prompt" else ResourceTemplateReference(uri=options.name)
    )
    chosen = pairs(options.chosen, "an argument")
    result = await client.complete(ref, options.argument, options.value, chosen=chosen or None)
    if terminal.json:
        terminal.emit(result)
        return DONE
    found = result.completion
    for value in found.values:
        terminal.say(value)
    if found.hasMore or (found.total or 0) > len(found.values):
        terminal.note(f"... of {found.total}" if found.total else "... and more", "dim")
    return DONE
