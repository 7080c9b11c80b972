"""The options of a choice: what is sent for each, what is shown, and the Python value that it stands for.

Forms know strings only.  So a member of an enum is sent as its value where that is a string, else
as its name; a literal of another type as its text.  What people read is the member's own `title`,
where it has one, else what is sent.

Layer: L1; imports `shapes` only.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    Required,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec

from dedalus_mcp.schema.shapes import is_object

__all__ = ("Option", "listed", "options_of", "words")

T = TypeVar("T")

_TRANSPARENT = {Annotated, Required, NotRequired, getattr(typing, "ReadOnly", Annotated)}


class Option(msgspec.Struct, Generic[T], frozen=True):
    """One option: the string that is sent, the title that is shown, and what it stands for."""

    const: str
    title: str
    value: T


def listed(options: Any) -> tuple[Option[Any], ...]:
    """Return options that an author listed.

    Args:
        options: Strings; or a mapping from values to titles; or an enum.

    Raises:
        TypeError: They are none of these.
        ValueError: There is none, or two are sent as the same string.
    """
    found: list[Option[Any]]
    if _is_enum(options):
        found = [_option(member) for member in options]
    elif is_object(options):
        found = [Option(_text(value), _text(title), value) for value, title in options.items()]
    elif _is_listing(options):
        found = [_option(value) for value in options]
    else:
        raise TypeError("options are strings, a mapping from values to titles, or an Enum class")
    return _distinct(found)


def options_of(annotation: Any) -> tuple[Option[Any], ...]:
    """Return the options of an annotation: of an enum, a literal, or a list of these; empty if it has none.

    Raises:
        TypeError: Two options are sent as the same string.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if _is_enum(annotation):
        found = [_option(member) for member in annotation]
    elif origin is Literal:
        found = [_option(value) for value in arguments if value is not None]
    elif origin in _TRANSPARENT:
        return options_of(arguments[0])
    elif origin in {Union, UnionType}:
        parts = [part for part in arguments if part is not NoneType]
        return options_of(parts[0]) if len(parts) == 1 else ()
    elif isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        return options_of(arguments[0])
    else:
        return ()
    try:
        return _distinct(found)
    except ValueError as error:
        raise TypeError(str(error)) from None


def words(options: Iterable[Option[Any]]) -> dict[str, Any]:
    """Return options as a form's schema lists them: with titles only where they say more."""
    options = list(options)
    if all(option.title == option.const for option in options):
        return {"type": "string", "enum": [option.const for option in options]}
    return {"type": "string", "oneOf": [{"const": option.const, "title": option.title} for option in options]}


def _is_enum(value: object) -> TypeGuard[type[enum.Enum]]:
    return isinstance(value, type) and issubclass(value, enum.Enum)


def _is_listing(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _option(value: Any) -> Option[Any]:
    if not isinstance(value, enum.Enum):
        const = _text(value)
        return Option(const, const, value)
    const = str(value.value) if isinstance(value.value, str) else value.name
    title = getattr(value, "title", None)  # of a `str` this is a method
    return Option(const, title if isinstance(title, str) else const, value)


def _text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return _option(value).const
    if isinstance(value, str | int):
        return str(value)
    raise TypeError(f"an option is a string, an integer or a member of an Enum, not a {type(value).__name__}")


def _distinct(options: list[Option[Any]]) -> tuple[Option[Any], ...]:
    if not options:
        raise ValueError("there is no option")
    sent = [option.const for option in options]
    if len(set(sent)) != len(sent):
        twice = next(const for const in sent if sent.count(const) > 1)
        raise ValueError(f"two options are sent as {twice[:40]!r}")
    return tuple(options)
