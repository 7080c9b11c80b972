"""The command line: `dedalus-mcp`, and the same as `python -m dedalus_mcp`."""

from __future__ import annotations

from dedalus_mcp.cli.program import main as main

__all__ = ("main",)
