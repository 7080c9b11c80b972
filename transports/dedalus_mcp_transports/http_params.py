"""Tool arguments that are mirrored into `Mcp-Param-*` headers: the `x-mcp-header` annotation.

    mirrors = mirrored(tool.inputSchema)          once for each tool; () for nearly all of them
    headers = param_headers(mirrors, arguments)   the client sends them with `tools/call`
    fault = check_params(mirrors, arguments, h)   the server compares; a fault is -32020

Source: MCP 2026-07-28, basic/transports/streamable-http, "Custom headers"; SEP-2243.
Layer: L2; imports `http_headers` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from dedalus_mcp_transports.http_headers import ConflictingHeader, Headers, decode_value, encode_value

__all__ = ("Mirror", "annotation_fault", "check_params", "mirrored", "param_headers")

ANNOTATION = "x-mcp-header"
SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGER = re.compile(r"(-?[0-9]{1,20})(?:\.0{1,20})?")
_TYPES = ("string", "integer", "boolean")

# Where a schema holds other schemas.  Values (`default`, `const`, `enum`, `examples`) are left
# out: a member of theirs is data, whatever its name.
_ONE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties")


@dataclass(frozen=True, slots=True)
class Mirror:
    """One annotated argument.

    Attributes:
        path: The names of the properties from the root to it.
        header: The header's whole name, as the schema spells it.
    """

    path: tuple[str, ...]
    header: str


def mirrored(input_schema: Mapping[str, Any]) -> tuple[Mirror, ...]:
    """Return what a tool's input schema annotates, in its order.

    Raises:
        ValueError: An annotation breaks a rule (HTTP-63); the text says which, and where.
    """
    mirrors: list[Mirror] = []
    taken: set[str] = set()
    for schema, path in _schemas(input_schema):
        if ANNOTATION not in schema:
            continue
        name = schema[ANNOTATION]
        if not path:
            raise ValueError(f"{ANNOTATION} {name!r:.80} is not on a property that `properties` alone lead to")
        where = f"{ANNOTATION} of property {'.'.join(path)!r:.80}"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{where} must be a header name (an RFC 9110 token), not {name!r:.80}")
        if not _is_mirrorable(schema.get("type")):
            raise ValueError(f"{where} needs a type of {', '.join(_TYPES)}, not {schema.get('type')!r:.80}")
        if name.lower() in taken:
            raise ValueError(f"{where} is {name!r:.80}, which another property has already")
        taken.add(name.lower())
        mirrors.append(Mirror(path, f"Mcp-Param-{name}"))
    return tuple(mirrors)


def annotation_fault(input_schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the schema's annotations, for a client that drops such tools (HTTP-62)."""
    try:
        mirrored(input_schema)
    except ValueError as error:
        return str(error)
    return None


def param_headers(mirrors: Iterable[Mirror], arguments: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the headers that mirror these arguments (HTTP-61, HTTP-64).

    An absent or null argument has none.  Neither has one that is no string, integer or boolean:
    the server refuses it by the schema.

    Raises:
        ValueError: An integer is not safe, or a string holds half of a surrogate pair.
    """
    headers: dict[str, str] = {}
    for mirror in mirrors:
        text = _text(_argument(arguments, mirror.path))
        if text is not None:
            headers[mirror.header] = encode_value(text)
    return headers


def check_params(mirrors: Iterable[Mirror], arguments: Mapping[str, Any] | None, headers: Headers) -> str | None:
    """Say which header does not mirror its argument; None if all do (HTTP-65, HTTP-66).

    Headers that the schema does not know are nobody's business here.
    """
    for mirror in mirrors:
        try:
            sent = headers.one(mirror.header.lower().encode())
            got = None if sent is None else decode_value(sent)
            value = _argument(arguments, mirror.path)
            text = _text(value)
        except ConflictingHeader as error:
            return str(error)
        except ValueError as error:
            return f"header {mirror.header!r:.80}: {error}"
        if got == text or (got is not None and text is not None and _same_integer(got, value)):
            continue
        said = "is missing" if got is None else "differs from the argument" if text is not None else "has no argument"
        return f"header {mirror.header!r:.80} {said} ({'.'.join(mirror.path):.80})"
    return None


def _schemas(root: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Every schema in this one, with its path if `properties` alone lead to it; no recursion, however deep."""
    waiting: list[tuple[Any, tuple[str, ...] | None]] = [(root, ())]
    while waiting:
        found, path = waiting.pop()
        schema = _members(found)
        if not schema:
            continue  # `true`, `false`, an absent keyword: no schemas in it
        yield schema, path or ()
        inner: list[tuple[Any, tuple[str, ...] | None]] = [(each, None) for each in _elsewhere(schema)]
        for name, each in _members(schema.get("properties")).items():
            inner.append((each, None if path is None else (*path, name)))
        waiting += reversed(inner)


def _elsewhere(schema: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _ONE:
        yield schema.get(keyword)
    for keyword in _LISTS:
        yield from _items(schema.get(keyword))
    for keyword in _MAPS:
        yield from _members(schema.get(keyword)).values()


def _is_mirrorable(kind: Any) -> bool:
    """Whether values of this `type` fit a header: one of three types, or null, which is not mirrored."""
    kinds = [each for each in _items(kind) if each != "null"] or [kind]
    return len(kinds) == 1 and kinds[0] in _TYPES


def _members(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _argument(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        arguments = _members(arguments).get(name)
    return arguments


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return None
    if abs(value) > SAFE_INTEGER:
        raise ValueError(f"an integer beyond {SAFE_INTEGER} is not safe in a header")
    return str(int(value))


def _same_integer(got: str, value: Any) -> bool:
    found = _INTEGER.fullmatch(got)
    return (
        found is not None and isinstance(value, int | float) and not isinstance(value, bool) and int(found[1]) == value
    )
