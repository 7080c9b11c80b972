"""Desktop hosts, and where each keeps the servers that it starts.

Only places that the hosts document are here; for all others there is `--config`.

Layer: L6; no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ("HOSTS", "DesktopHost", "configuration_of")


@dataclass(frozen=True, slots=True)
class DesktopHost:
    """A program that starts servers.

    Attributes:
        title: What people call it.
        places: The path of its configuration by `sys.platform`; "" for every other one.  It begins with
            the variable that names the directory that it is in, or `~`.
        servers: The member of it that holds the entries.
        typed: Whether an entry says that its server is a program.
    """

    title: str
    places: Mapping[str, str]
    servers: str = "mcpServers"
    typed: bool = False


HOSTS: Mapping[str, DesktopHost] = {
    "claude-code": DesktopHost("Claude Code, this project", {"": ".mcp.json"}, typed=True),
    "claude-desktop": DesktopHost(
        "Claude Desktop",
        {
            "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
            "win32": "APPDATA/Claude/claude_desktop_config.json",
        },
    ),
    "cursor": DesktopHost("Cursor", {"": "~/.cursor/mcp.json"}),
    "gemini-cli": DesktopHost("Gemini CLI", {"": "~/.gemini/settings.json"}),
    "vscode": DesktopHost(
        "Visual Studio Code",
        {
            "darwin": "~/Library/Application Support/Code/User/mcp.json",
            "win32": "APPDATA/Code/User/mcp.json",
            "linux": "~/.config/Code/User/mcp.json",
        },
        servers="servers",
        typed=True,
    ),
    "windsurf": DesktopHost("Windsurf", {"": "~/.codeium/windsurf/mcp_config.json"}),
}
"""The hosts whose configuration is found by their name."""


def configuration_of(name: str, platform: str, home: Path, variables: Mapping[str, str]) -> Path:
    """Return the path of a host's configuration.

    Args:
        name: One of `HOSTS`.
        platform: `sys.platform`.
        home: The user's directory.
        variables: The environment.

    Raises:
        LookupError: It is not known for this platform; the text says what to do instead.
    """
    host = HOSTS[name]
    place = host.places.get(platform) or host.places.get("")
    if place is None:
        raise LookupError(f"where {host.title} keeps its servers on {platform} is not known here: give --config PATH")
    root, slash, rest = place.partition("/")
    if not slash:
        return Path(place)
    if root == "~":
        return home / rest
    if not variables.get(root):
        raise LookupError(f"the variable {root}, where {host.title} keeps its servers, is not set: give --config PATH")
    return Path(variables[root]) / rest
