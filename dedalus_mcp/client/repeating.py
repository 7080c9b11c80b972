"""Which calls may be made a second time when the reply to the first is lost, without I/O.

Layer: L4; no I/O.
Source: MCP 2025-11-25, basic/transports, "Session Management"; 2026-07-28, server/tools, "ToolAnnotations".
"""

from __future__ import annotations

from dedalus_mcp.errors import MCPConnectionError, SessionExpiredError
from dedalus_mcp.types import CallToolRequestParams, ListToolsResult, RequestParams

__all__ = ("Repeating",)

SAFE = frozenset(
    {
        "completion/complete",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "tools/list",
    }
)
"""The methods that do no more the second time than they did the first."""


class Repeating:
    """What one client knows of that."""

    def __init__(self) -> None:
        self._idempotent: set[str] = set()

    def listed(self, result: ListToolsResult) -> None:
        """Take what the server says of its tools; a tool that only reads can be called twice as well."""
        for tool in result.tools:
            hints = tool.annotations
            if hints is not None and (hints.idempotentHint or hints.readOnlyHint):
                self._idempotent.add(tool.name)
            else:
                self._idempotent.discard(tool.name)

    def may_repeat(self, method: str, params: RequestParams, error: MCPConnectionError) -> bool:
        """Whether a call that failed so may be made once more.

        A server that knows no such session has certainly not run it.  Where the reply was lost
        on the way, the call may have run (AMB-30).
        """
        if isinstance(error, SessionExpiredError) and not error.begun:
            return True
        safe = method in SAFE or (isinstance(params, CallToolRequestParams) and params.name in self._idempotent)
        return error.begun and safe
