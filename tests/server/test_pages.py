"""`page`: every item once, in order, whatever the limit; and no cursor but our own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.server.pages import page


@given(items=st.lists(st.integers(), max_size=40), limit=st.integers(1, 12))
def test_following_the_cursors_gives_every_item_once_and_in_order(items: list[int], limit: int) -> None:
    """PAGE-03."""
    seen: list[int] = []
    cursor: str | None = None
    while True:
        some, cursor = page(items, cursor, limit)
        assert len(some) <= limit
        seen += some
        if cursor is None:
            break
        assert len(some) == limit  # only the last page may be shorter

    assert seen == items


def test_cursors_are_those_of_earlier_versions() -> None:
    items = list(range(120))

    assert page(items, None, 50)[1] == "50"
    assert page(items, "50", 50)[1] == "100"
    assert page(items, "100", 50) == (items[100:], None)


@pytest.mark.parametrize("cursor", [None, "", "0"], ids=repr)
def test_no_cursor_is_the_first_page(cursor: str | None) -> None:
    assert page([1, 2], cursor, 1) == ([1], "1")


def test_a_cursor_past_the_end_is_an_empty_last_page() -> None:
    """PAGE-05: the list may have become shorter meanwhile."""
    assert page([1, 2], "999", 1) == ([], None)


@pytest.mark.parametrize("cursor", ["x", "-1", " 1", "1 ", "1.0", "\u0664", "\u00b2", "1_0", "+1", "9" * 13], ids=ascii)
def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    """PAGE-06."""
    with pytest.raises(McpError, match="Invalid cursor provided") as raised:
        page([1, 2], cursor, 1)
    assert raised.value.code == INVALID_PARAMS


@given(st.text())
def test_any_cursor_gives_a_page_or_that_error(cursor: str) -> None:
    try:
        page([1, 2], cursor, 1)
    except McpError as error:
        code = error.code
    else:
        code = INVALID_PARAMS
    assert code == INVALID_PARAMS
