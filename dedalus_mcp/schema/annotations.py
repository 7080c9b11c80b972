"""Annotations that msgspec takes, from whatever a signature has.

Unions, literals and enums that msgspec refuses are replaced by a `StandIn`, and constraints
and descriptions in `Annotated` are put in msgspec's words.

Layer: L1; imports `foreign` and `publish` only.
"""

from __future__ import annotations

import datetime
import enum
import functools
from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from dedalus_mcp.schema.foreign import Mode, StandIn, decode
from dedalus_mcp.schema.publish import publish

__all__ = ("fit",)

_TEXTS = ("title", "description")
_FORMATS: dict[Any, dict[str, str]] = {  # msgspec names them only where a time zone is asked for
    datetime.datetime: {"format": "date-time"},
    datetime.time: {"format": "time"},
}
_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length")


def fit(annotation: Any) -> Any:
    """Return an annotation that means the same and that msgspec takes.

    Raises:
        TypeError: There is none.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        metas = [meta for extra in arguments[1:] if (meta := _meta(extra)) is not None]
        return functools.reduce(lambda inner, meta: Annotated[inner, meta], metas, fit(arguments[0]))
    if origin in {Union, UnionType}:
        return _union([fit(argument) for argument in arguments])
    if origin in {None, Literal} or not arguments or isinstance(arguments[0], list):
        return _single(annotation, arguments)
    fitted = tuple(argument if argument is ... else fit(argument) for argument in arguments)
    return annotation if fitted == arguments else origin[fitted]


def _single(annotation: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what stands for an annotation that is not made of others."""
    if annotation is object:
        return Any
    if annotation is datetime.datetime or annotation is datetime.time:
        return Annotated[annotation, msgspec.Meta(extra_json_schema=_FORMATS[annotation])]
    if any(isinstance(value, bool | enum.Enum) for value in arguments):  # of a Literal
        return _values(arguments)
    if _is_enum(annotation) and not _accepted(annotation):
        return _values(list(annotation))
    return annotation


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


def _accepted(annotation: Any) -> bool:
    try:
        msgspec.json.Decoder(annotation, dec_hook=decode)
    except TypeError:
        return False
    return True


def _union(members: list[Any]) -> Any:
    union: Any = functools.reduce(lambda left, right: Union[left, right], members)  # noqa: UP007 - not all know `|`
    return union if _accepted(union) else _choice(members)


def _choice(members: Sequence[Any]) -> Any:
    """Return a stand-in for a union: of the members that take a value, the one that knows most of it."""
    names = [publish(member).get("properties", {}).keys() for member in members]

    def read(value: Any) -> Any:
        known = [len(own & value.keys()) if isinstance(value, dict) else 0 for own in names]
        failed: Exception | None = None
        for index in sorted(range(len(members)), key=lambda index: -known[index]):
            try:
                return msgspec.convert(value, members[index], dec_hook=decode)
            except msgspec.ValidationError as error:
                failed = error
        raise ValueError("fits no member of the union") from failed

    def describe(mode: Mode) -> dict[str, Any]:
        return {"anyOf": [publish(member, mode) for member in members]}

    return type("Union", (StandIn,), {"read": staticmethod(read), "describe": staticmethod(describe)})


def _values(values: Sequence[Any]) -> Any:
    """Return a stand-in for exactly these values, or enum members by their values."""
    table = {_typed(plain): value for value in values for plain in [getattr(value, "value", value)]}

    def read(value: Any) -> Any:
        try:
            return table[_typed(value)]
        except (KeyError, TypeError):
            raise ValueError("not one of the values") from None

    def describe(mode: Mode) -> dict[str, Any]:
        return {"enum": [plain for _, plain in table]}

    return type("Values", (StandIn,), {"read": staticmethod(read), "describe": staticmethod(describe)})


def _typed(value: Any) -> Any:
    return isinstance(value, bool), value  # True and 1 are equal, and not the same JSON


def _meta(extra: Any) -> msgspec.Meta | None:
    """Read a constraint or a description; pydantic's and annotated_types' are known by shape."""
    if isinstance(extra, msgspec.Meta):
        return extra
    if isinstance(extra, str):
        return msgspec.Meta(description=extra)
    found: dict[str, Any] = {}
    for source in (extra, *getattr(extra, "metadata", ())):
        found |= {name: text for name in _TEXTS if isinstance(text := getattr(source, name, None), str)}
        found |= {name: bound for name in _BOUNDS if isinstance(bound := getattr(source, name, None), int | float)}
        if isinstance(pattern := getattr(source, "pattern", None), str):
            found["pattern"] = pattern
    return msgspec.Meta(**found) if found else None
