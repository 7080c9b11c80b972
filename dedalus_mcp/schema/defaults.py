"""Defaults that a decoded dataclass has as a class only, given to the instance.

msgspec leaves plain defaults of dataclasses out of the instance's own attributes.  Everything
that looks there, its own encoder too, would take them for missing.

Layer: L1; imports `shapes` only.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import msgspec

from dedalus_mcp.schema.shapes import is_object

__all__ = ("complete",)


def complete(value: Any) -> None:
    """Complete every dataclass instance that `value` is or holds."""
    left: list[Any] = [value]
    while left:
        one = left.pop()
        if is_object(one):
            left += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            left += cast("list[Any]", one)
        elif isinstance(one, msgspec.Struct):
            left += [getattr(one, name) for name in one.__struct_fields__]
        elif dataclasses.is_dataclass(one):
            own: dict[str, Any] = getattr(one, "__dict__", {})
            for field in dataclasses.fields(one):
                if hasattr(one, field.name):
                    own.setdefault(field.name, getattr(one, field.name))  # past any __setattr__, frozen ones too
                    left.append(own[field.name])
