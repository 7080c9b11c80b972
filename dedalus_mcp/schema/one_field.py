"""Forms of one field: what the short questions ask, and how the answer is read.

Each is made for a revision, though most read alike in all that have forms.

Layer: L1; imports `errors` and the rest of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar, cast

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.forms import SELECTS, RequestedForm, form_of
from dedalus_mcp.schema.options import listed, words

__all__ = ("OneField", "Reads", "choice", "choices", "confirmation", "number", "text")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Reads(Protocol[T_co]):
    """A form, and how accepted content becomes a value: `TypedForm` and `OneField` are such."""

    @property
    def form(self) -> RequestedForm:
        """What is asked."""
        ...

    def build(self, content: Any) -> T_co:
        """Return the value that accepted content makes.

        Raises:
            McpError: -32602; the content does not fit.
        """
        ...


class OneField(Generic[T]):
    """A form whose answer is one value.

    Attributes:
        form: The form.

    Args:
        properties: Its properties.
        required: Those that must be answered.
        read: Makes the value of legal content.

    Raises:
        McpError: -32602, a property is not legal.
    """

    __slots__ = ("_read", "form")

    def __init__(
        self, properties: Mapping[str, Any], required: list[str], read: Callable[[Mapping[str, Any]], T]
    ) -> None:
        self.form = form_of({"type": "object", "properties": dict(properties), "required": required})
        self._read = read

    def build(self, content: Any) -> T:
        """Return the value: see `Reads.build`."""
        return self._read(self.form.accept(content))


def confirmation(revision: str) -> OneField[bool]:
    """Ask for yes or no."""
    return _one("confirm", {"type": "boolean"}, bool)


def text(default: str | None, limits: Mapping[str, Any], revision: str) -> OneField[str]:
    """Ask for a text; `limits` are `minLength`, `maxLength` and `format`, None for none."""
    return _one("text", {"type": "string", "default": default, **limits}, str)


def number(kind: type[T], default: float | None, limits: Mapping[str, Any], revision: str) -> OneField[T]:
    """Ask for an `int` or a `float`; `limits` are `minimum` and `maximum`, None for none."""
    type = "integer" if kind is int else "number"
    return _one("number", {"type": type, "default": default, **limits}, cast("Callable[[Any], T]", kind))


def choice(options: Any, revision: str) -> OneField[Any]:
    """Ask for one of the options: see `options.listed`.

    Raises:
        TypeError, ValueError: See `options.listed`.
    """
    found = listed(options)
    values = {option.const: option.value for option in found}
    return _one("choice", words(found), values.__getitem__)


def choices(options: Any, limits: Mapping[str, int | None], revision: str) -> OneField[list[Any]]:
    """Ask for any number of the options, in the way that the revision has.

    Before 2025-11-25 there is no multiple choice: then each option is a yes or no of its own.

    Raises:
        TypeError, ValueError: See `options.listed`.
    """
    found = listed(options)
    values = {option.const: option.value for option in found}
    if revision >= SELECTS:
        listing = words(found)
        items = {"anyOf": listing["oneOf"]} if "oneOf" in listing else listing
        return _one("choices", {"type": "array", "items": items, **limits}, lambda sent: [values[one] for one in sent])
    properties = {option.const: {"type": "boolean", "title": option.title, "default": False} for option in found}
    lower, upper = limits.get("minItems") or 0, limits.get("maxItems")

    def read(content: Mapping[str, Any]) -> list[Any]:
        chosen = [value for const, value in values.items() if content[const]]
        if len(chosen) < lower or (upper is not None and len(chosen) > upper):
            at_most = "" if upper is None else f" and at most {upper}"
            raise McpError(INVALID_PARAMS, f"choices: expected at least {lower}{at_most}, got {len(chosen)}")
        return chosen

    return OneField(properties, [], read)


def _one(name: str, schema: Mapping[str, Any], read: Callable[[Any], T]) -> OneField[T]:
    """Ask for one value that must be given."""
    known = {keyword: value for keyword, value in schema.items() if value is not None}
    return OneField({name: known}, [name], lambda content: read(content[name]))
