"""Which JSON shape a value has, told to type checkers too; and how much there is of it.

Layer: L1; imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeGuard

__all__ = ("has_more", "is_array", "is_number", "is_object", "parts")


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a JSON object."""
    return type(value) is dict or isinstance(value, Mapping)  # the first is what it is nearly always, and faster


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list | tuple)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def parts(value: object) -> Iterator[tuple[object, int]]:
    """Yield a value and everything in it, each with the level that it is on: 0 for the value itself."""
    within: list[Iterator[Any]] = [iter((value,))]
    while within:
        for each in within[-1]:
            yield each, len(within) - 1
            if is_object(each) or is_array(each):
                within.append(iter(each.values() if is_object(each) else each))
                break
        else:
            within.pop()


def has_more(value: object, number: int) -> bool:
    """Whether a value has more parts than so many; it takes no longer than to count these."""
    return next(islice(parts(value), number, None), None) is not None
