"""Why a value was refused, where its schema finds no fault: an author's own check.

Layer: L1; imports `faults` and msgspec only.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dedalus_mcp.schema.faults import at

__all__ = ("reasons",)

_PLACE = r" - at `\$(.*)`$"  # how msgspec says where
_LONGEST = 200  # characters of an author's text


def reasons(error: msgspec.ValidationError, name: str) -> list[str]:
    """Return what a ``__post_init__`` or a validator said, each with the path from `name`.

    Empty where the decoder itself refused: its text may hold the value, so it is not used.
    pydantic's errors are read without their input.
    """
    cause: Any = error.__cause__
    where = re.search(_PLACE, str(error))
    place = name + (where.group(1) if where else "")
    if hasattr(cause, "errors"):  # pydantic's
        return [f"{_path(place, found['loc'])}: {found['msg']}" for found in cause.errors(include_input=False)]
    text = str(cause or "")[:_LONGEST]
    return [f"{place}: {text}"] if text else []


def _path(place: str, location: tuple[int | str, ...]) -> str:
    for step in location:
        place = f"{place}[{step}]" if isinstance(step, int) else at(place, step)
    return place
