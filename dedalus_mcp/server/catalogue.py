"""The items of one kind that a server offers, in the order they came: its own, and those lent by servers it includes.

    add ──▶ check, here and wherever it is shown ──▶ here ──▶ lent to each server that includes this one ──▶ ...

Nobody's item takes the place of another's: a key that somebody else has is refused, before anything
has changed.  So what a name means is never a matter of order.

Layer: L4; no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.server.pages import Places
from dedalus_mcp.types.listed import Listed

__all__ = ("Catalogue", "Showing")

OwnT = TypeVar("OwnT")
LentT = TypeVar("LentT")


class Showing(msgspec.Struct, Generic[LentT], frozen=True, eq=False):
    """How another server shows the items of a catalogue.

    Attributes:
        borrower: The catalogue that shows them.
        lender: The name of the server whose they are.
        rename: Makes a key there of one here.
        lend: Makes what stands for an item there, of its key here and of itself.
    """

    borrower: Catalogue[Any, LentT]
    lender: str
    rename: Callable[[str], str]
    lend: Callable[[str, Any], LentT]

    def check(self, key: str) -> None:
        """Refuse an item that cannot be shown there: see `Catalogue.check`."""
        self.borrower.check(self.rename(key), self)

    def put(self, key: str, item: Any) -> None:
        """Show an item, or show it anew."""
        self.borrower.put(self.rename(key), self.lend(key, item), self)

    def take(self, key: str) -> None:
        """Show an item no more."""
        self.borrower.take(self.rename(key))


class Catalogue(Generic[OwnT, LentT]):
    """The items of one kind.

    Args:
        kind: What one of them is called.
        key: The attribute of a definition that tells items apart.
        owner: The name of the server.
        check_open: Raises where nothing may change any more; None where anything may.
        shows: Whether the list shows an item, by its key and itself; None for all of them.

    Attributes:
        own: The server's own items, by key.
        lent: The items of servers that it includes, by their keys here.
        places: The order of all, for pages of the list.
        offered: Whether there are items, or were: clients that have been told so still ask.
    """

    def __init__(
        self,
        kind: str,
        key: str,
        owner: str,
        check_open: Callable[[], None] | None = None,
        shows: Callable[[str, Any], bool] | None = None,
    ) -> None:
        self.own: dict[str, OwnT] = {}
        self.lent: dict[str, LentT] = {}
        self.places = Places(key)
        self.offered = False
        self._kind = kind
        self._owner = owner
        self._check_own = check_open or _anything_goes
        self._shows = shows
        self._all: dict[str, OwnT | LentT] = {}
        self._lenders: dict[str, Showing[LentT]] = {}
        self._showings: list[Showing[Any]] = []
        self._listed: Listed[Any] | None = None
        self._changes = 0

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def get(self, key: str) -> OwnT | LentT | None:
        """Return the item of that key; None if there is none."""
        return self._all.get(key)

    def values(self) -> Iterator[OwnT | LentT]:
        """Give the items, in order."""
        return iter(self._all.values())

    def items(self) -> Iterator[tuple[str, OwnT | LentT]]:
        """Give keys and items, in order."""
        return iter(self._all.items())

    @property
    def listed(self) -> Listed[Any]:
        """The definitions of the items that are shown, in order; made once, and again after a change."""
        listed = self._listed
        if listed is None:
            before, shows = self._changes, self._shows
            items: list[tuple[str, Any]] = list(self._all.items())
            shown = (item.definition for key, item in items if shows is None or shows(key, item))
            listed = Listed(shown, _write)
            if before == self._changes:  # else something has changed meanwhile, in another thread
                self._listed = listed
        return listed

    def page(self, cursor: str | None, limit: int) -> tuple[list[Any], str | None]:
        """Return one page of the list, and the cursor of the next: see `Places.page`."""
        return self.places.page(self.listed, cursor, limit)

    def changed(self) -> None:
        """What is shown may be something else now, here and wherever the items are shown."""
        self._changes += 1
        self._listed = None
        for showing in self._showings:
            showing.borrower.changed()

    def check(self, key: str, by: Showing[LentT] | None = None) -> None:
        """Refuse an item that has no room here, or in a server that includes this one.

        Args:
            key: Of the item.
            by: Who lends it; None for an item of the server's own.

        Raises:
            ValueError: Somebody else has an item of that key; the text names both.
            RuntimeError: Nothing may change any more.
        """
        self._check_own()
        holder = self._lenders.get(key)
        if key in self._all and holder is not by:
            raise ValueError(
                f"{self._kind} {key!r:.160} of {self._named(by)} has the name of one of {self._named(holder)}: "
                "include it under another prefix, or rename one of them"
            )
        for showing in self._showings:
            showing.check(key)

    def check_open(self) -> None:
        """Refuse any change where nothing may change any more, here or wherever the items are shown.

        Raises:
            RuntimeError: So it is.
        """
        self._check_own()
        for showing in self._showings:
            showing.borrower.check_open()

    def add(self, key: str, item: OwnT) -> bool:
        """Add an item of the server's own; return whether it replaces one.

        Raises:
            ValueError, RuntimeError: See `check`; nothing has changed.
        """
        self.check(key)
        replaces = key in self.own
        self.own[key] = item
        self._put(key, item)
        return replaces

    def remove(self, key: str) -> None:
        """Remove an item of the server's own.

        Raises:
            KeyError: There is none of that key.
        """
        del self.own[key]
        self._take(key)

    def put(self, key: str, item: LentT, by: Showing[LentT]) -> None:
        """Take an item that is lent, once it is checked."""
        self.lent[key] = item
        self._lenders[key] = by
        self._put(key, item)

    def take(self, key: str) -> None:
        """It is lent no more."""
        del self.lent[key], self._lenders[key]
        self._take(key)

    def check_all(self, showing: Showing[Any]) -> None:
        """Refuse to be shown somewhere, if one of the items has no room there: see `check`."""
        for key in self._all:
            showing.check(key)

    def show(self, showing: Showing[Any]) -> None:
        """Show all items somewhere, once they are checked, and what comes later as well."""
        self._showings.append(showing)
        if self.offered:
            showing.borrower.offer()
        for key, item in self._all.items():
            showing.put(key, item)

    def offer(self) -> None:
        """There may be items, even if there are none now."""
        self.offered = True
        for showing in self._showings:
            showing.borrower.offer()

    def _put(self, key: str, item: OwnT | LentT) -> None:
        self._all[key] = item
        self.places.add(key)
        self.offered = True
        self.changed()
        for showing in self._showings:
            showing.put(key, item)

    def _take(self, key: str) -> None:
        del self._all[key]
        self.places.remove(key)
        self.changed()
        for showing in self._showings:
            showing.take(key)

    def _named(self, by: Showing[LentT] | None) -> str:
        server = f"server {self._owner!r:.80}"
        return server if by is None else f"{by.lender!r:.80}, which {server} includes"


def _write(definition: Any) -> bytes:
    return encode_value(definition, repair=True)


def _anything_goes() -> None:
    pass
