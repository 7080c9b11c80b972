"""Roots: the directories that a client works in.

Layer: L1; imports `messages`, `wire` only.
"""

from __future__ import annotations

import msgspec

from dedalus_mcp.types.messages import Meta
from dedalus_mcp.types.wire import Wire

__all__ = ("ListRootsResult", "Root")


class Root(Wire, frozen=True, kw_only=True):
    """A directory or file, by its ``file:`` URI."""

    uri: str
    name: str | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ListRootsResult(Wire, frozen=True, kw_only=True):
    """The client's roots."""

    roots: list[Root]
    meta: Meta | None = msgspec.field(default=None, name="_meta")
