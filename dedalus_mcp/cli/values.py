"""Arguments of a tool as they are typed: `NAME=VALUE`, read by the tool's own schema.

    count=3            a number, where the tool takes one; else the text "3"
    tags=a tags=b      an array, item by item; or tags='["a", "b"]'
    filter:={"x": 1}   JSON, whatever the schema says

Whether the values are in bounds is left to the server, who knows.

Layer: L6; no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.cli.schemas import Argument, arguments_of
from dedalus_mcp.schema.faults import type_of
from dedalus_mcp.schema.shapes import is_array, is_object

__all__ = ("object_of", "read_arguments")

_WORDS: dict[str, Any] = {"true": True, "false": False, "yes": True, "no": False}
_TEXT = frozenset({"string"})
_NONE = object()


def read_arguments(given: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were typed, of the types that the schema asks for.

    Args:
        given: ``NAME=VALUE`` or ``NAME:=JSON`` each; a name may come again where it takes an array.
        schema: The tool's input schema.

    Raises:
        Misuse: One is not legal, unknown or missing; the text names all of them, and what is legal.
    """
    known = {each.name: each for each in arguments_of(schema)}
    is_closed = schema.get("additionalProperties", True) is False
    found: dict[str, Any] = {}
    problems: list[str] = []
    for each in given:
        name, text, is_json = _parts(each)
        if is_closed and name not in known:
            problems.append(f"{name:.80}: no such argument; legal: {', '.join(known) or 'none'}")
            continue
        try:
            value = _json(text) if is_json else _value(text, known.get(name))
        except ValueError as error:
            problems.append(f"{name:.80}: {error}")
            continue
        if name in found and not (is_array(found[name]) and is_array(value)):
            problems.append(f"{name:.80}: given twice")
        found[name] = [*found[name], *value] if name in found and is_array(value) else value
    named = {_parts(each)[0] for each in given}
    missing = [each for each in known.values() if each.required and each.name not in named]
    problems += [f"{each.name}: required, expected {each.legal}" for each in missing]
    if problems:
        raise Misuse("; ".join(problems))
    return found


def object_of(text: str, what: str) -> dict[str, Any]:
    """Return the object that a JSON text stands for.

    Raises:
        Misuse: It is none.
    """
    try:
        value = _json(text)
    except ValueError as error:
        raise Misuse(f"{what}: {error}") from None
    if not is_object(value):
        raise Misuse(f"{what}: expected a JSON object, such as '{{\"name\": 1}}'")
    return dict(value)


def _parts(each: str) -> tuple[str, str, bool]:
    """Return name and text of what was typed, and whether the text is JSON in any case.

    Raises:
        Misuse: It has no name and value.
    """
    name, equals, text = each.partition("=")
    if not equals or name in ("", ":"):
        raise Misuse(f"an argument is NAME=VALUE or NAME:=JSON, not {each!r:.40}")
    return name.removesuffix(":"), text, name.endswith(":")


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError(f"not JSON: {error!s:.160}") from None


def _value(text: str, argument: Argument | None) -> Any:
    """Return what a text stands for.

    Raises:
        ValueError: Nothing that is legal.
    """
    if argument is None or not argument.types:
        return _loosely(text)
    value = _typed(text, argument)
    if value is _NONE or (argument.values and not any(_same(value, one) for one in argument.values)):
        raise ValueError(f"expected {argument.legal}")
    return value


def _typed(text: str, argument: Argument) -> Any:
    types = argument.types
    if types == _TEXT or (argument.values and text in argument.values):
        return text
    value = _decoded(text)
    kind = type_of(value)
    if value is not _NONE and (kind in types or (kind == "integer" and "number" in types)):
        return int(value) if kind == "integer" and "number" not in types else value
    if "string" in types:
        return text
    if "boolean" in types and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return [_value(text, argument.item)] if "array" in types else _NONE


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _NONE


def _loosely(text: str) -> Any:
    """What has no type is JSON where it can be read so, and text else."""
    value = _decoded(text)
    return text if value is _NONE else value


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)
