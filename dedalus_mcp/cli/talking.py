"""A command that talks to a server: it connects, does its work, and says how it ended.

    main(options) ──▶ talk ──▶ connect ──▶ the command's own work ──▶ exit code

Layer: L6.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, get_args

import anyio
import msgspec

from dedalus_mcp import __version__
from dedalus_mcp.cli.exits import DECLINED, DONE, INTERRUPTED, LOST, MISUSED, REFUSED, Misuse
from dedalus_mcp.cli.harmless import one_line
from dedalus_mcp.cli.questions import Questions
from dedalus_mcp.cli.target import TOKEN, add_target, opened
from dedalus_mcp.cli.terminal import Terminal, standard_terminal
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.client.settings import ClientSettings
from dedalus_mcp.errors import (
    AuthRequiredError,
    ConnectionLost,
    DedalusError,
    LocalProtocolError,
    MCPConnectionError,
    McpError,
    RequestTimeout,
)
from dedalus_mcp.schema.shapes import is_array, is_object
from dedalus_mcp.types import Implementation, LoggingLevel, LoggingMessageNotificationParams
from dedalus_mcp.types.revisions import MODERN, REVISIONS

__all__ = ("Work", "add_options", "log_line", "pairs", "talk", "talking", "unknown")

TIMEOUT = 60.0

logger = logging.getLogger("dedalus_mcp")

Work: TypeAlias = Callable[[MCPClient, argparse.Namespace, Terminal], Awaitable[int]]
"""What a command does with a client: it returns the exit code."""

_LAST_WORDS = "; the end of its stderr:"
_STYLES = {"debug": "dim", "info": "", "notice": "", "warning": "yellow"}


def add_options(parser: argparse.ArgumentParser, *, command: Sequence[str] | None, asks: bool = False) -> None:
    """Add what every command that talks takes.

    Args:
        parser: Where to.
        command: The command after `--`; None without.
        asks: Whether the server may ask back, so that answers can be given.
    """
    add_target(parser, command=command)
    group = parser.add_argument_group("the conversation")
    group.add_argument("--revision", choices=REVISIONS, help="the protocol revision; the newest in common if not given")
    group.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"how long to wait for an answer; 0 for ever, {TIMEOUT:.0f} if not given",
    )
    group.add_argument("--log-level", choices=get_args(LoggingLevel), help="the least severe log messages to show")
    group.add_argument("--quiet", action="store_true", help="no log messages, no progress, no stderr of the server")
    group.add_argument("--json", action="store_true", help="results as JSON on stdout, and nothing else there")
    if asks:
        group.add_argument(
            "--answer",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="the answer to a field that the server asks for; where nobody is at a terminal, the only one",
        )
        group.add_argument(
            "--root", action="append", default=[], type=Path, metavar="DIRECTORY", help="a root to tell the server of"
        )
    parser.set_defaults(asks=asks)


def talk(options: argparse.Namespace, work: Work, hearing: Callable[[Terminal], ClientSettings] | None = None) -> int:
    """Do the work of a command, as the program, and return its exit code.

    Args:
        options: See `talking`.
        work: See `talking`.
        hearing: Makes the settings of `talking`.
    """
    terminal = standard_terminal(json=options.json, quiet=options.quiet)
    try:
        return anyio.run(talking, options, work, terminal, None if hearing is None else hearing(terminal))
    except KeyboardInterrupt:
        terminal.note("interrupted")
        return INTERRUPTED


async def talking(
    options: argparse.Namespace,
    work: Work,
    terminal: Terminal,
    settings: ClientSettings | None = None,
    target: Connectable | None = None,
) -> int:
    """Do the work of a command, and return its exit code.

    Args:
        options: What `add_options` added.
        work: The command's own work.
        terminal: Where it writes.
        settings: What else `MCPClient.connect` is told.
        target: What to connect to instead of what the options say.
    """
    try:
        questions = Questions(terminal, pairs(options.answer if options.asks else [], "--answer"))
        if target is None:
            target = opened(options, stderr=_ignored if options.quiet else partial(_pass_on, terminal))
        told = _settings(options, terminal, questions)
        told.update(settings or {})
    except Misuse as error:
        terminal.fail(str(error))
        return MISUSED
    logger.addHandler(heard := _OwnLog(terminal))
    try:
        async with MCPClient.connect(target, **told) as client:
            questions.server = _who(client, options.target)
            await _set_level(client, options.log_level)
            status = await work(client, options, terminal)
    except Misuse as error:
        terminal.fail(str(error))
        return MISUSED
    except BrokenPipeError:  # of our own stdout: nobody reads it any more
        raise
    except (DedalusError, OSError) as error:
        status = _failed(error, terminal, has_token=bool(options.bearer or os.environ.get(TOKEN)))
    finally:
        logger.removeHandler(heard)
    return DECLINED if questions.declined and status in (DONE, REFUSED) else status


class _OwnLog(logging.Handler):
    """What the library says of itself, as a line on stderr; of the same again and again, the first.

    Args:
        terminal: Where to.
    """

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal
        self._last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        text = one_line(record.getMessage(), 400)
        if text != self._last and not self._terminal.quiet:
            self._terminal.note(text, "yellow")
        self._last = text


def pairs(given: Sequence[str], what: str) -> dict[str, str]:
    """Return the values by name of a list of ``NAME=VALUE``.

    Raises:
        Misuse: One is no such pair, or a name is there twice.
    """
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals):
            raise Misuse(f"{what} is NAME=VALUE, not {each!r:.40}")
        if name in found:
            raise Misuse(f"{what} {name:.80} is given twice")
        found[name] = value
    return found


def unknown(kind: str, name: str, known: Sequence[str]) -> Misuse:
    """Return the error that says what there is instead of something unknown: a "tool", a "prompt"."""
    return Misuse(f"no {kind} {name!r:.80}; there are {one_line(', '.join(known), 400) or 'none'}")


def _settings(options: argparse.Namespace, terminal: Terminal, questions: Questions) -> ClientSettings:
    settings = ClientSettings(
        revision=options.revision,
        timeout=options.timeout or None,
        client_info=Implementation(name="dedalus-mcp", version=__version__),
    )
    if not options.quiet:
        settings["logging"] = partial(_show_log, terminal)
    if options.asks:
        settings["elicitation"] = questions.fill_in
        settings["elicitation_url"] = questions.open_page
        if options.root:
            settings["roots"] = [each.resolve() for each in options.root]
    return settings


def _who(client: MCPClient, target: Any) -> str:
    """Return who a server says it is, and where it was found, which is what the user knows of it."""
    name = one_line(client.server_info.name, 60) if client.server_info else "The server"
    place = target if isinstance(target, str) else shlex.join(target) if is_array(target) else ""
    return f"{name} at {one_line(place, 120)}" if place else name


async def _set_level(client: MCPClient, level: LoggingLevel | None) -> None:
    if level is not None and (client.revision in MODERN or client.server_capabilities.logging is not None):
        await client.set_logging_level(level)


def _failed(error: Exception, terminal: Terminal, *, has_token: bool) -> int:
    if isinstance(error, McpError):
        if terminal.json:
            terminal.emit({"error": error.error})
        terminal.fail(f"{error.message} ({error.code})")
        return REFUSED
    text = str(error) or type(error).__name__
    # What a program has said on its stderr was shown when it did, unless nothing was to be.
    terminal.fail(text if terminal.quiet else text.partition(_LAST_WORDS)[0])
    if isinstance(error, AuthRequiredError):
        terminal.note(_about_token(has_token=has_token))
    if isinstance(error, LocalProtocolError):  # what was typed cannot be said
        return MISUSED
    is_lost = isinstance(error, ConnectionLost | MCPConnectionError | RequestTimeout | OSError)
    return LOST if is_lost else REFUSED


def _about_token(*, has_token: bool) -> str:
    ways = f"--sign-in, --bearer, or the variable {TOKEN}"
    return (
        f"the server refused the token that it got; another: {ways}"
        if has_token
        else f"the server wants a token: {ways}"
    )


def log_line(params: LoggingMessageNotificationParams) -> str:
    """Return a log message as one line."""
    data: Any = params.data
    if is_object(data) and isinstance(data.get("msg"), str):
        data = data["msg"]
    text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
    where = f" {one_line(params.logger, 60)}" if params.logger else ""
    return f"[{params.level}{where}] {one_line(text, 2000)}"


def _show_log(terminal: Terminal, params: LoggingMessageNotificationParams) -> None:
    terminal.note(log_line(params), _STYLES.get(params.level, "red"))


def _pass_on(terminal: Terminal, line: str) -> None:
    terminal.note(line, "dim")


def _ignored(line: str) -> None:
    pass


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 1e9:
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text!r:.40}")
    return seconds
