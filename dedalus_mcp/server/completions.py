"""The completers of a server: registered, asked for suggestions.

    completion(prompt="p", argument="a")   asked first, about that argument
    completion(prompt="p")                 asked about every other one

What a completer may return:

    a str, or an iterable of values        the suggestions; a generator is read no further than needed
    mapping                                {"values": ..., "total": ..., "hasMore": ...}
    CompletionResult, Completion
    None                                   no suggestions

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Sized
from enum import Enum
from itertools import islice
from typing import Any, TypeGuard

import msgspec

from dedalus_mcp.errors import INVALID_PARAMS, McpError, ResourceNotFound
from dedalus_mcp.schema.signature import label, parameters
from dedalus_mcp.server.injection import Injection, is_injected
from dedalus_mcp.server.prompts import LentPrompt, Prompts
from dedalus_mcp.server.rendering import is_mapping
from dedalus_mcp.server.resources import LentTemplate, Resources
from dedalus_mcp.server.specs import CompletionSpec
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CompletionReference,
    PromptReference,
)

__all__ = ("CompletionResult", "Completions", "completion_of")

logger = logging.getLogger("dedalus_mcp")


class CompletionResult(msgspec.Struct, frozen=True):
    """Suggestions, as a completer may return them.

    Attributes:
        values: The suggestions; what is beyond the limit is left out.
        total: How many there are in all; None if that is not known.
        has_more: Whether there are more; None for what is left out here.
    """

    values: Iterable[Any]
    total: int | None = None
    has_more: bool | None = None


class Completions:
    """The completers of a server.

    Args:
        prompts: The prompts that they may be about.
        resources: The resource templates, likewise.
        threads: Where plain `def` dependencies run.
        limit: How many suggestions one answer has, at most.

    Attributes:
        included: Those of the servers that it includes.
        elsewhere: Whether what is lent may be completed where it comes from.
    """

    def __init__(self, prompts: Prompts, resources: Resources, threads: Threads, limit: int) -> None:
        self._threads = threads
        self._prompts = prompts
        self._resources = resources
        self._limit = limit
        self.included: list[Completions] = []
        self.elsewhere = False
        self._completers: dict[tuple[str, str, str | None], _Completer] = {}

    def __len__(self) -> int:
        return len(self._completers)

    @property
    def offered(self) -> bool:
        """Whether anything is completed."""
        return self.elsewhere or bool(self._completers) or any(completions.offered for completions in self.included)

    def add(self, fn: Callable[..., Any], spec: CompletionSpec) -> None:
        """Register a completer; one for the same argument is replaced.

        What it completes may be registered later.

        Raises:
            TypeError: It takes something else than an argument and a context.
        """
        kind, key = ("prompt", spec.prompt) if spec.prompt is not None else ("resource", spec.resource)
        about = (kind, str(key), spec.argument)
        completer = _Completer(fn)
        if about in self._completers:
            logger.warning("the completer of %s %r is registered twice: the last one counts", kind, key)
        self._completers[about] = completer

    async def complete(
        self, ref: CompletionReference, argument: CompletionArgument, context: CompletionContext | None = None
    ) -> Completion:
        """Ask for suggestions; there are none where nobody completes the argument.

        Args:
            ref: The prompt, or the resource template.
            argument: The argument that is being typed.
            context: The arguments that are there already.

        Raises:
            McpError: -32602, there is no such prompt, resource template or argument.
            TypeError: The completer returned what no suggestions can be made of.
            Exception: What the completer raised.
        """
        if (lent := self._lent(ref)) is not None:
            return await lent.complete(argument, context)
        kind, key, names = self._prompt(ref.name) if isinstance(ref, PromptReference) else self._resource(ref.uri)
        if names and argument.name not in names:
            raise McpError(
                INVALID_PARAMS, f"Invalid params: no argument {argument.name!r:.80}; there are {', '.join(names)}"
            )
        completer = self._completers.get((kind, key, argument.name)) or self._completers.get((kind, key, None))
        if completer is None:
            return Completion(values=[])
        chosen = CompletionContext(arguments=(context and context.arguments) or {})
        return completion_of(await completer.run(argument, chosen, self._threads), self._limit)

    def _lent(self, ref: CompletionReference) -> LentPrompt | LentTemplate | None:
        if isinstance(ref, PromptReference):
            return self._prompts.catalogue.lent.get(ref.name)
        return self._resources.templates.lent.get(ref.uri)

    def _prompt(self, name: str) -> tuple[str, str, list[str]]:
        prompt = self._prompts.definition(name)
        if prompt is None:
            raise McpError(INVALID_PARAMS, f"Prompt {name!r:.160} is not registered")
        return "prompt", name, [each.name for each in prompt.arguments or ()]

    def _resource(self, uri: str) -> tuple[str, str, list[str]]:
        try:
            return "resource", uri, list(self._resources.variables(uri))
        except ResourceNotFound as error:  # a bad reference, in every revision (COMP-05)
            raise McpError(INVALID_PARAMS, error.message, error.data) from None


class _Completer:
    """The function behind one completion."""

    __slots__ = ("_fn", "_given", "_injection", "_positional")

    def __init__(self, fn: Callable[..., Any]) -> None:
        everyone = parameters(fn)
        own = [one for one in everyone if not is_injected(one.annotation, one.default)]
        if not 1 <= len(own) <= 2:
            names = ", ".join(one.name for one in own) or "nothing"
            raise TypeError(f"{label(fn)}(): a completer takes the argument and maybe its context, not {names}")
        self._fn = fn
        self._given = [one.name for one in own]
        self._injection = Injection(fn)
        self._positional = [one.name for one in everyone if one.positional]

    async def run(self, argument: CompletionArgument, context: CompletionContext, threads: Threads) -> Any:
        values: dict[str, Any] = dict(zip(self._given, (argument, context), strict=False))
        return await self._injection.call(self._called, values, threads)

    async def _called(self, values: dict[str, Any]) -> Any:
        returned = self._fn(*[values.pop(name) for name in self._positional], **values)
        return await returned if inspect.isawaitable(returned) else returned


def completion_of(returned: Any, limit: int) -> Completion:
    """Make the suggestions of what a completer returned.

    Args:
        returned: See the module.
        limit: How many there may be; what is left out is told by `hasMore`.

    Raises:
        TypeError: It is none of the legal forms.
        ValueError: A mapping has no `values`.
    """
    if isinstance(returned, CompletionResult):
        return _cut(returned.values, limit, returned.total, returned.has_more)
    if isinstance(returned, Completion):
        return _cut(returned.values, limit, returned.total, returned.hasMore)
    if is_mapping(returned):
        if "values" not in returned:
            raise ValueError("Completion mapping must include 'values'.")
        more = returned.get("hasMore", returned.get("has_more"))
        return _cut(returned["values"], limit, returned.get("total"), more)
    return _cut(() if returned is None else returned, limit, None, None)


def _is_iterable(values: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(values, Iterable) and not isinstance(values, bytes | bytearray)


def _cut(values: Any, limit: int, total: Any, more: Any) -> Completion:
    if isinstance(values, str):
        values = (values,)
    if not _is_iterable(values):
        raise TypeError(f"Unsupported completion return type: {type(values).__name__}")
    found = list(islice(values, limit + 1))
    if len(found) > limit:
        more = True if more is None else more
        total = len(values) if total is None and isinstance(values, Sized) else total
    shown = [str(value.value if isinstance(value, Enum) else value) for value in found[:limit]]
    try:
        return msgspec.convert({"values": shown, "total": total, "hasMore": more}, Completion)
    except msgspec.ValidationError as error:
        raise TypeError(f"Completion: {error}") from None
