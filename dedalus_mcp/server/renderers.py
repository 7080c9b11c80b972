"""How a prompt's function is called: with the mapping of arguments, or with parameters of its own.

    def code_review(arguments: dict[str, str] | None)     the mapping, as it came
    def review(language: str, depth: int = 1)             each by name, read from its string

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from dedalus_mcp.errors import INVALID_PARAMS, InvalidArguments, McpError
from dedalus_mcp.schema.arguments import Arguments
from dedalus_mcp.schema.signature import Parameter, parameters
from dedalus_mcp.server.injection import context_for, is_context
from dedalus_mcp.types import PromptArgument

__all__ = ("Renderer",)


class Renderer:
    """The function of one prompt.

    Args:
        fn: The function.
        declared: The arguments that the author lists; None to take them from the parameters.

    Attributes:
        published: The arguments as clients see them; None if there are none to list.

    Raises:
        TypeError: The function takes neither the mapping nor parameters that strings can fill.
    """

    def __init__(self, fn: Callable[..., Any], declared: Sequence[PromptArgument] | None) -> None:
        self._fn = fn
        own = [one for one in parameters(fn) if not is_context(one.annotation)]
        names = {argument.name for argument in declared or ()}
        self._arguments: Arguments | None = None
        self.published = list(declared) if declared else None
        if not _takes_mapping(own, names):
            self._arguments = Arguments.of(fn, injected=is_context)
            self.published = self.published or _published(self._arguments)

    def call(self, given: dict[str, Any]) -> Any:
        """Call the function.

        Raises:
            McpError: -32602, an argument does not fit; the message names it.
        """
        if self._arguments is None:
            return self._fn(given)
        try:
            values = self._arguments.decode(given)
        except InvalidArguments as error:
            raise McpError(INVALID_PARAMS, f"Invalid arguments: {error}") from None
        for name, annotation in self._arguments.injected.items():
            values[name] = context_for(annotation)
        return self._arguments.call(values)


def _takes_mapping(own: list[Parameter], declared: set[str]) -> bool:
    if len(own) != 1:
        return False
    (one,) = own
    return (
        one.name == "arguments" or _is_mapping(one.annotation) or (one.annotation is Any and one.name not in declared)
    )


def _is_mapping(annotation: Any) -> bool:
    if get_origin(annotation) in {Union, UnionType}:
        return any(_is_mapping(part) for part in get_args(annotation))
    kind = get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _published(arguments: Arguments) -> list[PromptArgument] | None:
    required = set(arguments.schema["required"])
    listed = [
        PromptArgument(name=name, description=schema.get("description"), required=name in required)
        for name, schema in arguments.schema["properties"].items()
    ]
    return listed or None
