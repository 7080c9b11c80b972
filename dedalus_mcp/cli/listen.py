"""Show what a server tells of, until Ctrl-C.

Changes of its lists and of the resources that are named, and log messages, which servers of 2026-07-28 send
with answers only.  Where listening was interrupted, all that may have changed meanwhile is told once.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dedalus_mcp.cli.exits import DONE, INTERRUPTED, LOST
from dedalus_mcp.cli.harmless import one_line
from dedalus_mcp.cli.talking import add_options, log_line, talk
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.settings import ClientSettings
from dedalus_mcp.types import LoggingMessageNotificationParams, NotificationParams, ResourceUpdatedNotificationParams

__all__ = ("add_arguments", "hearing", "listen", "main")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command)
    parser.add_argument("--resource", action="append", default=[], metavar="URI", help="a resource to hear of")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    status = talk(options, listen, hearing)
    return DONE if status == INTERRUPTED else status


def hearing(terminal: Terminal) -> ClientSettings:
    """Return what a client hears with, in the words of its settings."""
    lists = {f"{name}_list_changed": partial(_changed, terminal, name) for name in ("tools", "prompts", "resources")}
    return ClientSettings(
        logging=partial(_logged, terminal),
        on_session_lost=lambda _: terminal.note("The server had forgotten the session; there is a new one.", "yellow"),
        resource_updated=partial(_updated, terminal),
        tools_list_changed=lists["tools_list_changed"],
        prompts_list_changed=lists["prompts_list_changed"],
        resources_list_changed=lists["resources_list_changed"],
    )


async def listen(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Listen until the connection is over."""
    for uri in options.resource:
        await client.subscribe_resource(uri)
    if not options.quiet:
        name = client.server_info.name if client.server_info else "a server without a name"
        terminal.note(f"Listening to {one_line(name, 80)}, MCP {client.revision}; Ctrl-C ends it.", "dim")
    terminal.fail(await client.wait_ended())
    return LOST


def _changed(terminal: Terminal, name: str, params: NotificationParams) -> None:
    _tell(terminal, f"notifications/{name}/list_changed", params, lambda: f"the list of {name} has changed")


def _updated(terminal: Terminal, params: ResourceUpdatedNotificationParams) -> None:
    _tell(terminal, "notifications/resources/updated", params, lambda: f"{one_line(params.uri)} has changed")


def _logged(terminal: Terminal, params: LoggingMessageNotificationParams) -> None:
    _tell(terminal, "notifications/message", params, lambda: log_line(params))


def _tell(terminal: Terminal, method: str, params: Any, words: Callable[[], str]) -> None:
    if terminal.json:
        terminal.emit({"method": method, "params": params}, indent=0)
    else:
        terminal.say(words())
