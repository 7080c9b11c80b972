"""How a prompt's function is called: with the mapping of arguments, or with parameters of its own.

    def code_review(arguments: dict[str, str] | None)     the mapping, as it came
    def review(language: str, depth: int = 1)             each by name, read from its string

Layer: L4.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from dedalus_mcp.errors import INVALID_PARAMS, InvalidArguments, McpError
from dedalus_mcp.schema.arguments import Arguments
from dedalus_mcp.schema.signature import Parameter, parameters
from dedalus_mcp.server.injection import Injection, is_injected
from dedalus_mcp.server.rendering import comes_later
from dedalus_mcp.threads import Threads
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
        everyone = parameters(fn)
        own = [one for one in everyone if not is_injected(one.annotation, one.default)]
        self._injection = Injection(fn) if len(own) < len(everyone) else None
        names = {argument.name for argument in declared or ()}
        self._arguments: Arguments | None = None
        self._mapping = own[0].name if own else ""
        self._positional = [one.name for one in everyone if one.positional]
        self.published = list(declared) if declared else None
        if not _takes_mapping(own, names):
            self._arguments = Arguments.of(fn, injected=is_injected)
            self.published = self.published or _published(self._arguments)

    async def run(self, given: dict[str, Any], threads: Threads) -> Any:
        """Call the function and return what it returns.

        Args:
            given: The arguments, strings by name.
            threads: Where plain `def` dependencies run; the function itself runs in the event loop.

        Raises:
            McpError: -32602, an argument does not fit; the message names it.
            LookupError: It takes a context, and there is none.
            Exception: What the function raised, or what it depends on.
        """
        values = {self._mapping: given} if self._arguments is None else _decoded(self._arguments, given)
        if self._injection is None:
            return await self._called(values)
        return await self._injection.call(self._called, values, threads)

    async def _called(self, values: dict[str, Any]) -> Any:
        if self._arguments is not None:
            value = self._arguments.call(values)
        else:
            value = self._fn(*[values.pop(name) for name in self._positional], **values)
        if inspect.isawaitable(value):
            value = await value
        if comes_later(value):  # read here, while what it depends on is there
            return [message async for message in value]
        return list(value) if inspect.isgenerator(value) else value


def _decoded(arguments: Arguments, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return arguments.decode(given)
    except InvalidArguments as error:
        # They are all strings: that one is, is not what is wrong with it.
        problems = "; ".join(each.removesuffix(", got a string") for each in error.problems)
        raise McpError(INVALID_PARAMS, f"Invalid arguments: {problems}") from None


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
