"""Types that msgspec does not know: the hooks by which it decodes, describes and encodes them.

pydantic models go through their own methods, found by shape: pydantic is never imported.
Paths are strings.  A `StandIn` is a class of our own that stands in an annotation for what
msgspec refuses.

Layer: L1; imports `shapes` only.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Literal, TypeAlias

from dedalus_mcp.schema.shapes import is_object

__all__ = ("Mode", "StandIn", "decode", "describe", "encode")

Mode: TypeAlias = Literal["validation", "serialization"]
"""What a schema is for: pydantic's own words, since its models differ by it."""


class _AnyValue(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec checks what our hook returns: a stand-in stands for any type


class StandIn(metaclass=_AnyValue):
    """A type that msgspec has to ask us about, in the place of one that it refuses.

    Attributes:
        read: Builds the value from JSON, or raises ValueError or TypeError.
        describe: Returns its JSON Schema, in pydantic's mode "validation" or "serialization".
    """

    read: ClassVar[staticmethod[[Any], Any]]
    describe: ClassVar[staticmethod[[Mode], dict[str, Any]]]


def decode(kind: Any, value: Any) -> Any:
    """Build a value of a type that msgspec does not know (its `dec_hook`).

    Raises:
        ValueError: The value does not fit; pydantic's errors are among these.
        TypeError: Likewise.
    """
    if _is_a(kind, StandIn):
        return kind.read(value)
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if _is_a(kind, os.PathLike) and isinstance(value, str | os.PathLike):
        return kind(value)
    raise TypeError(f"cannot build {kind!r}")


def describe(kind: Any, mode: Mode) -> dict[str, Any]:
    """Return the JSON Schema of a type that msgspec does not know (its `schema_hook`).

    The schema has its own `$defs`, always there, to which alone its references point.

    Raises:
        TypeError: The type has no JSON form.
    """
    if _is_a(kind, StandIn):
        return {"$defs": {}, **kind.describe(mode)}
    if hasattr(kind, "model_json_schema"):
        try:
            schema: dict[str, Any] = {"$defs": {}, **kind.model_json_schema(mode=mode)}
        except RuntimeError as error:  # pydantic's own for a field without JSON form
            raise TypeError(f"{kind.__name__} has no JSON form: {error}") from error
        if schema.get("title") == kind.__name__:
            del schema["title"]
        return schema
    if _is_a(kind, os.PathLike):
        return {"$defs": {}, "type": "string", "format": "path"}
    raise TypeError(f"{getattr(kind, '__qualname__', kind)} has no JSON form")


def encode(value: Any) -> Any:
    """Return a value that msgspec does not know in terms it does (its `enc_hook`).

    Raises:
        TypeError: The value has no JSON form.
    """
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if _is_a(type(value), os.PathLike):
        return str(value)
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    if is_object(value):
        return dict(value)
    raise TypeError(f"a {type(value).__qualname__} has no JSON form")


def _is_a(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)
