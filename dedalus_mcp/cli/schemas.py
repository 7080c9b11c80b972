"""A tool's input schema, as far as it matters to who types arguments.  It is the server's, so it may be anything.

Layer: L6; no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import msgspec

from dedalus_mcp.schema.faults import type_of
from dedalus_mcp.schema.shapes import is_array, is_number, is_object

__all__ = ("Argument", "arguments_of")

MAX_DEPTH = 8
"""References that are followed, one after another, and steps of one: more are none of a reader's business."""
MAX_ALTERNATIVES = 64
"""Alternatives of one argument that are looked at, those within others too."""
MAX_SHOWN = 12
"""Values of an enum that are shown."""

_NOUNS = {"boolean": "true or false"}
_BOUNDS = {
    "minimum": ">= {}",
    "maximum": "<= {}",
    "exclusiveMinimum": "> {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool, or one item of an argument that is an array.

    Attributes:
        name: Its name.
        required: Whether it must be given.
        types: The JSON types that it takes; empty means any.
        values: What it is one of, as an enum has it; empty where there is none.
        schema: Its schema, without references.
        root: The schema that references lead into.
    """

    name: str
    required: bool
    types: frozenset[str]
    values: tuple[Any, ...]
    schema: Mapping[str, Any]
    root: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, schema: Any, root: Mapping[str, Any], *, required: bool) -> Argument:
        """Read the schema of an argument."""
        found = _resolved(schema, root)
        return cls(name, required, frozenset(_types(found, root)), tuple(_values(found, root)), found, root)

    @property
    def item(self) -> Argument:
        """What its items are, where it is an array."""
        schema = self.schema
        for branch in _branches(schema):
            if "array" in _types(branch, self.root):
                schema = _resolved(branch, self.root)
        return Argument.of(self.name, schema.get("items"), self.root, required=True)

    @property
    def legal(self) -> str:
        """In words, what it takes: "integer, >= 1"."""
        if self.values:
            shown = " | ".join(msgspec.json.encode(value).decode() for value in self.values[:MAX_SHOWN])
            return f"{shown} | ..." if len(self.values) > MAX_SHOWN else shown
        nouns = [_NOUNS.get(name, name) for name in sorted(self.types)]
        if "array" in self.types and (inner := self.item.types):
            nouns[nouns.index("array")] = f"array of {' or '.join(sorted(inner))}"
        bounds = [text.format(self.schema[key]) for key, text in _BOUNDS.items() if is_number(self.schema.get(key))]
        return ", ".join([" or ".join(nouns) or "any JSON", *bounds])

    @property
    def default(self) -> str | None:
        """Its default as JSON; None where there is none."""
        return msgspec.json.encode(self.schema["default"]).decode() if "default" in self.schema else None


def arguments_of(schema: Mapping[str, Any]) -> list[Argument]:
    """Return the arguments that a schema names, in order."""
    required = schema.get("required")
    names = set(filter(_is_name, required)) if is_array(required) else set[Any]()
    properties = schema.get("properties")
    known = dict(properties) if is_object(properties) else {}
    known.update({name: True for name in names if name not in known})
    return [Argument.of(name, each, schema, required=name in names) for name, each in known.items()]


def _is_name(value: object) -> bool:
    return isinstance(value, str)


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references, as far as they lead somewhere."""
    for _ in range(MAX_DEPTH):
        if not is_object(schema):
            return {}
        if not isinstance(schema.get("$ref"), str):
            return schema
        own = {key: value for key, value in schema.items() if key != "$ref"}
        target = _target(schema["$ref"], root)
        schema = {**target, **own} if is_object(target) else own
    return {}


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#/"):
        return None  # nothing is fetched
    found: Any = root
    for part in reference[2:].split("/")[:MAX_DEPTH]:
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if is_object(found) else None
    return found


def _branches(schema: Mapping[str, Any]) -> Sequence[Any]:
    found = schema.get("anyOf") or schema.get("oneOf")
    return found if is_array(found) else ()


def _alternatives(schema: Any, root: Mapping[str, Any], ends: Set[str]) -> list[Mapping[str, Any]]:
    """Return what a schema stands for: itself if it has one of the keywords, else each of its branches, likewise.

    There may be many ways to many of them, or a way back: one that has too many stands for anything.
    """
    found: list[Mapping[str, Any]] = []
    waiting = [schema]
    for _ in range(MAX_ALTERNATIVES):
        if not waiting:
            return found
        each = _resolved(waiting.pop(), root)
        branches = () if ends & each.keys() else _branches(each)
        waiting += reversed(branches)
        if not branches:
            found.append(each)
    return [{}]


def _types(schema: Any, root: Mapping[str, Any]) -> list[str]:
    parts = [_own_types(each) for each in _alternatives(schema, root, {"type", "const", "enum"})]
    return [name for part in parts for name in part] if all(parts) else []


def _own_types(schema: Mapping[str, Any]) -> list[str]:
    type = schema.get("type")
    if isinstance(type, str):
        return [type]
    return list(filter(_is_name, type)) if is_array(type) else list(map(type_of, _own_values(schema)))


def _values(schema: Any, root: Mapping[str, Any]) -> list[Any]:
    parts = [_own_values(each) for each in _alternatives(schema, root, {"const", "enum"})]
    return [value for part in parts for value in part] if all(parts) else []


def _own_values(schema: Mapping[str, Any]) -> list[Any]:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return list(values) if is_array(values) else []
