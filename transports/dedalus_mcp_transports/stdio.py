"""stdio: a server in a process of its own, one message per line on its standard streams.

`StdioServer` is how a client starts and reaches one, `ServerStdio` is its end inside the server.

Source: 2026-07-28, basic/transports/stdio.
Layer: L5.
"""

from __future__ import annotations

from dedalus_mcp_transports.lines import MAX_FRAME
from dedalus_mcp_transports.stdio_client import StdioServer
from dedalus_mcp_transports.stdio_server import ServerStdio

__all__ = ("MAX_FRAME", "ServerStdio", "StdioServer")
