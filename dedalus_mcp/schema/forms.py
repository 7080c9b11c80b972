"""The forms of elicitation: the small subset of JSON Schema that a client can show to a person.

    check   is the schema legal, and does this revision know it?      else McpError -32602
    reduce  the schema as it goes on the wire of that revision
    accept  does the content fit?  with the defaults filled in        else McpError -32602

Keywords that the protocol does not know are ignored.

Layer: L1; imports `errors` and the rest of this package.
Source: client/elicitation, revisions 2025-06-18, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

from msgspec import UNSET

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.faults import at, quote
from dedalus_mcp.schema.fields import LIMITS, Field
from dedalus_mcp.schema.formats import FORMATS
from dedalus_mcp.schema.shapes import is_array, is_number, is_object

__all__ = ("FIRST", "SELECTS", "accept", "check", "fields", "reduce")

FIRST = "2025-06-18"
"""The first revision with forms: scalars, and `enum` with `enumNames`."""
SELECTS = "2025-11-25"
"""The first revision with defaults for all types, titled options and multiple choice."""

_UNKNOWN = 20  # unknown fields that are named; all are refused


def check(requested_schema: Any, revision: str) -> None:
    """Check that a client of this revision can show a form for the schema.

    Titled options and defaults are legal in every revision, since `reduce` knows what to
    write instead.

    Raises:
        McpError: -32602; the message names the property and what is wrong with it.
    """
    if revision < FIRST:
        _refuse(f"Elicitation needs protocol revision {FIRST} or later")
    if not is_object(requested_schema) or requested_schema.get("type") != "object":
        _refuse("requestedSchema.type must be 'object'")
    properties = requested_schema.get("properties")
    if not is_object(properties) or not properties:
        _refuse("requestedSchema.properties must be a non-empty object")
    for name, schema in properties.items():
        _check_property(quote(name), schema, revision)
    required = requested_schema.get("required", [])
    if not is_array(required):
        _refuse("requestedSchema.required must be an array of property names")
    for name in required:
        if not isinstance(name, str) or name not in properties:
            _refuse(f"requestedSchema.required names unknown property {quote(name)}")


def reduce(requested_schema: Any, revision: str) -> dict[str, Any]:
    """Return the schema in the words of this revision.

    Raises:
        McpError: As `check`.
    """
    check(requested_schema, revision)
    properties = {name: _worded(schema, revision) for name, schema in requested_schema["properties"].items()}
    unknown: set[str] = set() if revision >= SELECTS else {"$schema"}
    return {**{key: value for key, value in requested_schema.items() if key not in unknown}, "properties": properties}


def fields(requested_schema: Any) -> tuple[Field, ...]:
    """Return the fields of a form, in order.

    Raises:
        McpError: -32602; the schema is illegal in every revision.
    """
    check(requested_schema, SELECTS)
    return _fields(requested_schema)


def accept(content: Any, requested_schema: Any) -> dict[str, Any]:
    """Return accepted content, with defaults for what is not there and integers as `int`.

    Raises:
        McpError: -32602; the content does not fit the schema, or the schema is illegal.  The
            message names every field at fault and what is legal there.
    """
    asked = fields(requested_schema)
    given: Any = {} if content is None else content
    if not is_object(given):
        _refuse("content must be an object")
    names = [field.name for field in asked]
    unknown = itertools.islice((name for name in given if name not in names), _UNKNOWN)
    problems = [f"{at('', str(name))}: no such field; legal: {', '.join(names)}" for name in unknown]
    values: dict[str, Any] = {}
    for field in asked:
        value = given.get(field.name, field.default)
        if value is UNSET:
            problems += [f"{field.name}: required, expected {field.legal}"] if field.required else []
        elif found := field.faults(value):
            problems += found
        else:
            values[field.name] = field.take(value)
    if problems:
        _refuse("; ".join(problems))
    return values


def _fields(requested_schema: Mapping[str, Any]) -> tuple[Field, ...]:
    required = requested_schema.get("required", ())
    return tuple(
        Field.of(name, schema, required=name in required) for name, schema in requested_schema["properties"].items()
    )


def _refuse(message: str) -> NoReturn:
    raise McpError(INVALID_PARAMS, message)


def _check_property(name: str, schema: Any, revision: str) -> None:
    """Check one property; `name` is its name in quotes."""
    if not is_object(schema):
        _refuse(f"Schema for property {name} must be an object")
    type = schema.get("type")
    unsupported = f"Unsupported schema type {quote(type) if isinstance(type, str) else repr(str(type)[:40])}"
    if not isinstance(type, str) or type not in LIMITS:
        _refuse(f"{unsupported} for property {name}")
    if type == "array" and revision < SELECTS:
        _refuse(f"{unsupported} for property {name}: multiple choice needs protocol revision {SELECTS} or later")
    for keyword in ("title", "description"):
        if not isinstance(schema.get(keyword, ""), str):
            _refuse(f"{keyword} of property {name} must be a string")
    _check_limits(name, schema, LIMITS[type])
    if type == "string":
        _check_text(name, schema)
    elif type == "array":
        _check_items(name, schema.get("items"))
    elif "enum" in schema or "oneOf" in schema:
        _refuse(f"Property {name} cannot have options: they are for strings only")
    if "default" in schema and Field.of(name, schema, required=False).faults(schema["default"]):
        _refuse(f"Default of property {name} must be {Field.of(name, schema, required=False).legal}")


def _check_limits(name: str, schema: Mapping[str, Any], keywords: tuple[str, ...]) -> None:
    values = [schema[keyword] for keyword in keywords if keyword in schema]
    for keyword in keywords:
        value = schema.get(keyword, 0)
        if keyword in {"minimum", "maximum"}:
            if not is_number(value) or not math.isfinite(value):
                _refuse(f"{keyword} of property {name} must be a number")
        elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
            _refuse(f"{keyword} of property {name} must be a non-negative integer")
    if len(values) == 2 and values[0] > values[1]:
        _refuse(f"{keywords[0]} of property {name} is greater than its {keywords[1]}")


def _check_text(name: str, schema: Mapping[str, Any]) -> None:
    if "enum" in schema and "oneOf" in schema:
        _refuse(f"Property {name} must have enum or oneOf, not both")
    if "enum" in schema:
        _check_values(name, "enum", schema["enum"])
        titles = schema.get("enumNames", schema["enum"])
        if not _strings(titles) or len(titles) != len(schema["enum"]):
            _refuse(f"enumNames of property {name} must be strings, one for each value of its enum")
    elif "oneOf" in schema:
        _check_titled(name, "oneOf", schema["oneOf"])
    format = schema.get("format", "email")
    if not isinstance(format, str) or format not in FORMATS:
        _refuse(f"format of property {name} must be one of {', '.join(FORMATS)}")


def _check_items(name: str, items: Any) -> None:
    given = [keyword for keyword in ("enum", "anyOf", "oneOf") if is_object(items) and keyword in items]
    if len(given) != 1:
        _refuse(f"items of property {name} must be an object with enum or anyOf")
    if given == ["enum"]:
        _check_values(name, "items.enum", items["enum"])
        if items.get("type") != "string":
            _refuse(f"items.type of property {name} must be 'string'")
    else:
        _check_titled(name, f"items.{given[0]}", items[given[0]])


def _check_values(name: str, keyword: str, values: Any) -> None:
    if not _strings(values) or not values:
        _refuse(f"{keyword} of property {name} must be a non-empty array of strings")


def _check_titled(name: str, keyword: str, options: Any) -> None:
    listed = is_array(options) and bool(options)
    if not listed or not all(is_object(one) and _strings([one.get("const"), one.get("title")]) for one in options):
        _refuse(f"{keyword} of property {name} must be a non-empty array of objects with const and title, both strings")


def _strings(values: Any) -> TypeGuard[Sequence[str]]:
    return is_array(values) and all(isinstance(value, str) for value in values)


def _worded(schema: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """Return a legal property as this revision writes it."""
    known = {key: value for key, value in schema.items() if key != "pattern"}  # in no revision's schema
    if schema["type"] == "array" and "oneOf" in schema["items"]:  # a draft's word for it
        items = {key: value for key, value in schema["items"].items() if key != "oneOf"}
        known["items"] = {**items, "anyOf": schema["items"]["oneOf"]}
    if revision >= SELECTS:
        return known
    if schema["type"] != "boolean":
        known.pop("default", None)
    if schema["type"] == "string" and (options := known.pop("oneOf", None)):
        known["enum"] = [option["const"] for option in options]
        known["enumNames"] = [option["title"] for option in options]
    return known
