"""A tool's input schema, as far as it matters to who types arguments.  It is the server's, so it may be anything.

Layer: L6; no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dedalus_mcp.schema.faults import type_of
from dedalus_mcp.schema.shapes import is_array, is_number, is_object

__all__ = ("Argument", "arguments_of")

MAX_DEPTH = 8
"""References and alternatives that are followed, one in another: more are none of a reader's business."""
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
        return cls(name, required, frozenset(_types(found, root, 0)), tuple(_values(found, root, 0)), found, root)

    @property
    def item(self) -> Argument:
        """What its items are, where it is an array."""
        schema = self.schema
        for branch in _branches(schema):
            if "array" in _types(branch, self.root, 0):
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


def _types(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    schema = _resolved(schema, root)
    type = schema.get("type")
    if isinstance(type, str):
        yield type
    elif is_array(type):
        yield from filter(_is_name, type)
    elif values := list(_values(schema, root, depth)):
        yield from map(type_of, values)
    elif depth < MAX_DEPTH:
        parts = [list(_types(branch, root, depth + 1)) for branch in _branches(schema)]
        if all(parts):
            yield from (name for part in parts for name in part)


def _values(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    if is_array(values):
        return list(values)
    if depth >= MAX_DEPTH:
        return []
    parts = [_values(_resolved(branch, root), root, depth + 1) for branch in _branches(schema)]
    return [value for part in parts for value in part] if all(parts) else []
