"""A field of a form: what a person is asked for, readable for whoever shows the form.

Layer: L1; imports `faults`, `formats` and `shapes` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from dedalus_mcp.schema.faults import fits, legal, worst
from dedalus_mcp.schema.formats import FORMATS
from dedalus_mcp.schema.shapes import is_array

__all__ = ("LIMITS", "Choice", "Field", "Kind")

Kind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]

MANY = 1000
"""Choices of one answer that are looked at one by one."""

LIMITS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
}
"""The types of a property, with the keywords that bound its value."""

_YES = {"yes", "y", "true", "t", "on", "1"}
_NO = {"no", "n", "false", "f", "off", "0"}


class Choice(msgspec.Struct, frozen=True):
    """One option: the `value` that is sent, and the `title` that is shown."""

    value: str
    title: str


class Field(msgspec.Struct, frozen=True, dict=True):
    """One property of a requested schema that `forms.check` has passed.

    Attributes:
        name: The property, and the key in the content.
        kind: What to show: "choice" is one of `choices`, "choices" any number of them.
        title: What to show instead of the name; the name where there is none.
        description: None where there is none.
        required: It must be answered.
        default: What it is if it is not answered; UNSET where there is none.
        choices: The options, in order; empty unless the kind is "choice" or "choices".
        minimum: The least value of a number, length of a text or count of choices, or None.
        maximum: The greatest, likewise.
        format: "email", "uri", "date" or "date-time" for a text, or None.
    """

    name: str
    kind: Kind
    title: str
    description: str | None
    required: bool
    default: Any
    choices: tuple[Choice, ...]
    minimum: float | None
    maximum: float | None
    format: str | None

    @classmethod
    def of(cls, name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
        """Read a property whose shape has been checked."""
        choices = _choices(schema)
        lower, upper = LIMITS[schema["type"]] or ("", "")
        return cls(
            name=name,
            kind=_kind(schema["type"], choices),
            title=schema.get("title", name),
            description=schema.get("description"),
            required=required,
            default=schema.get("default", UNSET),
            choices=choices,
            minimum=schema.get(lower),
            maximum=schema.get(upper),
            format=schema.get("format") if schema["type"] == "string" and not choices else None,
        )

    @cached_property
    def rule(self) -> dict[str, Any]:
        """The JSON Schema of the value: what the protocol knows of it, and nothing else."""
        values = [choice.value for choice in self.choices]
        if self.kind == "choice":
            return {"type": "string", "enum": values}
        type = {"text": "string", "choices": "array"}.get(self.kind, self.kind)
        lower, upper = LIMITS[type] or ("", "")
        rule = {"type": type, lower: self.minimum, upper: self.maximum, "format": self.format}
        known = {keyword: value for keyword, value in rule.items() if value is not None}
        return {**known, "items": {"enum": values}} if self.kind == "choices" else known

    @cached_property
    def _checked(self) -> dict[str, Any]:
        return {keyword: limit for keyword, limit in self.rule.items() if keyword != "format"}

    @cached_property
    def legal(self) -> str:
        """In words, what a value must be: "an integer, >= 1"."""
        return legal(self.rule, {})

    @cached_property
    def _any(self) -> type | None:
        """The type all of whose values are without fault, if there is one."""
        kind = {"boolean": bool, "text": str, "integer": int}.get(self.kind)
        return kind if len(self.rule) == 1 else None

    def faults(self, value: Any) -> list[str]:
        """Return what is wrong with a value: sentences that start with the field's name."""
        if type(value) is self._any:
            return []
        if self._are_many(value):
            return self._many_faults(value)
        found = worst(value, self._checked, {}, self.name)
        if not found and self.format is not None and not FORMATS[self.format](value):
            found.append(f"{self.name}: expected {self.legal}")
        return found

    def _are_many(self, value: Any) -> bool:
        return self.kind == "choices" and is_array(value) and len(value) > MANY

    def _many_faults(self, value: Sequence[Any]) -> list[str]:
        """What is wrong with a great many choices: to hold each of them against each option would take hours."""
        legal = {choice.value for choice in self.choices}
        counts = {keyword: limit for keyword, limit in self._checked.items() if keyword != "items"}
        known = all(isinstance(each, str) and each in legal for each in value)
        return [] if known and fits(value, counts, {}) else [f"{self.name}: expected {self.legal}"]

    def take(self, value: Any) -> Any:
        """Return a value without fault as handlers get it: 3.0 for an integer is 3."""
        if self.kind == "integer":
            return int(value)
        return list(value) if self.kind == "choices" else value

    def parse(self, text: str) -> Any:
        """Return the value that a person means who typed this text.

        A choice is typed as its value, its title or its number from 1 on; several are
        separated by commas.  Nothing at all means the default where there is one.

        Raises:
            ValueError: The text is no legal value; says what is.
        """
        typed = text.strip()
        if not typed and self.default is not UNSET:
            return self.take(self.default)
        verbatim = self.kind == "text" and self.format is None
        value = text if verbatim else typed if self.kind == "text" else self._read(typed)
        if value is UNSET or self.faults(value):
            raise ValueError(f"{self.title}: expected {self.legal}")
        return self.take(value)

    def _read(self, typed: str) -> Any:
        """Return the value of a text, or UNSET; it may still be out of bounds."""
        if self.kind == "boolean":
            word = typed.lower()
            return True if word in _YES else False if word in _NO else UNSET
        if self.kind == "choice":
            return self._option(typed)
        if self.kind == "choices":
            whole = self._option(typed)  # its title may have a comma
            parts = [part for part in typed.split(",") if part.strip()]
            options = [self._option(part.strip()) for part in parts] if whole is UNSET else [whole]
            return UNSET if UNSET in options else list(dict.fromkeys(options))
        return _number(typed)

    def _option(self, typed: str) -> Any:
        """Return the value of one option, or UNSET; a value goes before a title, a title before a number."""
        values = [(choice.value, choice.value) for choice in self.choices]
        titles = [(choice.title, choice.value) for choice in self.choices]
        for named in (values, titles):
            for same in (str, str.strip, _folded):
                for text, value in named:
                    if same(text) == same(typed):
                        return value
        if typed.isdecimal() and 0 < int(typed) <= len(self.choices):
            return self.choices[int(typed) - 1].value
        return UNSET


def _folded(text: str) -> str:
    return text.strip().casefold()


def _number(typed: str) -> Any:
    for read in (int, float):
        try:
            return read(typed)
        except ValueError:
            continue
    return UNSET


def _kind(type: str, choices: tuple[Choice, ...]) -> Kind:
    if type == "string":
        return "choice" if choices else "text"
    kinds: dict[str, Kind] = {"number": "number", "integer": "integer", "boolean": "boolean", "array": "choices"}
    return kinds[type]


def _choices(schema: Mapping[str, Any]) -> tuple[Choice, ...]:
    if schema["type"] not in {"string", "array"}:
        return ()
    source = schema["items"] if schema["type"] == "array" else schema
    options = source.get("oneOf") or source.get("anyOf" if schema["type"] == "array" else "oneOf")
    if options:
        return tuple(Choice(option["const"], option["title"]) for option in options)
    values = source.get("enum", ())
    return tuple(map(Choice, values, source.get("enumNames", values)))
