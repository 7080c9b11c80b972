"""How much work a JSON Schema makes that somebody else wrote, found out without doing it.

A validator follows each reference anew.  Twenty definitions, each of which refers to the next one twice, are a million
checks of a single number; and a schema that refers to itself twice doubles them with every level of a value.

    schema ──every reference unfolded──▶ how many checks one value takes
                                  └────▶ how many of them lead back to the beginning, for a value one level down

Layer: L1; imports `shapes` only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dedalus_mcp.schema.shapes import is_array, is_object, parts

__all__ = ("Effort",)

MAX_UNFOLDED = 2000
"""Checks of one value.  The largest real output schemas have a few hundred."""

MAX_CHECKS = 20_000_000
"""Checks of one result, with all that is in it: a second or so."""

MAX_PARTS = 1_000_000
"""Parts of a result that are counted, to find out how many checks it makes."""

MAX_LEVEL_CHECKS = 20_000
"""Checks of one value within it, however deep: each that fails takes a thousand times as long as one that passes."""

_ONE = ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems", "items")
_ANEW = ("unevaluatedItems", "unevaluatedProperties")  # to know what these are about, all beside them is done again
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_TABLES = ("properties", "patternProperties", "dependentSchemas", "dependencies")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")


class Effort:
    """What it takes to check values by one schema, at most.

    Args:
        schema: The schema.

    Raises:
        ValueError: It takes too much whatever the value is, or refers to something in a way that cannot be followed
            here.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._checks, self._returns = 0, 0
        self._root = schema
        todo: list[tuple[Any, int, frozenset[str]]] = [(schema, 1, frozenset("#"))]
        while todo:
            each, times, within = todo.pop()
            self._checks += times
            if self._checks > MAX_UNFOLDED:
                raise ValueError(f"with every reference followed it makes more than {MAX_UNFOLDED} checks of one value")
            if not is_object(each):
                continue
            if each is not schema and isinstance(each.get("$id"), str):
                raise ValueError("a part of it has an $id of its own")
            times *= 2 if any(word in each for word in _ANEW) else 1
            todo += [(part, times, within) for part in _parts(each)]
            for target in _references(each):
                if target in within:
                    self._returns += times
                else:
                    todo.append((self._at(target), times, within | {target}))

    def allows(self, value: Any) -> bool:
        """Whether a value may be checked, as far as that is a matter of time."""
        nodes = depth = 0
        for _, level in parts(value):
            nodes, depth = nodes + 1, max(depth, level)
            if nodes > MAX_PARTS or nodes * self._checks > MAX_CHECKS:
                return False
        below = self._checks
        for _ in range(depth if self._returns > 1 else 0):
            below *= self._returns
            if below > MAX_LEVEL_CHECKS:
                return False
        return nodes * below <= MAX_CHECKS

    def _at(self, target: str) -> Any:
        found: Any = self._root
        for step in target.split("/")[1:]:
            if is_array(found):
                found = dict(zip(map(str, range(len(found))), found, strict=True))
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if is_object(found) else None
        return found


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that are directly in a schema."""
    for word in (*_ONE, *_ANEW):
        if is_object(schema.get(word)):
            yield schema[word]
    for word in _MANY:
        if is_array(schema.get(word)):
            yield from schema[word]
    for word in _TABLES:
        if is_object(schema.get(word)):
            yield from schema[word].values()


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    if any(word in schema for word in _ELSEWHERE):
        raise ValueError("it refers to what depends on where it comes from")
    target = schema.get("$ref", "")
    if not isinstance(target, str) or not (target in ("", "#") or target.startswith("#/")) or "%" in target:
        raise ValueError("it refers to something by a name")
    if target:
        yield target
