"""What a message is expected to be, and how it differs.

    {"id": 1, "result": {"tools": ..., ...: ...}}

An `...` (Ellipsis) stands for whatever is there: as a value, for any value; as a key, for any further
members; at the end of a list, for any further items.  Everything else is compared as JSON: `1`, `1.0`
and `true` are three values, the order of members is none.

Layer: L6.
"""

from __future__ import annotations

import difflib
import json
from typing import Any, TypeGuard

__all__ = ("check", "difference", "is_array", "is_object", "named")

CONTEXT_LINES = 3
"""Lines shown around each that differs: enough to see where in the message it is."""

MAX_LINES = 80
"""Lines of a difference that are shown; beyond that nobody reads on."""

MAX_WIDTH = 200
"""Characters of a line that are shown: base64 of a picture has no end."""

_MISSING = object()


def check(expected: Any, got: Any, what: str = "the message") -> None:
    """See to it that a message is as expected.

    Raises:
        AssertionError: It is not; the text shows the difference.
    """
    if (found := difference(expected, got)) is not None:
        raise AssertionError(f"{what} differs (- expected, + got):\n{found}")


def difference(expected: Any, got: Any) -> str | None:
    """Return how `got` differs from `expected`, in lines that a person can read; None if it does not."""
    wanted, there = _lines(_filled(expected, got)), _lines(got)
    if wanted == there:
        return None
    lines = [
        line[:MAX_WIDTH]
        for line in difflib.unified_diff(wanted, there, n=CONTEXT_LINES, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    more = [f"({len(lines) - MAX_LINES} more lines)"] if len(lines) > MAX_LINES else []
    return "\n".join(lines[:MAX_LINES] + more)


def named(message: Any) -> str:
    """Return a message on one line, clipped, for texts about it."""
    return json.dumps(_filled(message, _MISSING), ensure_ascii=False)[:MAX_WIDTH]


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()


def _filled(expected: Any, got: Any) -> Any:
    """Return `expected` with what is in `got` in the place of every `...`."""
    if expected is ...:
        return "..." if got is _MISSING else got
    if is_object(expected):
        found = got if is_object(got) else {}
        filled = {key: _filled(value, found.get(key, _MISSING)) for key, value in expected.items() if key is not ...}
        return {**found, **filled} if ... in expected else filled
    if is_array(expected):
        items, there = list(expected), got if is_array(got) else []
        further: list[Any] = []
        if items and items[-1] is ...:
            items.pop()
            further = there[len(items) :]
        padded = [*there, *[_MISSING] * len(items)]
        return [_filled(item, padded[at]) for at, item in enumerate(items)] + further
    return expected


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)
