"""Render a prompt.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from dedalus_mcp.cli.blocks import text_of
from dedalus_mcp.cli.exits import DONE
from dedalus_mcp.cli.talking import add_options, pairs, talk, unknown
from dedalus_mcp.cli.terminal import Terminal, cell
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import McpError
from dedalus_mcp.types import INVALID_PARAMS

__all__ = ("add_arguments", "main", "prompt")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command, asks=True)
    parser.add_argument("prompt", metavar="NAME", help="which prompt")
    parser.add_argument("arguments", nargs="*", default=[], metavar="NAME=VALUE", help="its arguments, which are text")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return talk(options, prompt)


async def prompt(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Render the prompt, and show its messages."""
    arguments = pairs(options.arguments, "an argument")
    with terminal.progress() as progress:
        try:
            result = await client.get_prompt(options.prompt, arguments or None, progress=progress)
        except McpError as error:
            if error.code == INVALID_PARAMS and not terminal.json:
                await _refuse_unknown(client, options.prompt)
            raise
    if terminal.json:
        terminal.emit(result)
        return DONE
    if result.description:
        terminal.show(cell(result.description, "dim"))
    for message in result.messages:
        terminal.show(cell(f"{message.role}:", "bold"))
        terminal.say(text_of(message.content))
    return DONE


async def _refuse_unknown(client: MCPClient, name: str) -> None:
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    if name not in names:
        raise unknown("prompt", name, names)
