"""A server that includes the one with one of everything.

python -m tests.interaction.included_server          serves on stdio
"""

from __future__ import annotations

from dedalus_mcp import MCPServer
from tests.interaction import proxied_server

__all__ = ("make",)


def make() -> MCPServer:
    """Two levels of it."""
    middle = MCPServer("middle")
    middle.include(proxied_server.make(), prefix="in")
    outer = MCPServer("outer")
    outer.include(middle)
    return outer


if __name__ == "__main__":
    make().run()
