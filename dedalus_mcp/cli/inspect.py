"""Show what a server is and has.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from dedalus_mcp.cli.exits import DONE
from dedalus_mcp.cli.schemas import arguments_of
from dedalus_mcp.cli.talking import add_options, talk
from dedalus_mcp.cli.terminal import Terminal, cell
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import METHOD_NOT_FOUND, McpError
from dedalus_mcp.schema.shapes import is_object
from dedalus_mcp.types import Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool

__all__ = ("add_arguments", "inspect", "main")


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_options(parser, command=command)


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return talk(options, inspect)


@dataclass(frozen=True, slots=True)
class _Lists:
    """All that a server lists."""

    tools: Sequence[Tool]
    resources: Sequence[Resource]
    templates: Sequence[ResourceTemplate]
    prompts: Sequence[Prompt]


async def inspect(client: MCPClient, options: argparse.Namespace, terminal: Terminal) -> int:
    """Ask for everything, and show it."""
    lists = await _listed(client)
    if terminal.json:
        terminal.emit(
            {
                "server": client.server_info,
                "revision": client.revision,
                "capabilities": client.server_capabilities,
                "instructions": client.instructions,
                "tools": lists.tools,
                "resources": lists.resources,
                "resourceTemplates": lists.templates,
                "prompts": lists.prompts,
            }
        )
        return DONE
    _show_server(client, terminal)
    _show_tools(lists.tools, terminal)
    _show_resources(lists, terminal)
    _show_prompts(lists.prompts, terminal)
    return DONE


async def _listed(client: MCPClient) -> _Lists:
    can = client.server_capabilities
    return _Lists(
        tools=await _known(can.tools, client.list_tools, "tools"),
        resources=await _known(can.resources, client.list_resources, "resources"),
        templates=await _known(can.resources, client.list_resource_templates, "resourceTemplates"),
        prompts=await _known(can.prompts, client.list_prompts, "prompts"),
    )


async def _known(capability: object, list: Callable[[], Awaitable[Any]], member: str) -> Any:
    """Return a list; nothing where the server does not have it."""
    if capability is None:
        return []
    try:
        return getattr(await list(), member)
    except McpError as error:
        if error.code != METHOD_NOT_FOUND:  # a server with resources need not know templates
            raise
        return []


def _show_server(client: MCPClient, terminal: Terminal) -> None:
    info = client.server_info
    name = Text("a server without a name" if info is None else "")
    if info is not None:
        name = Text.assemble(cell(info.title or info.name, "bold"), " ", cell(info.version, "dim"))
        if info.title and info.title != info.name:
            name.append_text(Text.assemble("  ", cell(info.name, "dim")))
    can = ", ".join(_abilities(client.server_capabilities)) or "nothing"
    terminal.show(name)
    terminal.show(cell(f"MCP {client.revision}, with {can}"))
    if info is not None and info.description:
        terminal.show(cell(info.description))
    if client.instructions:
        terminal.show(cell(client.instructions, "italic", limit=2000))


def _abilities(can: ServerCapabilities) -> Iterable[str]:
    for name, value in msgspec.to_builtins(can).items():
        details = [key for key, each in value.items() if each] if is_object(value) else []
        yield f"{name} ({', '.join(details)})" if details else str(name)


def _show_tools(tools: Sequence[Tool], terminal: Terminal) -> None:
    table = _table("Tools", "name", "arguments", "what it does")
    for tool in tools:
        arguments = Text("\n").join(
            Text.assemble(
                cell(each.name, "bold" if each.required else ""),
                "" if each.required else "?",
                ": ",
                cell(each.legal, "cyan"),
                "" if each.default is None else " = ",
                cell(each.default or "", "dim"),
            )
            for each in arguments_of(tool.inputSchema)
        )
        about = Text("\n").join(filter(None, (_about(tool), cell(_hints(tool), "dim"))))
        table.add_row(cell(tool.name, "bold green"), arguments, about)
    _show(table, terminal)


def _hints(tool: Tool) -> str:
    """What the server says of a tool's effects, as far as it says anything."""
    said = tool.annotations
    if said is None:
        return ""
    hints = {
        "reads only": said.readOnlyHint,
        "may destroy": said.destructiveHint,
        "may be repeated": said.idempotentHint,
    }
    return ", ".join(text for text, holds in hints.items() if holds)


def _show_resources(lists: _Lists, terminal: Terminal) -> None:
    table = _table("Resources", "URI", "type", "what it is")
    for resource in lists.resources:
        table.add_row(cell(resource.uri, "bold green"), cell(resource.mimeType or "", "cyan"), _about(resource))
    for template in lists.templates:
        table.add_row(cell(template.uriTemplate, "bold blue"), cell(template.mimeType or "", "cyan"), _about(template))
    _show(table, terminal)


def _show_prompts(prompts: Sequence[Prompt], terminal: Terminal) -> None:
    table = _table("Prompts", "name", "arguments", "what it is for")
    for prompt in prompts:
        arguments = Text("\n").join(
            Text.assemble(cell(each.name, "bold" if each.required else ""), "" if each.required else "?")
            for each in prompt.arguments or []
        )
        table.add_row(cell(prompt.name, "bold green"), arguments, _about(prompt))
    _show(table, terminal)


def _about(each: Tool | Resource | ResourceTemplate | Prompt) -> Text:
    return cell(each.description or each.title or "")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, header_style="dim", overflow="fold")
    return table


def _show(table: Table, terminal: Terminal) -> None:
    if table.row_count:
        terminal.show("")
        terminal.show(table)
