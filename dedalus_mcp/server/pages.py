"""One page of a list, and the cursor of the next.

A cursor is the place of the last item on the page: the how-manieth it was when it was registered.
So it leads to the same next item whatever is registered or removed meanwhile: no item that stays
is left out or comes twice, and what is new comes at the end.

Layer: L4.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeVar

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.types.listed import Listed

__all__ = ("Places",)

T = TypeVar("T")

# No list of ours is longer, and int() of more digits is slow on purpose.
MAX_CURSOR_DIGITS = 12


class Places:
    """The places of the items of one list, in the order of registration; none is given twice.

    Args:
        key: The attribute that tells items apart.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._last = 0
        self._by_key: dict[str, int] = {}

    def add(self, key: str) -> None:
        """Give an item a place, behind all others; one that replaces another has the place of that."""
        if key not in self._by_key:
            self._last += 1
            self._by_key[key] = self._last

    def remove(self, key: str) -> None:
        """Forget the place of an item."""
        del self._by_key[key]

    def page(self, listed: Listed[T], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
        """Return the items behind `cursor`, at most `limit`, and the next cursor if there are more.

        Args:
            listed: All or some of those that have a place, in that order.
            cursor: From the page before; None or an empty string for the first page.
            limit: How many fit on a page.

        Raises:
            McpError: -32602, the cursor is none of ours (PAGE-06).
        """
        items, start = listed.items, self.start(listed, cursor)
        end = start + limit
        return listed.part(start, end), str(self.of(items[end - 1])) if end < len(items) else None

    def start(self, listed: Listed[Any], cursor: str | None) -> int:
        """Return where the page behind `cursor` begins in the list.

        Raises:
            McpError: -32602, the cursor is none of ours (PAGE-06).
        """
        return bisect_right(listed.items, _place(cursor), key=self.of)

    def of(self, item: object) -> int:
        """Return the place of an item; 0 for one that has none any more."""
        return self._by_key.get(getattr(item, self._key), 0)


def _place(cursor: str | None) -> int:
    if not cursor:
        return 0
    if len(cursor) > MAX_CURSOR_DIGITS or not (cursor.isascii() and cursor.isdigit()):
        raise McpError(INVALID_PARAMS, "Invalid cursor provided")
    return int(cursor)
