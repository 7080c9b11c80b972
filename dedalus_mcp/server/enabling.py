"""Whether a tool is there for a client: always, never, or as a function of its author's says.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

    Enabled: TypeAlias = bool | Callable[[MCPServer], bool | Awaitable[bool]]
else:  # no name that only checkers can resolve: `help` shows the specs' fields
    Enabled = bool | Callable[[Any], Any]

__all__ = ("Enabled", "is_enabled")

logger = logging.getLogger("dedalus_mcp")


async def is_enabled(enabled: Enabled, server: MCPServer, name: str) -> bool:
    """Tell whether a tool is there now; a function that fails has not said so.

    Args:
        enabled: What the author said, or what tells it.  A plain `def` runs in the event loop.
        server: Whose tool it is.
        name: Of the tool, for the log.
    """
    if isinstance(enabled, bool):
        return enabled
    try:
        said = enabled(server)
        return bool(await said if inspect.isawaitable(said) else said)
    except Exception:
        logger.exception("whether tool %r is enabled could not be told, so it is not", name)
        return False
