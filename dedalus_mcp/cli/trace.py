"""Show what a client and a server say to each other, as it is said.

  trace TARGET [CALL ...]         a conversation of its own: the handshake, and these calls
  trace --proxy -- COMMAND ...    the one of a host and its server, from the middle

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TextIO, cast

import anyio
import msgspec
from rich.text import Text

from dedalus_mcp import StdioServer
from dedalus_mcp.cli.exits import DONE, LOST, MISUSED, REFUSED, Misuse
from dedalus_mcp.cli.talking import add_options, talking
from dedalus_mcp.cli.target import opened
from dedalus_mcp.cli.terminal import Terminal, standard_terminal
from dedalus_mcp.cli.trace_entries import Entry
from dedalus_mcp.cli.trace_lines import as_block, as_json_line, as_line
from dedalus_mcp.cli.trace_proxy import pass_through
from dedalus_mcp.cli.trace_target import Teller, Traced
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import McpError

__all__ = ("add_arguments", "calls_of", "main", "trace")

Call = tuple[str, dict[str, Any]]

_STYLES = {"error": "red", "junk": "yellow", "opened": "dim", "ended": "dim", "notification": "cyan"}


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command)
    parser.add_argument(
        "calls",
        nargs="*",
        metavar="CALL",
        help="METHOD, or METHOD={...} with params as JSON, such as tools/list; the handshake alone if none is given",
    )
    group = parser.add_argument_group("the trace")
    group.add_argument("--pretty", action="store_true", help="whole messages, indented; else one clipped line each")
    group.add_argument("--output", type=Path, metavar="FILE", help="write there instead of to stdout")
    group.add_argument(
        "--proxy",
        action="store_true",
        help="stand between a host and the server on stdio: both pass untouched, the trace goes to stderr or FILE",
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return anyio.run(trace, options, standard_terminal(json=options.json, quiet=options.quiet))


async def trace(options: argparse.Namespace, terminal: Terminal) -> int:
    """Do what the options say, and return the exit code.

    Args:
        options: What `add_arguments` added.
        terminal: Where the trace goes, if not to a file.
    """
    with ExitStack() as stack:
        try:
            calls = calls_of(options.calls)
            target = opened(options)
            if options.proxy and (calls or not isinstance(target, StdioServer)):
                raise Misuse("--proxy goes with a command or a file, and no calls: the host makes them")
            file = None if options.output is None else stack.enter_context(options.output.open("w", encoding="utf-8"))
        except (Misuse, OSError) as error:
            terminal.fail(str(error))
            return MISUSED
        teller = Teller(_writer(options, terminal, file))
        if options.proxy and isinstance(target, StdioServer):
            return await _between(target, teller, terminal)
        options.target = Traced(target, teller)
        options.quiet = True  # logs are in the trace
        return await talking(options, partial(_make, calls), terminal)


def calls_of(given: Sequence[str]) -> list[Call]:
    """Return the requests to make.

    Raises:
        Misuse: One is none; the text says what is legal.
    """
    calls: list[Call] = []
    for each in given:
        method, equals, text = each.partition("=")
        try:
            params: Any = msgspec.json.decode(text) if equals else {}
        except (msgspec.DecodeError, RecursionError) as error:
            raise Misuse(f"the params of {method:.80}: {error}") from None
        if not method or not isinstance(params, dict):
            raise Misuse(f"a call is METHOD or METHOD={{...}}, not {each!r:.80}")
        calls.append((method, cast("dict[str, Any]", params)))
    return calls


async def _make(calls: Sequence[Call], client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    status = DONE
    for method, params in calls:
        try:
            result = await client.request(method, params)
        except McpError:  # it is in the trace
            status = REFUSED
        else:
            status = REFUSED if result.get("isError") is True else status
    return status


async def _between(server: StdioServer, teller: Teller, terminal: Terminal) -> int:
    try:
        return await pass_through(server, teller)
    except OSError as error:
        terminal.fail(f"{server.command!r:.200} cannot be started: {error}")
        return LOST


def _writer(options: argparse.Namespace, terminal: Terminal, file: TextIO | None) -> Callable[[Entry], None]:
    as_text = as_json_line if options.json else as_block if options.pretty else as_line
    console = terminal.err if options.proxy else terminal.out

    def write(entry: Entry) -> None:
        text = as_text(entry)
        if file is not None or options.json:
            out = console.file if file is None else file
            out.write(f"{text}\n")
            out.flush()  # whoever watches wants to see it now
        else:
            console.print(Text(text, style=_STYLES.get(entry.kind, "")), soft_wrap=True)

    return write
