"""What a handler returns: the output schema, and structured content that fits it.

An object is published as it is.  Anything else is boxed, since structured content is always
an object: ``{"result": ...}``.

Layer: L1; imports the rest of this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import UNSET

from dedalus_mcp.schema.annotations import fit
from dedalus_mcp.schema.faults import worst
from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.plain import plain
from dedalus_mcp.schema.publish import publish
from dedalus_mcp.schema.shapes import is_object
from dedalus_mcp.schema.signature import returned

__all__ = ("BOX", "Returns")

BOX = "result"
"""The one member of a boxed result."""


class Returns:
    """What one callable returns.

    Attributes:
        schema: The JSON Schema of its structured content, an object; None if there is none
            to promise.
        boxed: Whether that object is a box round the value.  Without a schema, a value is
            boxed unless it is an object.
    """

    def __init__(self, annotation: Any) -> None:
        self.schema: dict[str, Any] | None = None
        self.boxed = False
        self._itself: Any = None  # the type whose values are structured as they stand
        self._struct: type[msgspec.Struct] = msgspec.Struct
        if annotation is not UNSET:
            self._publish(annotation)

    @classmethod
    def of(cls, fn: Callable[..., Any], *, opaque: Callable[[Any], bool]) -> Returns:
        """Read the return annotation of any callable.

        There is no schema without an annotation, for `None` and `Any`, for types that have no
        JSON form, for names that are not there at run time, and for what is `opaque`.

        Args:
            fn: A function, method, partial or callable object, sync or async.
            opaque: Tells whether a type is the protocol's own result or content; it is asked
                about the annotation and everything that it is made of.
        """
        try:
            annotation = _awaited(returned(fn))
        except TypeError:  # a name for type checkers only: such types are often the protocol's
            return cls(UNSET)
        return cls(UNSET if _nothing(annotation) or _contains(annotation, opaque) else annotation)

    def structure(self, value: Any) -> dict[str, Any]:
        """Return structured content: the value as JSON has it, boxed if need be.

        Raises:
            ValueError: The value has no JSON form, or does not fit the schema; the text says
                where, and what is legal there.
        """
        if type(value) is self._itself:
            return {BOX: value}
        result = plain(value, BOX)
        if self.schema is None:
            return dict(result) if is_object(result) else {BOX: result}
        content = {BOX: result}
        if not self._fits(content):
            inner = self.schema["properties"][BOX] if self.boxed else self.schema
            found = worst(result, inner, self.schema.get("$defs", {}), BOX)
            if found:  # the schema is what was promised: a decoder may ask for more
                raise ValueError("; ".join(found))
        return content if self.boxed else result

    def _fits(self, content: dict[str, Any]) -> bool:
        lenient = False

        def build(kind: Any, value: Any) -> Any:
            nonlocal lenient
            lenient = True  # others take more than their schema says
            return decode(kind, value)

        try:
            msgspec.convert(content, self._struct, dec_hook=build)
        except (msgspec.ValidationError, RecursionError):
            return False
        return not lenient

    def _publish(self, annotation: Any) -> None:
        try:
            decoded = fit(annotation)
            schema = publish(decoded, "serialization")
            # A struct, since msgspec prepares a class once, and any other type at every use.
            struct = msgspec.defstruct("Content", [(BOX, decoded)])
            msgspec.json.Decoder(struct, dec_hook=decode)
        except (NameError, TypeError):
            return
        self._struct = struct
        self._itself = next((kind for kind in (str, int, bool) if annotation is kind), None)
        self.boxed = schema.get("type") != "object"
        if self.boxed:
            definitions = schema.pop("$defs", None)
            schema = {"type": "object", "properties": {BOX: schema}, "required": [BOX]}
            if definitions:
                schema["$defs"] = definitions
        self.schema = schema


def _nothing(annotation: Any) -> bool:
    return any(annotation is nothing for nothing in (None, NoneType, Any, object, UNSET))


def _awaited(annotation: Any) -> Any:
    """Return what a caller has in the end, where a plain function says that it returns a coroutine."""
    annotation = getattr(annotation, "__value__", annotation)  # a `type` statement's
    origin, arguments = get_origin(annotation), get_args(annotation)
    return arguments[-1] if origin in {Awaitable, Coroutine} else annotation


def _contains(annotation: Any, opaque: Callable[[Any], bool]) -> bool:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _contains(parts[0], opaque)
    return opaque(annotation) or (origin is not Literal and any(_contains(part, opaque) for part in parts))
