"""Forms from a type: a class of plain fields, and content that becomes an instance of it.

Layer: L1; imports `errors` and the rest of this package.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any, Generic, NotRequired, Required, TypeVar, cast, get_args, get_origin

import msgspec

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.annotations import fit
from dedalus_mcp.schema.faults import resolve
from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.formats import FORMATS, SECRET
from dedalus_mcp.schema.forms import MAX_KEPT, RequestedForm
from dedalus_mcp.schema.local_types import settle_here
from dedalus_mcp.schema.options import Option, options_of, words
from dedalus_mcp.schema.publish import publish
from dedalus_mcp.schema.reasons import bound, reasons
from dedalus_mcp.schema.shapes import is_array

__all__ = ("TypedForm", "form", "typed_form")

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])

_NULL = {"type": "null"}
_LEGAL = "a field is a str, int, float, bool, date, Literal or Enum, or a list of the last two, or optional"


class TypedForm(Generic[T]):
    """The form that asks for an instance of a class.

    The class is a dataclass, TypedDict, Struct, attrs class or pydantic model.  Its fields are
    strings, numbers, integers, booleans, dates, enums or literals, or lists of these two; an
    optional field takes its default, or None, when it is not answered.

    Attributes:
        schema: The requested schema, legal from revision 2025-11-25 on.
        form: The form of that schema.
    """

    def __init__(self, annotation: Any) -> None:
        """Build the schema.

        Raises:
            TypeError: The class has a field that no form can ask for; the text names it.
        """
        name = getattr(annotation, "__name__", annotation)
        settle_here(annotation)
        try:
            self._kind = fit(annotation)
            published = publish(self._kind)
            properties = _properties(published, _hints(annotation))
            self._options = {field: found for field, (_, found) in properties.items() if found}
            required = published.get("required", [])
            self._nulls = [field for field in required if _nullable(published["properties"][field])]
            self.schema: dict[str, Any] = {
                "type": "object",
                "properties": {field: schema for field, (schema, _) in properties.items()},
                "required": [field for field in required if field not in self._nulls],
            }
            self.form = RequestedForm(self.schema)
        except (NameError, TypeError, McpError) as error:
            known = f"; {_LEGAL}" if "Unsupported schema type" in str(error) else ""
            raise TypeError(f"{name} makes no form: {error}{known}{_hint(annotation)}") from error

    def build(self, content: Any) -> T:
        """Return the instance that accepted content makes.

        Raises:
            McpError: -32602; the content does not fit, by the schema or by the class itself.
        """
        accepted = self.form.accept(content)
        for field, options in self._options.items():
            if field in accepted:
                accepted[field] = _values(accepted[field], options)
        try:
            return cast("T", msgspec.convert({**dict.fromkeys(self._nulls), **accepted}, self._kind, dec_hook=decode))
        except msgspec.ValidationError as error:
            found = reasons(error, "content") or [bound(error, "content")]
            raise McpError(INVALID_PARAMS, "; ".join(found)) from None


def _hint(annotation: Any) -> str:
    """Return what to do about a class that is marked as a form, and as nothing whose fields could be read."""
    bare = type(annotation) is type and "__annotations__" in vars(annotation)
    read = hasattr(annotation, "__attrs_attrs__") or is_dataclass(annotation)
    return "; decorate it with @dataclass, below @form" if bare and not read else ""


def typed_form(annotation: Any) -> TypedForm[Any]:
    """Return the form of a class, made once.

    Raises:
        TypeError: As `TypedForm`.
    """
    try:
        hash(annotation)
    except TypeError:
        return TypedForm(annotation)
    return _kept(annotation)


def form(cls: C) -> C:
    """Mark a class as a form, so that one that nobody could be asked for is refused where it is written.

    The class stays as it is, and classes without the mark make forms too: those are looked at
    when they are first asked for.

    Raises:
        TypeError: The class has a field that no form can ask for; the text names it.
    """
    typed_form(cls)
    return cls


@lru_cache(MAX_KEPT)
def _kept(annotation: Any) -> TypedForm[Any]:
    return TypedForm(annotation)


def _hints(kind: Any) -> dict[str, Any]:
    """Return the annotations of a class by the names that are published, as far as they can be told."""
    if hasattr(kind, "model_fields"):  # pydantic's, and so are the bounds that its schema has already
        return {_alias(name, field): field.annotation for name, field in kind.model_fields.items()}
    hints = typing.get_type_hints(get_origin(kind) or kind, include_extras=True)
    renamed = {field.name: field.encode_name for field in _struct_fields(kind)}
    return {renamed.get(name, name): _bare(hint) for name, hint in hints.items()}


def _struct_fields(kind: Any) -> tuple[Any, ...]:
    return msgspec.structs.fields(kind) if hasattr(kind, "__struct_fields__") else ()


def _alias(name: str, field: Any) -> str:
    alias = field.validation_alias if isinstance(field.validation_alias, str) else field.alias
    return alias or name


def _bare(hint: Any) -> Any:
    return _bare(get_args(hint)[0]) if get_origin(hint) in {Required, NotRequired} else hint


def _properties(
    published: Mapping[str, Any], hints: Mapping[str, Any]
) -> dict[str, tuple[dict[str, Any], tuple[Option[Any], ...]]]:
    """Return each property in the words of a form, and its options."""
    definitions = published.get("$defs", {})
    found: dict[str, tuple[dict[str, Any], tuple[Option[Any], ...]]] = {}
    for name, schema in published.get("properties", {}).items():
        hint = hints.get(name, str)
        options = options_of(hint)
        bounds = publish(fit(hint)) if get_origin(hint) is typing.Annotated else {}
        found[name] = _property({**resolve(schema, definitions), **bounds}, options), options
    return found


def _nullable(schema: Mapping[str, Any]) -> bool:
    return _NULL in schema.get("anyOf", ()) or None in schema.get("enum", ())


def _property(known: dict[str, Any], options: tuple[Option[Any], ...]) -> dict[str, Any]:
    """Return a published property in the words of a form, as far as there are any."""
    branches: list[dict[str, Any]] = [branch for branch in known.get("anyOf", ()) if branch != _NULL]
    if len(branches) == 1:
        known = {**branches[0], **{key: value for key, value in known.items() if key != "anyOf"}}
    if options:
        known = _with_options(known, options)
    return {key: value for key, value in _bounded(known).items() if not _unknown(key, value)}


def _with_options(known: Mapping[str, Any], options: tuple[Option[Any], ...]) -> dict[str, Any]:
    sent = {option.value: option.const for option in options}
    sent |= {value.value: const for value, const in sent.items() if hasattr(value, "value")}
    kept = {key: value for key, value in known.items() if key not in {"enum", "type"}}
    default = kept.get("default")
    if known.get("type") != "array":
        return {**kept, **words(options), **({} if default is None else {"default": sent[default]})}
    listed = words(options)
    items = {"anyOf": listed["oneOf"]} if "oneOf" in listed else listed
    several = {} if default is None else {"default": [sent[value] for value in default]}
    return {**kept, "type": "array", "items": items, **several}


def _bounded(known: dict[str, Any]) -> dict[str, Any]:
    """Return the property with bounds that are values themselves: forms know no others."""
    bounds: dict[str, Any] = {}
    whole = known.get("type") == "integer"
    if (above := known.get("exclusiveMinimum")) is not None:
        bounds["minimum"] = max(math.floor(above) + 1 if whole else above, known.get("minimum", -math.inf))
    if (below := known.get("exclusiveMaximum")) is not None:
        bounds["maximum"] = min(math.ceil(below) - 1 if whole else below, known.get("maximum", math.inf))
    return {**known, **bounds}


def _unknown(key: str, value: Any) -> bool:
    return (key, value) == ("default", None) or (key == "format" and value not in FORMATS and value != SECRET)


def _values(sent: Any, options: tuple[Option[Any], ...]) -> Any:
    """Return what the class takes for one constant, or for a list of them."""
    table = {option.const: getattr(option.value, "value", option.value) for option in options}
    return [table[const] for const in sent] if is_array(sent) else table[sent]
