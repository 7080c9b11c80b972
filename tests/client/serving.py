"""The server that the tests of a whole client talk to, and the revisions that they do so in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, tool

__all__ = ("BOTH", "LEGACY", "MODERN", "echo", "offering", "wait")

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
BOTH = pytest.mark.parametrize("revision", [LEGACY, MODERN])


@tool
async def echo(a: Any = None) -> Any:
    return {"a": a}


@tool
async def wait() -> None:
    await anyio.sleep_forever()


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", version="3", instructions="Do", **settings)
    server.collect(*functions)
    return server
