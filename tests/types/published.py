"""What the published schemas say, read from `members.txt`: a strategy and a check for each type.

`R` is a revision letter of that file; ANY stands for all of them at once: every member that
any revision has, of the type that the latest one gives it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

ANY = "ABCDE"
LETTERS = {"A": "2024-11-05", "B": "2025-03-26", "C": "2025-06-18", "D": "2025-11-25", "E": "2026-07-28"}

# name -> (its revisions, [(member, required, revisions, type)])
TYPES: dict[str, tuple[str, list[tuple[str, bool, str, str]]]] = {}


def _read(text: str) -> None:
    rows: list[tuple[str, bool, str, str]] = []
    for line in text.splitlines():
        if line.startswith("    "):
            member, revisions, type_ = line.split(maxsplit=2)
            rows.append((member[:-1], member.endswith("!"), revisions, type_))
        elif not line.startswith("#"):
            name, revisions = line.split()
            rows = []
            TYPES[name] = (revisions, rows)


_read((Path(__file__).parent / "members.txt").read_text())


def members(name: str, revisions: str) -> dict[str, tuple[bool, str]]:
    """The members of a type in a revision (or any of several): whether required, and their type."""
    found: dict[str, tuple[bool, str]] = {}
    for member, required, known, type_ in TYPES[name][1]:
        if set(known) & set(revisions):
            found[member] = (required or found.get(member, (False,))[0], type_)
    return found


def alternatives(type_: str) -> list[str]:
    """The parts of ``T|U|[V|W]`` at its top level."""
    parts, depth = [""], 0
    for char in type_:
        depth += (char in "[{") - (char in "]}")
        if char == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


WORDS = st.text(max_size=6)
WHOLE = st.integers(-(2**53), 2**53)
SCALARS = st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | WORDS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2), max_leaves=4
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=2)
SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "str": WORDS,
    "int": WHOLE,
    "num": WHOLE | st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "null": st.none(),
    "any": JSON,
    "id": WHOLE | WORDS,
    "obj": OBJECTS,
    "empty": st.just({}),
    "schema": st.fixed_dictionaries({"type": st.just("object"), "properties": OBJECTS}, optional={"x-any": JSON}),
}


@cache
def values(type_: str, revisions: str) -> st.SearchStrategy[Any]:
    """JSON values of a type, as a revision (or any of several) has it."""
    parts = [part for part in alternatives(type_) if part not in TYPES or set(TYPES[part][0]) & set(revisions)]
    if len(parts) > 1:
        return st.one_of([values(part, revisions) for part in parts])
    (part,) = parts
    if part.startswith("'"):
        return st.just(ast.literal_eval(part))
    if part.startswith("["):
        return st.lists(values(part[1:-1], revisions), max_size=2)
    if part.startswith("{"):
        return st.dictionaries(WORDS, values(part[1:-1], revisions), max_size=2)
    if part in SIMPLE:
        return SIMPLE[part]
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for member, (needed, inner) in members(part, revisions).items():
        (required if needed else optional)[member] = values(inner, revisions)
    return st.fixed_dictionaries(required, optional=optional)


def fits(value: Any, type_: str, revision: str) -> bool:
    """Whether a JSON value is of that type in that revision, with no member that it does not know."""
    return any(_fits_one(value, part, revision) for part in alternatives(type_))


def _fits_one(value: Any, type_: str, revision: str) -> bool:
    items: list[Any] = cast("Any", value) if isinstance(value, list) else []
    held: dict[str, Any] = cast("Any", value) if isinstance(value, dict) else {}
    if type_.startswith("'"):
        return bool(value == ast.literal_eval(type_))
    if type_.startswith("["):
        return isinstance(value, list) and all(fits(item, type_[1:-1], revision) for item in items)
    if type_.startswith("{"):
        return isinstance(value, dict) and all(fits(item, type_[1:-1], revision) for item in held.values())
    if type_ in SIMPLE:
        return _fits_simple(value, held, type_)
    known = members(type_, revision)
    return (
        revision in TYPES[type_][0]
        and isinstance(value, dict)
        and all(member in held for member, (needed, _) in known.items() if needed)
        and all(member in known and fits(item, known[member][1], revision) for member, item in held.items())
    )


def _fits_simple(value: Any, held: dict[str, Any], type_: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    whole = number and isinstance(value, int)
    check: dict[str, bool] = {
        "any": True,
        "null": value is None,
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
        "num": number,
        "int": whole,
        "id": whole or isinstance(value, str),
        "obj": isinstance(value, dict),
        "empty": isinstance(value, dict) and not held,
        "schema": held.get("type") == "object",
    }
    return check[type_]
