"""Arguments and results by a schema that the author gave, in place of one from the signature.

    JSON ──schema──▶ checked ──signature──▶ keyword arguments

`GivenArguments` and `GivenReturns` have the faces of `Arguments` and `Returns`.

Layer: L1; imports the rest of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import InvalidArguments
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.schema.arguments import Arguments, Injected
from dedalus_mcp.schema.json_schema import JsonSchema
from dedalus_mcp.schema.plain import plain
from dedalus_mcp.schema.returns import BOX
from dedalus_mcp.schema.signature import label, parameters

__all__ = ("GivenArguments", "GivenReturns")


class GivenArguments:
    """What clients may pass to one callable, by a schema of its author's.

    A function of one parameter that is no property of the schema takes the whole object; any other
    takes the properties by name.  Each is decoded by its annotation: without one it is handed
    over as it came.

    Args:
        fn: The function.
        schema: The schema, of an object.
        injected: Tells which parameters are not the client's.

    Attributes:
        schema: As given.
        injected: The parameters that are not the client's, with their annotations.

    Raises:
        ImportError: See `JsonSchema`.
        TypeError: The signature cannot be published, or has no parameter for a property.
        ValueError: See `JsonSchema`; or the schema is not one of an object.
    """

    def __init__(self, fn: Callable[..., Any], schema: Mapping[str, Any], *, injected: Injected) -> None:
        self._schema = JsonSchema(schema, "input_schema")
        self.schema = self._schema.published
        if self.schema.get("type") != "object":  # TOOL-06
            raise ValueError("input_schema must have the type 'object' at its root")
        own = [one.name for one in parameters(fn) if not injected(one.annotation, one.default)]
        properties = self.schema.get("properties", {})
        self._whole = own[0] if len(own) == 1 and own[0] not in properties else None
        if self._whole is None and (alone := [name for name in properties if name not in own]):
            raise TypeError(f"{label(fn)}(): input_schema has {', '.join(alone)}, which are no parameters")
        self._signature = Arguments.of(fn, injected=injected, strict=True)
        self.injected = self._signature.injected

    def decode(self, raw: bytes | msgspec.Raw | Mapping[str, Any] | msgspec.UnsetType | None) -> dict[str, Any]:
        """Return the keyword arguments for the callable, as `Arguments.decode` does.

        Raises:
            InvalidArguments: With the problems by the schema, or by the annotations.
        """
        value = _json(raw)
        problems = self._schema.problems(value, "arguments")
        if problems:
            raise InvalidArguments(*problems)
        return self._signature.decode(value if self._whole is None else {self._whole: value})

    def call(self, values: dict[str, Any]) -> Any:
        """Call the function with values by name, from `decode` and for `injected`."""
        return self._signature.call(values)


class GivenReturns:
    """What one callable returns, by a schema of its author's.  Nothing is boxed.

    Args:
        schema: The schema.

    Attributes:
        schema: As given.
        boxed: Never.

    Raises:
        ImportError, ValueError: See `JsonSchema`.
    """

    boxed = False

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = JsonSchema(schema, "output_schema")
        self.schema = self._schema.published

    def structure(self, value: Any) -> Any:
        """Return structured content: the value as JSON has it.

        Raises:
            ValueError: It has no JSON form, or does not fit the schema; the text says where.
        """
        content = plain(value, BOX)
        self.check(content)
        return content

    def check(self, content: Any) -> None:
        """Return if this is structured content that fits (TOOL-09).

        Raises:
            ValueError: It is not; the text says where.
        """
        problems = [f"{BOX}: none, though output_schema promises one"] if content is UNSET else []
        problems = problems or self._schema.problems(content, BOX)
        if problems:
            raise ValueError("; ".join(problems))


def _json(raw: bytes | msgspec.Raw | Mapping[str, Any] | msgspec.UnsetType | None) -> Any:
    """Return the arguments as JSON has them; nothing and null mean ``{}``.

    Raises:
        InvalidArguments: They are no JSON.
    """
    try:
        value = plain(raw, "arguments") if isinstance(raw, Mapping) else msgspec.json.decode(raw or b"{}")
    except ValueError as error:  # msgspec's errors are of it
        raise InvalidArguments(excerpt(error)) from None
    except RecursionError:
        raise InvalidArguments("arguments: nested too deeply") from None
    return {} if value is None else value
