"""Lists that are sent again and again: how each item is written for a revision is kept with the list.

    Listed ──part()──▶ Part, a page of it ──written()──▶ the bytes of its items, kept

Writing items one by one costs more than writing them together, so nothing is kept before as many
were asked for as there are: a list that changes each time it is read is none the slower.

Layer: L1; imports msgspec only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, Generic, TypeVar

from msgspec import Raw

__all__ = ("Listed", "Part")

T = TypeVar("T")


class Listed(Generic[T]):
    """What a list shows, until that changes: then it is another one.

    Args:
        items: Its items; none of them changes.
        write: Makes bytes of an item, shaped.

    Attributes:
        items: As given.
    """

    __slots__ = ("_asked", "_write", "_written", "items")

    def __init__(self, items: Iterable[T], write: Callable[[Any], bytes]) -> None:
        self.items = list(items)
        self._write = write
        self._asked: dict[str, int] = {}  # how many items, by revision
        self._written: dict[str, list[Raw | None]] = {}

    def part(self, start: int, end: int) -> Part[T]:
        """Return the items from one place to another."""
        return Part(self, start, end)

    def written(self, start: int, end: int, revision: str, shape: Callable[[T], Any]) -> list[Raw] | None:
        """Return these items as readers of a revision get them; None where that is not worth while yet.

        Args:
            start: The first.
            end: Behind the last.
            revision: The revision.
            shape: Makes of an item what they know of it.
        """
        if (asked := self._asked.get(revision, 0)) < len(self.items):
            self._asked[revision] = asked + end - start
            return None
        kept = self._written.setdefault(revision, [None] * len(self.items))
        found: list[Raw] = []
        for number in range(start, min(end, len(self.items))):
            raw = kept[number]
            if raw is None:
                raw = kept[number] = Raw(self._write(shape(self.items[number])))
            found.append(raw)
        return found


class Part(list[T]):
    """A page of a list.  It may be changed like any list, and is then written like any.

    Args:
        whole: The list.
        start: The first item.
        end: Behind the last.
    """

    __slots__ = ("_end", "_start", "_whole")

    def __init__(self, whole: Listed[T], start: int, end: int) -> None:
        super().__init__(whole.items[start:end])
        self._whole = whole
        self._start = start
        self._end = end

    def written(self, revision: str, shape: Callable[[T], Any]) -> list[Raw] | None:
        """Return the items as `Listed.written` does; None too where they are not those of the list any more."""
        there = self._whole.items[self._start : self._end]
        if len(there) != len(self) or not all(map(is_, there, self)):
            return None
        return self._whole.written(self._start, self._end, revision, shape)
