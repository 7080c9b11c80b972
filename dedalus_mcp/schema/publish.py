"""From an annotation to the JSON Schema that is published: self-contained, and inlined.

Many clients drop `$defs`, so a reference is replaced by what it refers to, with the keywords
beside it kept; only types that contain themselves stay under `$defs`.

Layer: L1; imports `foreign`, `shapes` and msgspec only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dedalus_mcp.schema.foreign import Mode, describe
from dedalus_mcp.schema.shapes import is_array, is_object

__all__ = ("publish", "publish_all", "typed")

_NODE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LIST = ("anyOf", "oneOf", "allOf", "prefixItems")
_TABLE = ("properties", "patternProperties")


def publish(annotation: Any, mode: Mode = "validation") -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12) of an annotation that `foreign.fit` returned.

    Raises:
        TypeError: A type has no JSON form.
    """
    (root,), definitions = _published([annotation], mode)
    if (name := _name(root)) is not None:  # a root is never a bare reference
        root = {**definitions[name], **{key: value for key, value in root.items() if key != "$ref"}}
    return {**root, "$defs": definitions} if definitions else root


def publish_all(annotations: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schemas of several annotations by name, and the `$defs` that they share.

    Raises:
        TypeError: A type has no JSON form.
    """
    schemas, definitions = _published(list(annotations.values()), "validation")
    return dict(zip(annotations, schemas, strict=True)), definitions


def typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that says the type of its values, if they have one.

    There are models that take no enum without it.
    """
    values: list[object] = schema.get("enum", [])
    kinds: set[type] = {type(value) for value in values}
    kind = {str: "string", int: "integer"}.get(kinds.pop()) if len(kinds) == 1 else None
    return schema if kind is None or "type" in schema else {"type": kind, **schema}


def _published(annotations: list[Any], mode: Mode) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    schemas, definitions = msgspec.json.schema_components(
        annotations, schema_hook=lambda kind: describe(kind, mode), ref_template="#/$defs/{name}"
    )
    inliner, scope = _Inliner(), _Scope(definitions, own_titles=False)
    return [inliner.inline(schema, scope) for schema in schemas], inliner.shared


class _Scope:
    """The definitions that references in one part of the schema point to."""

    def __init__(self, definitions: dict[str, Any], *, own_titles: bool) -> None:
        self.definitions = definitions
        self.own_titles = own_titles  # a library made titles up from the names of fields
        direct = {name: set(_references(node)) for name, node in definitions.items()}
        self.recursive = {name for name in direct if name in _reach(direct, name)}


class _Inliner:
    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}
        self._names: dict[tuple[int, str], str] = {}
        self._scopes: list[_Scope] = []  # kept alive: their ids are keys

    def inline(self, node: Any, scope: _Scope, field: str | None = None) -> Any:
        """Return a node with its references replaced; `field` is the property that it describes."""
        if not is_object(node):
            return node
        if "$defs" in node:
            scope = _Scope(node["$defs"], own_titles=True)
            self._scopes.append(scope)
        own = {key: self._value(key, value, scope) for key, value in node.items() if key not in _DROPPED}
        own = typed(own)
        if scope.own_titles and field is not None and own.get("title") == field.replace("_", " ").title():
            del own["title"]
        name = _name(node)
        if name not in scope.definitions:  # None, or a reference to elsewhere
            return own if name is None else {"$ref": node["$ref"], **own}
        if name in scope.recursive:
            return {"$ref": f"#/$defs/{self._share(name, scope)}", **own}
        return {**self._definition(name, scope), **own}

    def _value(self, key: str, value: Any, scope: _Scope) -> Any:
        if key in _NODE:
            return self.inline(value, scope)
        if key in _LIST:
            return [self.inline(item, scope) for item in value]
        if key in _TABLE:
            return {name: self.inline(item, scope, name) for name, item in value.items()}
        return value

    def _definition(self, name: str, scope: _Scope) -> dict[str, Any]:
        node = self.inline(scope.definitions[name], scope)
        # The title of a definition is the name of its class: no news to anybody.
        title = re.sub(r"[^\w.]", "_", str(node.get("title", "")))
        return {key: value for key, value in node.items() if key != "title" or not name.endswith(title)}

    def _share(self, name: str, scope: _Scope) -> str:
        """Keep a recursive definition, and return the name it has in the whole schema."""
        key = (id(scope), name)
        if key not in self._names:
            free = name
            while free in self.shared:
                free += "_"
            self._names[key] = free
            self.shared[free] = {}  # taken, before its own references ask
            self.shared[free] = self._definition(name, scope)
        return self._names[key]


_DROPPED = {"$defs", "$ref", "discriminator"}


def _name(node: Mapping[str, Any]) -> str | None:
    reference = node.get("$ref")
    return None if reference is None else str(reference).rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _references(node: Any) -> Iterator[str]:
    if is_object(node):
        if isinstance(node.get("$ref"), str):
            yield str(_name(node))
        for value in node.values():
            yield from _references(value)
    elif is_array(node):
        for value in node:
            yield from _references(value)


def _reach(direct: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(direct[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += direct.get(name, ())
    return seen
