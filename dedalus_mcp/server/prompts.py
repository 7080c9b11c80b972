"""The prompts of a server: registered, listed, rendered.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.arguments import summary
from dedalus_mcp.server.rendering import render
from dedalus_mcp.server.specs import PromptSpec
from dedalus_mcp.types import GetPromptResult, Prompt

__all__ = ("Prompts", "strings_only")

logger = logging.getLogger("dedalus_mcp")


class _Registered:
    """One prompt, ready to be rendered."""

    __slots__ = ("definition", "fn", "required")

    def __init__(self, fn: Callable[..., Any], spec: PromptSpec) -> None:
        _check_renderer(fn, spec.name)
        self.fn = fn
        self.required = frozenset(argument.name for argument in spec.arguments or () if argument.required)
        self.definition = Prompt(
            name=spec.name,
            title=spec.title,
            description=spec.description if spec.description is not None else summary(fn) or None,
            arguments=spec.arguments,
            icons=spec.icons,
            meta=spec.meta,
        )


class Prompts:
    """The prompts of a server."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Registered] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def definitions(self) -> list[Prompt]:
        """The prompts as clients see them, in the order of registration."""
        return [prompt.definition for prompt in self._by_name.values()]

    @property
    def names(self) -> list[str]:
        """Their names, sorted."""
        return sorted(self._by_name)

    def add(self, fn: Callable[..., Any], spec: PromptSpec) -> None:
        """Register a prompt; one of the same name is replaced.

        Raises:
            TypeError: The renderer does not take one argument, the mapping.
        """
        if spec.name in self._by_name:
            logger.warning("prompt %r is registered twice: the last one counts", spec.name)
        self._by_name[spec.name] = _Registered(fn, spec)

    async def get(self, name: str, arguments: Mapping[str, Any] | None) -> GetPromptResult:
        """Render a prompt.

        Args:
            name: Which one.
            arguments: Strings by name; None is the same as none at all.

        Raises:
            McpError: -32602, there is no such prompt, or a required argument is missing.
            TypeError: The renderer returned what no messages can be made of.
        """
        prompt = self._by_name.get(name)
        if prompt is None:
            raise McpError(INVALID_PARAMS, f"Prompt {name!r:.160} is not registered")
        given = dict(arguments or {})
        missing = prompt.required - given.keys()
        if missing:
            raise McpError(INVALID_PARAMS, f"Missing required arguments: {', '.join(sorted(missing))}")
        returned = prompt.fn(given)
        if inspect.isawaitable(returned):
            returned = await returned
        return render(returned, prompt.definition.description)


def _check_renderer(fn: Callable[..., Any], name: str) -> None:
    try:
        inspect.signature(fn).bind({})
    except TypeError:
        raise TypeError(f"the renderer of prompt {name!r} must take one argument, the mapping of arguments") from None
    except ValueError:  # no signature to look at
        return


def strings_only(arguments: Mapping[str, Any] | None) -> None:
    """Refuse arguments from the wire that are no strings (PROMPT-03).

    Raises:
        McpError: -32602, naming each.
    """
    wrong = [name for name, value in (arguments or {}).items() if not isinstance(value, str)]
    if wrong:
        names = ", ".join(repr(name)[:80] for name in wrong)
        raise McpError(INVALID_PARAMS, f"Prompt arguments are strings; not so: {names}")
