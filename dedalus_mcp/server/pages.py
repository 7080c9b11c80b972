"""One page of a list, and the cursor of the next.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from dedalus_mcp.errors import INVALID_PARAMS, McpError

__all__ = ("page",)

T = TypeVar("T")

# No list of ours is longer, and int() of more digits is slow on purpose.
MAX_CURSOR_DIGITS = 12


def page(items: Sequence[T], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
    """Return the items from `cursor` on, at most `limit`, and the next cursor if there are more.

    Raises:
        McpError: -32602, the cursor is none of ours (PAGE-06).
    """
    start = _offset(cursor)
    end = start + limit
    return list(items[start:end]), str(end) if end < len(items) else None


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    if len(cursor) > MAX_CURSOR_DIGITS or not (cursor.isascii() and cursor.isdigit()):
        raise McpError(INVALID_PARAMS, "Invalid cursor provided")
    return int(cursor)
