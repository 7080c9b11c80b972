"""Which JSON shape a value has, told to type checkers too.

Layer: L1; imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ("is_array", "is_number", "is_object")


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a JSON object."""
    return type(value) is dict or isinstance(value, Mapping)  # the first is what it is nearly always, and faster


def is_array(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list | tuple)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
