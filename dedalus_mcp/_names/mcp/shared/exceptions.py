"""The name under which code written for the official package looks for our error.

Reached only where that package is not installed: this directory is a namespace package,
so an installed `mcp` always wins.  See `dedalus_mcp.errors.McpError` for how the two meet.
"""

from dedalus_mcp.errors import McpError

__all__ = ("McpError",)
