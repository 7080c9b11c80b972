"""Serve the server in a file.

FILE is imported, and the one MCPServer in it is served; NAME says which where there are several.  A module
that can be imported goes as package.module:NAME.  Code under `if __name__ == "__main__"` does not run.

Layer: L6.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from dedalus_mcp.cli.exits import DONE, MISUSED, REFUSED, Misuse
from dedalus_mcp.cli.loading import file_of, load_server
from dedalus_mcp.run import ENTRY_POINTS
from dedalus_mcp.server.server import MCPServer

if TYPE_CHECKING:
    from dedalus_mcp import HttpServer

__all__ = ("add_arguments", "main")

HTTP = ("http", "streamable-http")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    if command is not None:
        parser.error("there is nothing for `run` after `--`")
    parser.add_argument("file", metavar="FILE[:NAME]", help="the file with the server, or package.module:NAME")
    parser.add_argument(
        "--transport", default="stdio", help="stdio, http, or another that is installed; stdio if not given"
    )
    group = parser.add_argument_group("over HTTP")
    group.add_argument("--host", help="the address to listen on; 127.0.0.1 if not given")
    group.add_argument("--port", type=int, help="the port; that of the variable PORT, or 8000, if not given")
    group.add_argument("--path", help="the path of the endpoint; /mcp if not given")
    group.add_argument("--workers", type=int, help="how many processes serve; more than one need state keys")
    group.add_argument(
        "--reload",
        action="store_true",
        help="start anew when a Python file in the directory of FILE, or below, changes",
    )


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    settings = {name: getattr(options, name) for name in ("host", "port", "path", "workers")}
    settings = {name: value for name, value in settings.items() if value is not None}
    try:
        _check(options, settings)
        if options.reload:
            return _reloading(options, settings)
        with _prints_to_stderr(options.transport):
            server = load_server(options.file)
        return _serve(server, options.transport, settings)
    except Misuse as error:
        sys.stderr.write(f"error: {error}\n")
        return MISUSED
    except Exception as error:  # noqa: BLE001 - the user's own code, whose traceback says more than we could
        traceback.print_exception(error.with_traceback(_of_theirs(error.__traceback__)))
        return REFUSED


def _serve(server: MCPServer, transport: str, settings: dict[str, Any]) -> int:
    if transport == "stdio" and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("Serving over stdio, which is for a client that starts this; --transport http has a URL.\n")
    if settings.get("workers", 1) > 1:
        _need_keys(server)
    try:
        server.run(_host(settings) if transport in HTTP else transport)
    except Misuse:
        raise
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES):
            raise
        sys.stderr.write(f"error: {error}\n")
        return REFUSED
    return DONE


def _of_theirs(found: TracebackType | None) -> TracebackType | None:
    """Leave out where we import their code: that is no fault of theirs."""
    ours = str(Path(__file__).parent)
    while found is not None and found.tb_frame.f_code.co_filename.startswith((ours, "<frozen importlib")):
        found = found.tb_next
    return found


def _host(settings: dict[str, Any]) -> HttpServer:
    from dedalus_mcp import HttpServer, HttpSettings  # noqa: PLC0415 - stdio needs nothing of them

    path = {"path": settings.pop("path")} if "path" in settings else {}
    try:
        return HttpServer(settings=HttpSettings(**path), **settings)
    except ValueError as error:
        raise Misuse(str(error)) from None


def _need_keys(server: MCPServer) -> None:
    from dedalus_mcp_transports.http_options import KEYS, keys_of_environment  # noqa: PLC0415 - for HTTP alone

    try:
        keys = server.state_keys or keys_of_environment(os.environ)
    except ValueError as error:
        raise Misuse(str(error)) from None
    if not keys:
        raise Misuse(
            f"--workers needs a key that all of them share: {KEYS}, as `python -c "
            f"'import secrets; print(secrets.token_hex(32))'` makes one, or MCPServer(state_keys=[...])"
        )


def _check(options: argparse.Namespace, settings: dict[str, Any]) -> None:
    if options.transport not in (*HTTP, "stdio"):
        from importlib.metadata import entry_points  # noqa: PLC0415 - loaded where it is used

        others = sorted(entry_points(group=ENTRY_POINTS).names)
        if options.transport not in others:
            raise Misuse(
                f"--transport is one of {', '.join(('stdio', 'http', *others))}; not {options.transport!r:.80}"
            )
    if options.transport not in HTTP:
        if settings:
            raise Misuse(f"--{next(iter(settings))} goes with --transport http")
        if options.reload:
            raise Misuse(
                "--reload goes with --transport http: over stdio the program is the connection, "
                "and whoever started it would have to start it again"
            )


def _reloading(options: argparse.Namespace, settings: dict[str, Any]) -> int:
    from dedalus_mcp.cli.reloading import serve_reloading  # noqa: PLC0415 - loaded where it is used

    file = file_of(options.file)
    if file is not None and not file.is_file():
        raise Misuse(f"there is no file {str(file)!r}")
    flags = [f"--{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "dedalus_mcp", "run", options.file, "--transport", "http", *flags]
    return serve_reloading(command, Path.cwd() if file is None else file.resolve().parent)


@contextmanager
def _prints_to_stderr(transport: str) -> Generator[None]:
    """Keep off the wire what code prints, or has others print, while it is imported."""
    stdout: TextIO | None = sys.stdout  # None where it was closed when the program began, as is the next
    stderr: TextIO | None = sys.stderr
    if transport != "stdio" or stdout is None:
        yield
        return
    stdout.flush()
    wire = os.dup(1)
    elsewhere = os.open(os.devnull, os.O_WRONLY) if stderr is None else os.dup(2)
    os.dup2(elsewhere, 1)
    os.close(elsewhere)
    try:
        with redirect_stdout(stderr):
            yield
    finally:
        stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)
