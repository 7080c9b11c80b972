"""What a TARGET on the command line stands for.

    https://example.com/mcp                 a URL
    server.py   server.py:api   pkg.mod:api   a server of yours, run over stdio by this very interpreter
    "uvx files-server --root ."             a command; so is everything after `--`
    mcp.json:files                          an entry in the configuration of a desktop host

Layer: L6.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from dedalus_mcp import StdioServer
from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.client.configuration import HttpEntry, entry_of, read_configuration
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.reaching import target_of

__all__ = ("TOKEN", "add_target", "opened")

TOKEN = "DEDALUS_MCP_TOKEN"
"""The environment variable with the token for a URL."""

_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[A-Za-z_][\w.]*))?")
_ENTRY = re.compile(r"(?P<path>.+\.json):(?P<name>.+)")
_BARE_URL = re.compile(r"(?:localhost|[\w.-]+:\d+)(?:/\S*)?")
"""A URL whose scheme was forgotten."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_][\w.]*")


def add_target(parser: argparse.ArgumentParser, *, command: Sequence[str] | None) -> None:
    """Add TARGET, unless it was given as a command after `--`, and the options that go with it."""
    if command is None:
        parser.add_argument(
            "target", metavar="TARGET", help="a URL, server.py or server.py:name, mcp.json:name, or a command"
        )
    else:
        parser.set_defaults(target=list(command))
    group = parser.add_argument_group("the server")
    group.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="a header of every request to a URL; ${VARIABLE} in it stands for the environment's",
    )
    group.add_argument(
        "--bearer",
        metavar="TOKEN",
        help=f"the token for a URL, better as '${{VARIABLE}}'; without this option, {TOKEN} is read",
    )
    group.add_argument(
        "--sign-in",
        action="store_true",
        help="get a token by your browser when the server of a URL asks for one, and keep it for the next time",
    )
    group.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for a command, which inherits few otherwise; without a value, ours",
    )
    group.add_argument("--cwd", metavar="DIRECTORY", help="where a command or file runs")


def opened(options: argparse.Namespace, stderr: Callable[[str], object] | None = None) -> Connectable:
    """Return what can be connected to.

    Args:
        options: What `add_target` added.  A target that is no text is taken as it is.
        stderr: Called with each line that a program says on its stderr, in another thread.

    Raises:
        Misuse: The text is no target, or an option is not legal, or goes with another kind of target.
    """
    given: object = options.target
    if not isinstance(given, str) and not _is_command(given):
        target: Connectable = options.target
        return target
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        _refuse(options, ("env", "cwd"), "a command or a file")
        return _url(given, options)
    _refuse(options, ("header", "bearer", "sign_in"), "a URL")
    if isinstance(given, str) and (entry := _ENTRY.fullmatch(given)):
        _refuse(options, ("env", "cwd"), "a command or a file")
        return _entry(entry["path"], entry["name"], stderr)
    if isinstance(given, str) and (file := _FILE.fullmatch(given) or _MODULE.fullmatch(given)):
        command = [sys.executable, "-m", "dedalus_mcp", "run", _absolute(file)]
        env: Mapping[str, str] = {**os.environ, **_variables(options.env)}  # it is the user's own program
    else:
        command, env = _words(given), _variables(options.env)
    return StdioServer(command[0], command[1:], env=env, cwd=options.cwd, stderr=stderr)


def _absolute(found: re.Match[str]) -> str:
    """Return what `run` takes; a file is here, wherever the program is to run."""
    path = found.groupdict().get("path")
    if path is None:
        return found[0]
    if not Path(path).is_file():
        raise Misuse(f"there is no file {path!r:.200}")
    return f"{Path(path).resolve()}{found[0].removeprefix(path)}"


def _is_command(given: object) -> TypeGuard[list[str]]:
    return isinstance(given, list)


def _entry(path: str, name: str, stderr: Callable[[str], object] | None) -> Connectable:
    try:
        entries = read_configuration(path)
        if name not in entries:
            raise Misuse(f"{path!r:.200} has no server {name!r:.80}; there are {', '.join(entries) or 'none'}")
        target = target_of(entries[name])
    except FileNotFoundError:
        raise Misuse(f"there is no file {path!r:.200}") from None
    except (OSError, TypeError, ValueError) as error:
        raise Misuse(str(error)) from None
    if isinstance(target, StdioServer):
        target.stderr = stderr
    return target


def _words(given: str | list[str]) -> list[str]:
    try:
        words = shlex.split(given) if isinstance(given, str) else given
    except ValueError as error:
        raise Misuse(f"the command {given!r:.80} cannot be read: {error}") from None
    if isinstance(given, str) and _BARE_URL.fullmatch(given):
        raise Misuse(f"{given!r:.200} is no command; a URL begins with http:// or https://")
    if not words:
        raise Misuse("the command is empty: a target is a URL, a file or a command")
    return words


def _url(url: str, options: argparse.Namespace) -> Connectable:
    headers: dict[str, str] = {}
    for each in options.header:
        name, colon, value = each.partition(":")
        if not colon:
            raise Misuse(f"--header is 'NAME: VALUE', not {each!r:.40}")
        headers[name.strip()] = value.strip()
    try:
        entry = entry_of({"url": url, "headers": headers}, "the target")
        return target_of(entry, auth=_auth(options))
    except (TypeError, ValueError) as error:
        raise Misuse(str(error)) from None


def _auth(options: argparse.Namespace) -> Any:
    """What gets or has a token; None where there is none."""
    from dedalus_mcp.client import auth  # noqa: PLC0415 - what is used of it loads httpx

    if options.sign_in:
        if options.bearer is not None:
            raise Misuse("--sign-in gets a token, and --bearer has one: say either")
        state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return auth.AuthorizationCodeAuth(
            metadata=auth.ClientMetadata(client_name="dedalus-mcp"),
            storage=auth.FileTokenStorage(Path(state, "dedalus-mcp", "tokens")),
        )
    token = _token(options.bearer)
    return None if token is None else auth.BearerAuth(token)


def _token(given: str | None) -> str | None:
    """The token of the option or of the environment; in the former a variable stands for its value."""
    if given is None:
        return os.environ.get(TOKEN)
    entry = entry_of({"url": "https://localhost", "headers": {"token": given}}, "--bearer")
    assert isinstance(entry, HttpEntry), "it has a URL"
    return entry.headers["token"]


def _variables(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name:
            raise Misuse(f"--env is NAME=VALUE or NAME, not {each!r:.40}")
        if not equals and name not in os.environ:
            raise Misuse(f"--env {name:.80}: there is no such variable here; --env {name:.80}=VALUE sets one")
        found[name] = value if equals else os.environ[name]
    return found


def _refuse(options: argparse.Namespace, names: Sequence[str], kind: str) -> None:
    for name in names:
        if getattr(options, name):
            raise Misuse(f"--{name.replace('_', '-')} goes with {kind}")
