"""Read a resource.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import anyio

from dedalus_mcp.cli.blocks import blob_of, contents
from dedalus_mcp.cli.exits import DONE, Misuse
from dedalus_mcp.cli.talking import add_options, talk
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.types import BlobResourceContents, TextResourceContents

__all__ = ("add_arguments", "main", "read")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command, asks=True)
    parser.add_argument("uri", metavar="URI", help="which resource")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write it, byte for byte")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return talk(options, read)


async def read(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Read the resource, and show or write what is in it."""
    with terminal.progress() as progress:
        result = await client.read_resource(options.uri, progress=progress)
    if options.output is not None:
        data = b"".join(map(_bytes, result.contents))
        try:
            await anyio.Path(options.output).write_bytes(data)
        except OSError as error:
            raise Misuse(f"--output: {error}") from None
        terminal.note(f"{len(data)} bytes written to {options.output}")
    elif terminal.json:
        terminal.emit(result)
    else:
        for each in result.contents:
            terminal.say(contents(each))
    return DONE


def _bytes(each: TextResourceContents | BlobResourceContents) -> bytes:
    return each.text.encode() if isinstance(each, TextResourceContents) else blob_of(each.blob)
