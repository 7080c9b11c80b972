"""A proxy of the server of the interaction tests, or of whatever is given.

python -m tests.interaction.proxy_server [REVISION]          serves on stdio; the upstream server is a child of its own
"""

from __future__ import annotations

import sys
from typing import Any

from dedalus_mcp import MCPServer, proxy
from tests.interaction.reach import script

__all__ = ("make",)


def make(target: Any, revision: str | None = None, **settings: Any) -> MCPServer:
    """A proxy that speaks this revision with its upstream server."""
    return proxy(target, name="front", revision=revision, **settings)


if __name__ == "__main__":
    make(script("tests.interaction.proxied_server"), sys.argv[1] if len(sys.argv) > 1 else None).run()
