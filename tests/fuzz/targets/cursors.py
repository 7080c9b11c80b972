"""Cursors: any text is the place of an item, or -32602; the pages behind it end.

a cursor
the names of the items, one a line
"""

from __future__ import annotations

from dataclasses import dataclass

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.server.pages import Places
from dedalus_mcp.types.listed import Listed
from tests.fuzz.judging import allowed
from tests.fuzz.pieces import lines

__all__ = ("target",)

PAGE = 3


@dataclass(frozen=True)
class Item:
    """Something that is listed."""

    name: str


def target(data: bytes) -> None:
    """Read pages from a cursor to the end."""
    cursor, names = lines(data, 2)
    places = Places("name")
    items = [Item(name) for name in dict.fromkeys(names.split("\n"))]
    for item in items:
        places.add(item.name)
    listed = Listed(items, lambda item: bytes(item.name))
    seen: list[Item] = []
    page, following = seen, None
    with allowed(McpError, code=INVALID_PARAMS):
        page, following = places.page(listed, cursor, PAGE)
        seen += page
    while following is not None:
        assert len(page) == PAGE
        page, following = places.page(listed, following, PAGE)
        seen += page
    assert seen == items[len(items) - len(seen) :]
