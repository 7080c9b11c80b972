"""All bytes of one conversation, over however many connections, and what goes wrong with them.

    Line(Cut(UP, 17))     the 17th byte of what the client says is the last one to arrive
    Line(split=halves)    every write arrives in pieces

A line does no I/O: `proxy` and `pipes` carry what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

__all__ = ("DIRECTIONS", "Cut", "Direction", "Line", "Shuffle", "bytewise", "halves", "places", "whole")

Direction: TypeAlias = Literal["up", "down"]
"""Up is what the client says, down what the server does."""

DIRECTIONS: tuple[Direction, ...] = ("up", "down")

Shuffle: TypeAlias = Callable[[], float]
"""Chooses how many seconds a piece is held back."""

# Where a message ends within a write: an event, a line.
_END = re.compile(rb"\n\n|\}\n")


class Cut(NamedTuple):
    """Where a conversation is cut.

    Attributes:
        direction: Whose bytes are counted.
        place: How many of them arrive.
        lasting: Whether nothing at all comes through from then on; else only that connection is cut.
    """

    direction: Direction
    place: int
    lasting: bool = False


def whole(data: bytes) -> list[bytes]:
    """What is written at once arrives at once."""
    return [data]


def halves(data: bytes) -> list[bytes]:
    """Every write arrives in two parts."""
    middle = len(data) // 2
    return [part for part in (data[:middle], data[middle:]) if part]


def bytewise(data: bytes) -> list[bytes]:
    """Every byte arrives by itself."""
    return [data[at : at + 1] for at in range(len(data))]


class Line:
    """What happens to the bytes of one conversation.

    Args:
        cut: Where it is cut; None for nowhere.
        split: What is made of each write.

    Attributes:
        heard: How many bytes were said so far, in each direction.
        ends: Where messages and writes ended, in each direction.
        is_cut: Whether the cut has happened.
        down: Whether nothing comes through now.
    """

    def __init__(self, cut: Cut | None = None, split: Callable[[bytes], Iterable[bytes]] = whole) -> None:
        self.heard: dict[Direction, int] = {"up": 0, "down": 0}
        self.ends: dict[Direction, set[int]] = {"up": {0}, "down": {0}}
        self.is_cut = False
        self.down = False
        self._cut = cut
        self._split = split

    def carry(self, direction: Direction, data: bytes) -> tuple[list[bytes], bool]:
        """Return what arrives of a write, in pieces, and whether the connection is cut after them."""
        before = self.heard[direction]
        self.heard[direction] = after = before + len(data)
        self.ends[direction] |= {after, *(before + found.end() for found in _END.finditer(data))}
        cut = self._cut
        if cut is None or self.is_cut or cut.direction != direction or cut.place > after:
            return list(self._split(data)), False
        self.is_cut = True
        self.down = cut.lasting
        return list(self._split(data[: cut.place - before])), True

    def mend(self) -> None:
        """Let everything come through again, and nothing be cut any more."""
        self.is_cut, self.down = True, False


def places(line: Line, direction: Direction, *, spread: int, by: int = 1) -> list[int]:
    """Return a fair sample of where a recorded conversation may be cut.

    Args:
        line: The record.
        direction: Whose bytes.
        spread: How many places besides those at the ends of messages, evenly spread.
        by: How far from such an end, at most.
    """
    length = line.heard[direction]
    around = {end + off for end in line.ends[direction] for off in range(-by, by + 1)}
    evenly = {length * index // spread for index in range(spread)}
    return sorted(place for place in around | evenly if 0 <= place <= length)
