"""Call a tool.

A value is read as the tool's schema says: a number where it takes numbers, text where it takes text,
JSON for arrays and objects.  NAME:=JSON is JSON in any case.

Layer: L6.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dedalus_mcp.cli.blocks import text_of_result
from dedalus_mcp.cli.exits import DONE, REFUSED, Misuse
from dedalus_mcp.cli.talking import add_options, talk, unknown
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.cli.values import object_of, read_arguments
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import InvalidOutput, McpError
from dedalus_mcp.types import INVALID_PARAMS, Tool

__all__ = ("add_arguments", "call", "main")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command, asks=True)
    parser.add_argument("tool", metavar="TOOL", help="its name")
    parser.add_argument("arguments", nargs="*", default=[], metavar="NAME=VALUE", help="its arguments")
    parser.add_argument(
        "--json-arguments", metavar="JSON", help="all arguments as one object; @FILE reads it, and @- from stdin"
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return talk(options, call)


async def call(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Call the tool, and show what it returned."""
    arguments = await _arguments(client, options)
    problem: InvalidOutput | None = None
    try:
        with terminal.progress() as progress:
            result = await client.call_tool(options.tool, arguments, progress=progress)
    except InvalidOutput as error:
        problem, result = error, error.result
    except McpError as error:
        if error.code == INVALID_PARAMS and not terminal.json:
            await _tool(client, options.tool)  # whose error names those that there are
        raise
    if terminal.json:
        terminal.emit(result)
    else:
        for text in text_of_result(result):
            (terminal.fail if result.isError else terminal.say)(text)
        if result.isError and not result.content:
            terminal.fail("the tool failed without saying why")
    if problem is not None:
        terminal.fail(str(problem))
    return REFUSED if result.isError or problem is not None else DONE


async def _arguments(client: MCPClient, options: argparse.Namespace) -> dict[str, Any]:
    given: Sequence[str] = options.arguments
    if options.json_arguments is not None:
        if given:
            raise Misuse("--json-arguments stands for all arguments: there is no NAME=VALUE beside it")
        return object_of(_text(options.json_arguments), "--json-arguments")
    if not given:
        return {}
    return read_arguments(given, (await _tool(client, options.tool)).inputSchema)


async def _tool(client: MCPClient, name: str) -> Tool:
    tools = (await client.list_tools()).tools
    for tool in tools:
        if tool.name == name:
            return tool
    raise unknown("tool", name, [tool.name for tool in tools])


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return sys.stdin.read() if given == "@-" else Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise Misuse(f"--json-arguments: {error}") from None
