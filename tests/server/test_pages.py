"""`Places`: every item once, in order, whatever the limit and whatever changes; and no cursor but our own."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp import MCPServer, ServerConfig, prompt, resource, resource_template, tool
from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.server.pages import Places
from dedalus_mcp.types.listed import Listed
from tests.interaction.raw import serving


@dataclass(frozen=True)
class Item:
    name: str


class Items:
    """A list of named items with places, as every kind of them has."""

    def __init__(self, *names: str) -> None:
        self._places = Places("name")
        self._items: dict[str, Item] = {}
        self.add(*names)

    def add(self, *names: str) -> None:
        for name in names:
            self._items[name] = Item(name)
            self._places.add(name)

    def remove(self, name: str) -> None:
        del self._items[name]
        self._places.remove(name)

    def page(self, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
        found, following = self._places.page(Listed(self._items.values(), msgspec.json.encode), cursor, limit)
        return [item.name for item in found], following


@given(count=st.integers(0, 40), limit=st.integers(1, 12))
def test_following_the_cursors_gives_every_item_once_and_in_order(count: int, limit: int) -> None:
    """PAGE-03."""
    names = [str(number) for number in range(count)]
    items = Items(*names)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        some, cursor = items.page(cursor, limit)
        assert len(some) <= limit
        seen += some
        if cursor is None:
            break
        assert len(some) == limit  # only the last page may be shorter

    assert seen == names


changes = st.lists(st.tuples(st.sampled_from(["add", "remove", "turn"]), st.integers(0, 12)), max_size=60)


@given(changes=changes, limit=st.integers(1, 4))
def test_what_stays_comes_exactly_once_however_the_list_changes(changes: list[tuple[str, int]], limit: int) -> None:
    """PAGE-05."""
    there = {str(number) for number in range(8)}
    items = Items(*sorted(there))
    stayed = set(there)
    seen, cursor = items.page(None, limit)

    for change, number in changes:
        name = str(number)
        if change == "add":
            items.add(name)
            there.add(name)
        elif change == "remove" and name in there:
            items.remove(name)
            there.discard(name)
            stayed.discard(name)
        elif change == "turn" and cursor is not None:
            some, cursor = items.page(cursor, limit)
            seen += some
    while cursor is not None:
        some, cursor = items.page(cursor, limit)
        seen += some

    assert [name for name in seen if name in stayed] == sorted(stayed)


def test_cursors_are_those_of_earlier_versions() -> None:
    names = [str(number) for number in range(120)]
    items = Items(*names)

    assert items.page(None, 50)[1] == "50"
    assert items.page("50", 50)[1] == "100"
    assert items.page("100", 50) == (names[100:], None)


@pytest.mark.parametrize("cursor", [None, "", "0"], ids=repr)
def test_no_cursor_is_the_first_page(cursor: str | None) -> None:
    assert Items("a", "b").page(cursor, 1) == (["a"], "1")


def test_a_cursor_past_the_end_is_an_empty_last_page() -> None:
    """PAGE-05: the list may have become shorter meanwhile."""
    assert Items("a", "b").page("999", 1) == ([], None)


def test_an_item_that_replaces_another_has_its_place() -> None:
    items = Items("a", "b", "c")
    items.add("a")

    assert items.page(None, 3) == (["a", "b", "c"], None)
    assert items.page("1", 3) == (["b", "c"], None)


def test_what_is_looked_at_for_a_page_does_not_grow_with_the_list() -> None:
    """So all pages together cost as much for each item, however many there are."""
    looked: list[str] = []

    class Watched:
        def __init__(self, name: str) -> None:
            self._name = name

        @property
        def name(self) -> str:
            looked.append(self._name)
            return self._name

    for count in (100, 1000, 10_000):
        places, names = Places("name"), [str(number) for number in range(count)]
        for name in names:
            places.add(name)
        listed = Listed(map(Watched, names), msgspec.json.encode)
        looked.clear()

        page, following = places.page(listed, str(count // 2), 10)

        assert (len(page), following) == (10, str(count // 2 + 10))
        assert len(looked) < 20


@pytest.mark.parametrize("cursor", ["x", "-1", " 1", "1 ", "1.0", "\u0664", "\u00b2", "1_0", "+1", "9" * 13], ids=ascii)
def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    """PAGE-06."""
    with pytest.raises(McpError, match="Invalid cursor provided") as raised:
        Items("a", "b").page(cursor, 1)
    assert raised.value.code == INVALID_PARAMS


@given(st.text())
def test_any_cursor_gives_a_page_or_that_error(cursor: str) -> None:
    try:
        Items("a", "b").page(cursor, 1)
    except McpError as error:
        code = error.code
    else:
        code = INVALID_PARAMS
    assert code == INVALID_PARAMS


async def test_every_list_goes_on_where_it_was_after_a_change() -> None:
    """PAGE-05, PAGE-07."""
    server = MCPServer("test", config=ServerConfig(pagination_limit=1))
    with server.binding():
        for name in "abc":
            tool(name)(lambda: None)
            prompt(name)(lambda: None)
            resource(f"x://{name}", name=name)(lambda: "")
            resource_template(name, uri_template=f"{name}://{{x}}")(_identity)

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        first = {method: (await raw.call(1, method))["result"] for method in LISTS}
        server.tools.remove("a")
        server.prompts.remove("a")
        server.resources.remove("x://a")
        server.resources.remove_template("a://{x}")
        second = {method: (await raw.call(1, method, cursor=first[method]["nextCursor"]))["result"] for method in LISTS}

    assert [[each["name"] for each in first[method][member]] for method, member in LISTS.items()] == [["a"]] * 4
    assert [[each["name"] for each in second[method][member]] for method, member in LISTS.items()] == [["b"]] * 4


LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def _identity(x: str) -> str:
    return x
