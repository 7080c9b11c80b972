"""Why a value was refused, where its schema finds no fault: an author's own check.

Layer: L1; imports `faults` and msgspec only.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dedalus_mcp.schema.faults import at

__all__ = ("bound", "reasons")

_PLACE, _END = " - at `$", "`"  # how msgspec says where, behind what was said
_EXPECTED, _GOT = "Expected `", ", got "  # a type in such ticks, and its bound: never the value
_LONGEST = 200  # characters of an author's text, which may repeat what a client sent
_LISTED = 20  # places of one value that are told


def reasons(error: msgspec.ValidationError, name: str) -> list[str]:
    """Return what a ``__post_init__`` or a validator said, each with the path from `name`.

    Empty where the decoder itself refused: its text may hold the value, so it is not used.
    pydantic's errors are read without their input.
    """
    cause: Any = error.__cause__
    said = str(cause or "")  # it may be long, and hold whatever the value holds
    where = str(error).removeprefix(said)
    place = name + (where.removeprefix(_PLACE).removesuffix(_END) if where.startswith(_PLACE) else "")
    if hasattr(cause, "errors"):  # pydantic's
        told = cause.errors(include_input=False)[:_LISTED]
        return [f"{_path(place, found['loc'])}: {found['msg']:.{_LONGEST}}" for found in told]
    text = said[:_LONGEST]
    return [f"{place}: {text}"] if text else []


def bound(error: msgspec.ValidationError, name: str) -> str:
    """Return which bound the decoder found to be broken, with the path from `name`: no schema for others may have it.

    What the decoder says of other faults may hold the value, so it is not told.
    """
    expected, _, inside = str(error).partition(_PLACE)
    told = expected.startswith(_EXPECTED) and _GOT not in expected
    kind = expected.removeprefix(_EXPECTED).replace("`", "", 1)
    return f"{name}{inside.removesuffix(_END)}: expected {kind:.{_LONGEST}}" if told else f"{name}: does not fit"


def _path(place: str, location: tuple[int | str, ...]) -> str:
    for step in location:
        place = f"{place}[{step}]" if isinstance(step, int) else at(place, step)
    return place
