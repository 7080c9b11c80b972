"""Write a server into the configuration of a desktop host.

The host starts `python -m dedalus_mcp run FILE`, by absolute paths, so that the file need not have a line
that runs the server; that is tried once before anything is written.  The rest of the configuration stays
as it is, byte for byte.

Layer: L6.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dedalus_mcp.cli.exits import DONE, MISUSED, Misuse
from dedalus_mcp.cli.harmless import harmless
from dedalus_mcp.cli.install_check import fault_of
from dedalus_mcp.cli.install_file import read_text, replace_text
from dedalus_mcp.cli.install_hosts import HOSTS, configuration_of
from dedalus_mcp.cli.install_json import BrokenJson, drop, holds, put

__all__ = ("add_arguments", "install", "main")

SERVERS = "mcpServers"
"""The member that holds the entries, where no host says otherwise."""


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    if command is not None:
        parser.error("a file is installed, not a command: there is no -- here")
    parser.add_argument("file", metavar="FILE[:SERVER]", help="the file of the server, and which one in it")
    parser.add_argument("--host", choices=sorted(HOSTS), help="the host, whose configuration is found by itself")
    parser.add_argument("--config", metavar="PATH", help="another configuration, or that of any other host")
    parser.add_argument("--name", help="what the host calls the server (the name of the file)")
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable that the server gets; without a value, the one that it has here (repeatable)",
    )
    parser.add_argument("--python", metavar="PATH", help="the interpreter (the one that runs this)")
    parser.add_argument("--script", action="store_true", help="start `python FILE`, which runs the server by itself")
    parser.add_argument("--no-check", action="store_true", help="do not try whether the server starts")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--print", action="store_true", dest="shows", help="print the entry and write nothing")
    action.add_argument("--remove", action="store_true", help="take the entry out again")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    try:
        said = install(options)
    except (Misuse, OSError) as error:
        sys.stderr.write(f"error: {harmless(str(error))}\n")
        return MISUSED
    sys.stdout.write(f"{harmless(said)}\n")
    return DONE


def install(options: argparse.Namespace, variables: Mapping[str, str] | None = None) -> str:
    """Do what the options say, and return what to print.

    Args:
        options: What `add_arguments` made the parser read.
        variables: The environment; that of the process if not given.

    Raises:
        Misuse: It cannot be done; no file has changed.
        OSError: A file cannot be read or written.
    """
    variables = os.environ if variables is None else variables
    host = HOSTS.get(options.host or "")
    servers = SERVERS if host is None else host.servers
    file, server = _split(options.file)
    name = options.name or file.stem
    if not name.strip():
        raise Misuse("a name has one character at least")
    if options.remove:
        return _removed(_place(options, variables), servers, name)
    entry = {"type": "stdio"} if host is not None and host.typed else {}
    entry |= _entry(file, server, options, variables)
    if not _is_text(json.dumps([name, entry], ensure_ascii=False)):
        raise Misuse("a name, a path or a value is no UTF-8, and JSON is")
    if options.shows:
        return json.dumps({servers: {name: entry}}, ensure_ascii=False, indent=2)
    path = _place(options, variables)
    fault = None if options.no_check else fault_of(entry, variables)
    if fault is not None:
        raise Misuse(f"{file} does not start as a server, and is not installed (see --script, --no-check): {fault}")
    return _installed(path, servers, name, entry)


def _entry(file: Path, server: str | None, options: argparse.Namespace, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of a server, in which every path is absolute: hosts start servers anywhere."""
    if not file.is_file():
        raise Misuse(f"there is no file {str(file)!r:.200}")
    where = str(file.absolute())
    if options.script and server is not None:
        raise Misuse("--script goes with a file alone: it runs what it runs")
    args = [where] if options.script else ["-m", "dedalus_mcp", "run", f"{where}:{server}" if server else where]
    env = _environment(options.env, variables)
    return {"command": _interpreter(options.python), "args": args} | ({"env": env} if env else {})


def _is_text(text: str) -> bool:
    """Whether it can be written: arguments and paths may be any bytes, those that are no text too."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _split(given: str) -> tuple[Path, str | None]:
    """Tell the file from the name of the server in it; a drive of Windows has a colon too."""
    file, colon, server = given.rpartition(":")
    if colon and server.isidentifier() and file.endswith(".py"):
        return Path(file), server
    return Path(given), None


def _interpreter(given: str | None) -> str:
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise Misuse(f"there is no interpreter {given!r:.200}")
    return str(Path(found).absolute())  # not resolved: a link in a virtual environment is the environment


def _environment(given: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    env: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name:
            raise Misuse("--env: legal are NAME=VALUE and NAME")
        if not equals and name not in variables:
            raise Misuse(f"--env {name:.80}: the variable is not set here; give {name:.80}=VALUE")
        env[name] = value if equals else variables[name]
    return env


def _place(options: argparse.Namespace, variables: Mapping[str, str]) -> Path:
    if options.config is not None:
        path = Path(options.config).expanduser().absolute()
        if not path.parent.is_dir():
            raise Misuse(f"there is no directory {str(path.parent)!r:.200}")
        return path
    if options.host is None:
        raise Misuse(f"where to? Give --host ({', '.join(sorted(HOSTS))}), --config PATH, or --print")
    try:
        path = configuration_of(options.host, sys.platform, Path.home(), variables).absolute()
    except LookupError as error:
        raise Misuse(str(error)) from None
    if not path.parent.is_dir():
        title = HOSTS[options.host].title
        raise Misuse(f"there is no {str(path.parent)!r:.200}: is {title} installed? If so, start it once")
    return path


def _installed(path: Path, servers: str, name: str, entry: Mapping[str, Any]) -> str:
    members = (servers, name)
    try:
        text = read_text(path)
        changed = put(text, members, entry)
        there = bool(text.strip()) and holds(text, members)
    except ValueError as error:
        raise _refused(path, error) from None
    if changed == text:
        return f"{name!r} is in {path} already"
    replace_text(path, changed)
    return f"{name!r} is {'replaced' if there else 'written'} in {path}; restart the host"


def _removed(path: Path, servers: str, name: str) -> str:
    try:
        text = read_text(path)
        changed = drop(text, (servers, name)) if text.strip() else text
    except ValueError as error:
        raise _refused(path, error) from None
    if changed == text:
        raise Misuse(f"{path} has no {name!r:.80}")
    replace_text(path, changed)
    return f"{name!r} is taken out of {path}; restart the host"


def _refused(path: Path, error: ValueError) -> Misuse:
    kind = "is no JSON that can be changed safely: " if isinstance(error, BrokenJson) else ""
    return Misuse(f"{path}: {kind}{error}; nothing was changed")
