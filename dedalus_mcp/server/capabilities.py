"""What the capabilities that a server advertises promise to tell of changes.

Layer: L4.
"""

from __future__ import annotations

import msgspec

from dedalus_mcp.server.changes import PROMPTS, RESOURCES, TOOLS, Change
from dedalus_mcp.types import PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability

__all__ = ("promised", "without_promises")


def promised(capabilities: ServerCapabilities) -> set[Change]:
    """Return the changes of lists that a client with these capabilities before it hears of."""
    by_change = {TOOLS: capabilities.tools, PROMPTS: capabilities.prompts, RESOURCES: capabilities.resources}
    return {change for change, capability in by_change.items() if capability is not None and capability.listChanged}


def without_promises(capabilities: ServerCapabilities) -> ServerCapabilities:
    """Return the capabilities for a client that nothing can be told of."""
    return msgspec.structs.replace(
        capabilities,
        tools=capabilities.tools and ToolsCapability(),
        prompts=capabilities.prompts and PromptsCapability(),
        resources=capabilities.resources and ResourcesCapability(),
    )
