"""The forms of elicitation: the small subset of JSON Schema that a client can show to a person.

    requested_schema ──form_of()──▶ RequestedForm    is it legal?           else McpError -32602
                                      .check(revision)    does it know it?  else McpError -32602
                                      .worded(revision)   as it goes on that revision's wire
                                      .accept(content)    does it fit?      else McpError -32602

Keywords that the protocol does not know are ignored, and never sent.  The same schema comes again
with each question, so what follows from it is worked out once.

Layer: L1; imports `errors` and the rest of this package.
Source: client/elicitation, revisions 2025-06-18, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn, TypeGuard

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.faults import at, quote
from dedalus_mcp.schema.fields import LIMITS, Field
from dedalus_mcp.schema.formats import FORMATS, is_secret
from dedalus_mcp.schema.shapes import is_array, is_number, is_object

__all__ = ("FIRST", "SELECTS", "RequestedForm", "accept", "check", "fields", "form_of", "reduce")

FIRST = "2025-06-18"
"""The first revision with forms: scalars, and `enum` with `enumNames`."""
SELECTS = "2025-11-25"
"""The first revision with defaults for all types, titled options and multiple choice."""

MAX_KEPT = 256
"""Forms that are kept: more than one server asks for."""
MAX_KEPT_SIZE = 16 * 1024
"""Bytes of a schema that is kept: no person fills in a longer form."""

_UNKNOWN = 20  # unknown fields that are named; all are refused


class RequestedForm:
    """A legal form, and what follows from its schema.

    Attributes:
        fields: What is asked, in order.

    Args:
        requested_schema: The schema; changed by nobody from now on.

    Raises:
        McpError: -32602, the schema is illegal in every revision.
    """

    __slots__ = ("_by_name", "_first", "_many", "_selects", "fields")

    def __init__(self, requested_schema: Any) -> None:
        properties, required = _check_object(requested_schema)
        for name, schema in properties.items():
            _check_property(quote(name), schema)
        self.fields: tuple[Field, ...] = tuple(
            Field.of(name, schema, required=name in required) for name, schema in properties.items()
        )
        self._by_name = {field.name: field for field in self.fields}
        self._many = next((field.name for field in self.fields if field.kind == "choices"), None)
        self._selects = _worded(requested_schema, _selects)
        self._first = _worded(requested_schema, _first) if self._many is None else None

    def check(self, revision: str) -> None:
        """Check that a client of this revision can show the form.

        Titled options and defaults are legal in every revision, since `worded` knows what to
        write instead.

        Raises:
            McpError: -32602; the message names the property and what is wrong with it.
        """
        if revision < FIRST:
            _refuse(f"Elicitation needs protocol revision {FIRST} or later")
        if revision < SELECTS and self._many is not None:
            _refuse(
                f"Unsupported schema type 'array' for property {quote(self._many)}: "
                f"multiple choice needs protocol revision {SELECTS} or later"
            )

    def worded(self, revision: str) -> dict[str, Any]:
        """Return the schema in the words of this revision; to be read, not to be changed.

        Raises:
            McpError: As `check`.
        """
        self.check(revision)
        return self._selects if self._first is None or revision >= SELECTS else self._first

    def accept(self, content: Any) -> dict[str, Any]:
        """Return accepted content, with defaults for what is not there and integers as `int`.

        Raises:
            McpError: -32602; the content does not fit.  The message names every field at fault
                and what is legal there.
        """
        given: Any = {} if content is None else content
        if not is_object(given):
            _refuse("content must be an object")
        unknown = itertools.islice((name for name in given if name not in self._by_name), _UNKNOWN)
        problems = [f"{at('', str(name))}: no such field; legal: {', '.join(self._by_name)}" for name in unknown]
        values: dict[str, Any] = {}
        for field in self.fields:
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


def form_of(requested_schema: Any) -> RequestedForm:
    """Return the form of a schema.

    Raises:
        McpError: -32602, the schema is illegal in every revision.
    """
    try:
        text = msgspec.json.encode(requested_schema)
    except (TypeError, ValueError, RecursionError):  # no JSON: the rules say what is wrong
        return RequestedForm(requested_schema)
    return _kept(text) if len(text) <= MAX_KEPT_SIZE else RequestedForm(requested_schema)


@lru_cache(MAX_KEPT)
def _kept(text: bytes) -> RequestedForm:
    return RequestedForm(msgspec.json.decode(text))  # nobody else has this copy, so it stays as it is


def check(requested_schema: Any, revision: str) -> None:
    """Check that a client of this revision can show a form for the schema.

    Raises:
        McpError: -32602; the message names the property and what is wrong with it.
    """
    form_of(requested_schema).check(revision)


def reduce(requested_schema: Any, revision: str) -> dict[str, Any]:
    """Return the schema in the words of this revision; to be read, not to be changed.

    Raises:
        McpError: As `check`.
    """
    return form_of(requested_schema).worded(revision)


def fields(requested_schema: Any) -> tuple[Field, ...]:
    """Return the fields of a form, in order.

    Raises:
        McpError: -32602; the schema is illegal in every revision.
    """
    return form_of(requested_schema).fields


def accept(content: Any, requested_schema: Any) -> dict[str, Any]:
    """Return accepted content: see `RequestedForm.accept`.

    Raises:
        McpError: -32602; the content does not fit the schema, or the schema is illegal.
    """
    return form_of(requested_schema).accept(content)


def _refuse(message: str) -> NoReturn:
    raise McpError(INVALID_PARAMS, message)


def _check_object(requested_schema: Any) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """Check all but the properties themselves; return these, and the names of the required ones."""
    if not is_object(requested_schema) or requested_schema.get("type") != "object":
        _refuse("requestedSchema.type must be 'object'")
    properties = requested_schema.get("properties")
    if not is_object(properties) or not properties:
        _refuse("requestedSchema.properties must be a non-empty object")
    required = requested_schema.get("required", [])
    if not is_array(required):
        _refuse("requestedSchema.required must be an array of property names")
    for name in required:
        if not isinstance(name, str) or name not in properties:
            _refuse(f"requestedSchema.required names unknown property {quote(name)}")
    return properties, required


def _check_property(name: str, schema: Any) -> None:
    """Check one property; `name` is its name in quotes."""
    if not is_object(schema):
        _refuse(f"Schema for property {name} must be an object")
    type = schema.get("type")
    unsupported = f"Unsupported schema type {quote(type) if isinstance(type, str) else repr(str(type)[:40])}"
    if not isinstance(type, str) or type not in LIMITS:
        _refuse(f"{unsupported} for property {name}")
    if is_secret(schema):
        _refuse(f"Property {name} is a secret, which no form may ask for: send the user to a page of yours, by URL")
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


_WORDS = ("title", "description", "default")
_OPTIONS = ("enum", "enumNames", "oneOf")
_REST = {"string": ("format",), "array": ("items",)}


def _worded(requested_schema: Mapping[str, Any], property_of: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Return a legal schema with its properties as `property_of` writes them, and nothing of its own."""
    known = ("type", "required") if property_of is _first else ("$schema", "type", "required")
    properties = {name: property_of(schema) for name, schema in requested_schema["properties"].items()}
    return {**{key: requested_schema[key] for key in known if key in requested_schema}, "properties": properties}


def _selects(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a legal property in the words of `SELECTS` and later: those of its type, and no others."""
    type = schema["type"]
    options = [word for word in _OPTIONS if word in schema]
    words = ("type", *_WORDS, *(options if type == "string" and options else (*LIMITS[type], *_REST.get(type, ()))))
    known = {key: value for key, value in schema.items() if key in words}
    if type == "array":
        items = schema["items"]
        titled = items.get("anyOf") or items.get("oneOf")  # the second is a draft's word for it
        known["items"] = {"type": "string", "enum": items["enum"]} if titled is None else {"anyOf": _titled(titled)}
    elif "oneOf" in known:
        known["oneOf"] = _titled(known["oneOf"])
    return known


def _titled(options: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"const": option["const"], "title": option["title"]} for option in options]


def _first(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a legal property in the words of `FIRST`."""
    known = _selects(schema)
    if schema["type"] != "boolean":
        known.pop("default", None)
    if options := known.pop("oneOf", None):
        known["enum"] = [option["const"] for option in options]
        known["enumNames"] = [option["title"] for option in options]
    return known
