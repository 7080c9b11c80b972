"""What is wrong with a JSON value under a schema, in words that never repeat the value.

This is the slow half: it runs when the fast decode has failed, and on forms, which people
fill in.  It knows the keywords that `publish` and the elicitation subset use, and ignores
every other.

Layer: L1; imports `shapes` and msgspec only.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dedalus_mcp.schema.shapes import is_array, is_object

__all__ = ("at", "branches_of", "faults", "fits", "legal", "likely", "quote", "resolve", "type_of", "types_of", "worst")

_SHOWN = 40  # characters of a name, or of an enum value, that a message repeats
_LISTED = 20  # values of an enum that a message names, and faults of one value

_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def _matches(text: str, pattern: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:  # another dialect
        return True


def _decodes(text: str, kind: Any) -> bool:
    try:
        msgspec.convert(text, kind)
    except msgspec.ValidationError:
        return False
    return True


_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": (">= {}", lambda value, bound: value >= bound),
    "maximum": ("<= {}", lambda value, bound: value <= bound),
    "exclusiveMinimum": ("> {}", lambda value, bound: value > bound),
    "exclusiveMaximum": ("< {}", lambda value, bound: value < bound),
    "multipleOf": ("a multiple of {}", lambda value, bound: value % bound == 0),
}
_FORMATS = {
    "date-time": datetime.datetime,
    "date": datetime.date,
    "time": datetime.time,
    "duration": datetime.timedelta,
    "uuid": uuid.UUID,
    "decimal": decimal.Decimal,
}
_LENGTHS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minLength": ("at least {} characters", lambda value, bound: len(value) >= bound),
    "maxLength": ("at most {} characters", lambda value, bound: len(value) <= bound),
    "pattern": ("matching {!r}", _matches),
    "format": ("in the format {}", lambda value, bound: _decodes(value, _FORMATS.get(bound, str))),
    "contentEncoding": ("in {}", lambda value, bound: bound != "base64" or _decodes(value, bytes)),
}
_COUNTS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minItems": ("at least {} items", lambda value, bound: len(value) >= bound),
    "maxItems": ("at most {} items", lambda value, bound: len(value) <= bound),
    "minProperties": ("at least {} members", lambda value, bound: len(value) >= bound),
    "maxProperties": ("at most {} members", lambda value, bound: len(value) <= bound),
}
_RULES = {
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "string": _LENGTHS,
    "array": _COUNTS,
    "object": _COUNTS,
    "boolean": {},
    "null": {},
}


def type_of(value: object) -> str:
    """Return the JSON type of a value; "integer" for integral floats too, as JSON Schema has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number" if math.isfinite(value) else "no JSON value"
    kinds: dict[str, Any] = {"integer": int, "string": str, "object": Mapping, "array": (list, tuple)}
    return next((name for name, kind in kinds.items() if isinstance(value, kind)), "no JSON value")


def resolve(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema that a reference stands for, and what is beside the reference.

    The schemas true and false come out as schemas that take anything and nothing, and one that
    stands for itself as what is beside its references.
    """
    if not is_object(schema):
        return {} if schema else {"enum": []}
    found, followed = dict(schema), set[str]()
    while "$ref" in found:
        name = str(found.pop("$ref")).rpartition("/")[2]
        if name not in followed:
            followed.add(name)
            found = {**definitions.get(name, {}), **found}
    return found


def types_of(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema takes; empty means any."""
    schema = resolve(schema, definitions)
    if "type" in schema:
        return _names(schema["type"])
    if (values := _values(schema)) is not None:
        return {type_of(value) for value in values}
    parts = [types_of(branch, definitions) for branch in branches_of(schema)]
    return {name for part in parts for name in part} if all(parts) else set()


def branches_of(schema: Mapping[str, Any]) -> list[Any]:
    """Return the alternatives that a schema lists."""
    return list(schema.get("anyOf") or schema.get("oneOf") or ())


def legal(schema: Any, definitions: Mapping[str, Any]) -> str:
    """Return in words what a schema takes, for example "an integer, >= 1"."""
    schema = resolve(schema, definitions)
    if (values := _values(schema)) is not None:
        shown = ", ".join(quote(value) for value in values[:_LISTED])
        if not values:
            return "nothing"
        return f"one of {shown}{', ...' if len(values) > _LISTED else ''}"
    if branches := branches_of(schema):
        return " or ".join(dict.fromkeys(legal(branch, definitions) for branch in branches))
    types = sorted(_names(schema.get("type", ())))
    if not types:
        return "any JSON value"
    rules = {keyword: text for name in types for keyword, (text, _) in _RULES.get(name, {}).items()}
    limits = [text.format(schema[keyword]) for keyword, text in rules.items() if keyword in schema]
    return ", ".join([" or ".join(_noun(name) for name in types), *limits])


def fits(value: Any, schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Whether a value has no fault."""
    return next(faults(value, schema, definitions, ""), None) is None


def worst(value: Any, schema: Any, definitions: Mapping[str, Any], path: str) -> list[str]:
    """Return the first faults, as many as somebody may want to read."""
    found = list(itertools.islice(faults(value, schema, definitions, path), _LISTED + 1))
    return [*found[:_LISTED], f"{path}: and more"] if len(found) > _LISTED else found


def faults(value: Any, schema: Any, definitions: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield every fault of a value: the path to it, and what is legal there.

    Args:
        value: JSON as Python has it.
        schema: Its schema, whose references point into `definitions`.
        definitions: The `$defs` of the root.
        path: The name of the value, that every message starts with.
    """
    schema = resolve(schema, definitions)
    kind = type_of(value)
    if not _takes(schema, value, definitions):
        yield f"{path}: expected {legal(schema, definitions)}, got {_noun(kind)}"
    elif (values := _values(schema)) is not None:
        if not any(_same(value, one) for one in values):
            yield f"{path}: expected {legal(schema, definitions)}"
    elif branches := branches_of(schema):
        yield from _branch_faults(value, branches, definitions, path)
    elif any(key in schema and not holds(value, schema[key]) for key, (_, holds) in _RULES.get(kind, {}).items()):
        yield f"{path}: expected {legal(schema, definitions)}"
    elif kind == "array":
        yield from _item_faults(value, schema, definitions, path)
    elif kind == "object":
        yield from _member_faults(value, schema, definitions, path)


def likely(value: Any, branches: Sequence[Any], definitions: Mapping[str, Any]) -> Any:
    """Return the alternative that a value is meant for, or None if its type fits none.

    One is chosen by what lies one level deep, and then followed alone: to try them all at
    every level would take time exponential in the depth of the value.
    """
    meant = [branch for branch in branches if _takes(branch, value, definitions)]
    return max(meant, key=lambda branch: _closeness(value, branch, definitions), default=None)


def at(path: str, name: str) -> str:
    """Return the path of the member `name`; a long name is cut."""
    short = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    short = short.encode(errors="backslashreplace").decode()  # a lone surrogate would not encode
    return f"{path}.{short}" if path else short


def quote(value: object) -> str:
    """Return a value from a schema, or a name, as messages show it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _noun(type: str) -> str:
    return _NOUNS.get(type, type)


def _names(type: str | Sequence[str]) -> set[str]:
    return {type} if isinstance(type, str) else set(type)


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    branches = branches_of(schema)
    if branches and all(is_object(branch) and "const" in branch for branch in branches):
        return [branch["const"] for branch in branches]
    return None


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def _branch_faults(value: Any, branches: list[Any], definitions: Mapping[str, Any], path: str) -> Iterator[str]:
    branch = likely(value, branches, definitions)
    if branch is None or (type_of(value) not in {"object", "array"} and not fits(value, branch, definitions)):
        meant = [one for one in branches if _takes(one, value, definitions)]
        yield f"{path}: expected {legal({'anyOf': meant or branches}, definitions)}"
    else:
        yield from faults(value, branch, definitions, path)


def _takes(schema: Any, value: Any, definitions: Mapping[str, Any]) -> bool:
    """Whether the type of the value is right."""
    kind, types = type_of(value), types_of(schema, definitions)
    return not types or kind in types or (kind == "integer" and "number" in types)


def _closeness(value: Any, branch: Any, definitions: Mapping[str, Any]) -> int:
    """Return how much of a value a branch explains, looking one level deep."""
    schema = resolve(branch, definitions)
    if is_object(value):
        properties = schema.get("properties", {})
        score = -2 * sum(name not in value for name in schema.get("required", ()))  # worse than a wrong type
        for name in properties.keys() & value.keys():
            weight = 1 if _values(resolve(properties[name], definitions)) is None else 100  # a tag decides
            score += weight if _fits_here(value[name], properties[name], definitions) else -weight
        return score
    if is_array(value):
        return sum(_fits_here(item, schema.get("items", True), definitions) for item in value[:1])
    return int(fits(value, schema, definitions))


def _fits_here(value: Any, schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Whether a value fits, as far as can be told without looking into it."""
    if is_object(value) or is_array(value):
        return _takes(schema, value, definitions)
    return fits(value, schema, definitions)


def _item_faults(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], path: str) -> Iterator[str]:
    prefix, rest = schema.get("prefixItems", ()), schema.get("items", True)
    for index, item in enumerate(value if rest is not True else value[: len(prefix)]):
        yield from faults(item, prefix[index] if index < len(prefix) else rest, definitions, f"{path}[{index}]")


def _member_faults(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at(path, name)}: required, expected {legal(properties.get(name, True), definitions)}"
    for name, member in value.items():
        if name in properties:
            yield from faults(member, properties[name], definitions, at(path, name))
        elif rest is False:
            yield f"{at(path, str(name))}: unknown; legal here: {', '.join(properties) or 'nothing'}"
        elif rest is not True:
            yield from faults(member, rest, definitions, at(path, str(name)))
