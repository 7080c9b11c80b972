"""Bring a JSON value closer to a schema: what language models get wrong, and JSON does not mind.

- ``1.0`` is an integer to JSON Schema, not to a decoder for `int`.
- Models send numbers, booleans, arrays and objects as strings of JSON.  Such a string is
  read, but only where the schema takes no string: a value that fits is never touched.

Layer: L1; imports `faults`, `shapes` and msgspec only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dedalus_mcp.schema.faults import branches_of, likely, resolve, type_of, types_of
from dedalus_mcp.schema.shapes import is_array, is_object

__all__ = ("loosen",)


def loosen(value: Any, schema: Any, definitions: Mapping[str, Any], *, strings: bool) -> Any:
    """Return the value with integral floats as integers and, if `strings`, with strings read.

    Args:
        value: JSON as Python has it; it is not changed.
        schema: The schema it should fit.
        definitions: The `$defs` that the schema refers to.
        strings: Whether to read strings of JSON.
    """
    schema = resolve(schema, definitions)
    types = types_of(schema, definitions)
    if isinstance(value, str):
        if not strings or not types or "string" in types:
            return value
        value = _read(value, types)
    if isinstance(value, float):
        return int(value) if value.is_integer() and "integer" in types and "number" not in types else value
    branch = likely(value, branches_of(schema), definitions)
    if branch is not None:
        return loosen(value, branch, definitions, strings=strings)
    if is_array(value):
        return _items(value, schema, definitions, strings=strings)
    if is_object(value):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        return {
            name: loosen(member, properties.get(name, rest), definitions, strings=strings)
            for name, member in value.items()
        }
    return value


def _read(text: str, types: set[str]) -> Any:
    """Return the JSON value in a string if it has one of these types, else the string."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    kind = type_of(value)
    return value if kind in types or (kind == "integer" and "number" in types) else text


def _items(
    value: Sequence[Any], schema: Mapping[str, Any], definitions: Mapping[str, Any], *, strings: bool
) -> list[Any]:
    prefix, rest = schema.get("prefixItems", ()), schema.get("items", True)
    return [
        loosen(item, prefix[index] if index < len(prefix) else rest, definitions, strings=strings)
        for index, item in enumerate(value)
    ]
