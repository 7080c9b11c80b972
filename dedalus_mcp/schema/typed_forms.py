"""Forms from a type: a class of plain fields, and content that becomes an instance of it.

Layer: L1; imports `errors` and the rest of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.annotations import fit
from dedalus_mcp.schema.faults import resolve
from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.formats import FORMATS
from dedalus_mcp.schema.forms import SELECTS, accept, check
from dedalus_mcp.schema.publish import publish
from dedalus_mcp.schema.reasons import reasons

__all__ = ("TypedForm",)


class TypedForm:
    """The form that asks for an instance of a class.

    The class is a dataclass, TypedDict, Struct, attrs class or pydantic model.  Its fields are
    strings, numbers, integers, booleans, dates, enums or literals of strings, or lists of these
    two; an optional field takes its default when it is not answered.

    Attributes:
        schema: The requested schema, legal from revision 2025-11-25 on; `forms.reduce` has it
            for an older one.
    """

    def __init__(self, annotation: Any) -> None:
        """Build the schema.

        Raises:
            TypeError: The class has a field that no form can ask for; the text names it.
        """
        name = getattr(annotation, "__name__", annotation)
        try:
            self._kind = fit(annotation)
            published = publish(self._kind)
            definitions = published.get("$defs", {})
            properties = published.get("properties", {})
            self.schema: dict[str, Any] = {
                "type": "object",
                "properties": {field: _property(schema, definitions) for field, schema in properties.items()},
                "required": published.get("required", []),
            }
            check(self.schema, SELECTS)
        except (NameError, TypeError, McpError) as error:
            raise TypeError(f"{name} makes no form: {error}") from error

    def build(self, content: Any) -> Any:
        """Return the instance that accepted content makes.

        Raises:
            McpError: -32602; the content does not fit, by the schema or by the class itself.
        """
        accepted = accept(content, self.schema)
        try:
            return msgspec.convert(accepted, self._kind, dec_hook=decode)
        except msgspec.ValidationError as error:
            found = reasons(error, "content") or ["content: does not fit"]
            raise McpError(INVALID_PARAMS, "; ".join(found)) from None


def _property(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published property in the words of a form, as far as there are any."""
    known = resolve(schema, definitions)
    branches: list[dict[str, Any]] = [branch for branch in known.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) == 1:
        known = {**branches[0], **{key: value for key, value in known.items() if key != "anyOf"}}
    if "enum" in known:
        known = {"type": "string", **known, "enum": [value for value in known["enum"] if value is not None]}
    items = cast("dict[str, Any]", known.get("items", {}))
    if "enum" in items:
        known = {**known, "items": {"type": "string", **items}}
    unknown = {key for key, value in known.items() if (key, value) == ("default", None)}
    unknown |= {"format"} if known.get("format") not in FORMATS else set()
    return {key: value for key, value in known.items() if key not in unknown}
