"""The prompts of a server: registered, listed, rendered.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.arguments import summary
from dedalus_mcp.server import changes
from dedalus_mcp.server.catalogue import Catalogue
from dedalus_mcp.server.changes import SubscriptionBus
from dedalus_mcp.server.renderers import Renderer
from dedalus_mcp.server.rendering import render
from dedalus_mcp.server.specs import PromptSpec
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import Completion, CompletionArgument, CompletionContext, GetPromptResult, Prompt

__all__ = ("LentPrompt", "Prompts", "strings_only")

logger = logging.getLogger("dedalus_mcp")


class LentPrompt(Protocol):
    """A prompt of another server, under a name of ours."""

    @property
    def definition(self) -> Prompt:
        """The prompt as clients see it here."""
        ...

    async def get(self, arguments: Mapping[str, Any] | None) -> GetPromptResult:
        """Render it: see `Prompts.get`."""
        ...

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        """Suggest values for one of its arguments: see `Completions.complete`."""
        ...


class _Registered:
    """One prompt, ready to be rendered."""

    __slots__ = ("definition", "renderer", "required")

    def __init__(self, fn: Callable[..., Any], spec: PromptSpec) -> None:
        self.renderer = Renderer(fn, spec.arguments)
        published = self.renderer.published
        self.required = frozenset(argument.name for argument in published or () if argument.required)
        self.definition = Prompt(
            name=_name_of(fn, spec),
            title=spec.title,
            description=spec.description if spec.description is not None else summary(fn) or None,
            arguments=published,
            icons=spec.icons,
            meta=spec.meta,
        )


class Prompts:
    """The prompts of a server.

    Args:
        owner: The name of the server.
        threads: Where plain `def` dependencies run.
        bus: Hears of every change of the list.

    Attributes:
        catalogue: All of them, by name.
    """

    def __init__(self, owner: str, threads: Threads, bus: SubscriptionBus) -> None:
        self.catalogue: Catalogue[_Registered, LentPrompt] = Catalogue("prompt", "name", owner)
        self._threads = threads
        self._bus = bus
        self._by_name = self.catalogue.own

    def __len__(self) -> int:
        return len(self.catalogue)

    @property
    def definitions(self) -> list[Prompt]:
        """The prompts as clients see them, in the order of registration."""
        return list(self.catalogue.listed.items)

    @property
    def names(self) -> list[str]:
        """Their names, sorted."""
        return sorted(self.catalogue)

    def definition(self, name: str) -> Prompt | None:
        """Return a prompt as clients see it; None if there is none of that name."""
        prompt = self.catalogue.get(name)
        return None if prompt is None else prompt.definition

    def add(self, fn: Callable[..., Any], spec: PromptSpec) -> None:
        """Register a prompt; one of the same name is replaced.

        Raises:
            TypeError: The renderer takes what strings cannot fill, or has no name.
            ValueError: The prompt of an included server has that name, here or in a server that includes this one.
        """
        prompt = _Registered(fn, spec)
        if self.catalogue.add(prompt.definition.name, prompt):
            logger.warning("prompt %r is registered twice: the last one counts", prompt.definition.name)
        self._bus.publish(changes.PROMPTS)

    def remove(self, name: str) -> None:
        """Remove a prompt.

        Raises:
            KeyError: The server has none of that name itself.
        """
        self.catalogue.remove(name)
        self._bus.publish(changes.PROMPTS)

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
            if (lent := self.catalogue.lent.get(name)) is not None:
                return await lent.get(arguments)
            raise McpError(INVALID_PARAMS, f"Prompt {name!r:.160} is not registered")
        given = dict(arguments or {})
        missing = prompt.required - given.keys()
        if missing:
            raise McpError(INVALID_PARAMS, f"Missing required arguments: {', '.join(sorted(missing))}")
        returned = await prompt.renderer.run(given, self._threads)
        return render(returned, prompt.definition.description)


def _name_of(fn: Any, spec: PromptSpec) -> str:
    name = spec.name if spec.name is not None else getattr(fn, "__name__", None)
    if not name or name == "<lambda>":
        raise TypeError(f"{fn!r} has no name: give it one, as in @prompt('name')")
    return str(name)


def strings_only(arguments: Mapping[str, Any] | None) -> None:
    """Refuse arguments from the wire that are no strings (PROMPT-03).

    Raises:
        McpError: -32602, naming each.
    """
    wrong = [name for name, value in (arguments or {}).items() if not isinstance(value, str)]
    if wrong:
        names = ", ".join(repr(name)[:80] for name in wrong)
        raise McpError(INVALID_PARAMS, f"Prompt arguments are strings; not so: {names}")
