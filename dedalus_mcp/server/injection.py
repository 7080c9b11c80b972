"""What the server gives to a handler beside the client's arguments: its context, and what it depends on.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET

from dedalus_mcp.schema.signature import label, parameters
from dedalus_mcp.server.context_parameters import context_for, is_context
from dedalus_mcp.server.dependencies import Dependencies, dependency_of
from dedalus_mcp.threads import Threads

__all__ = ("Injection", "is_injected")


def is_injected(annotation: Any, default: Any = UNSET) -> bool:
    """Whether such a parameter is the server's to give: it is in no schema, and no client can set it."""
    return is_context(annotation) or dependency_of(annotation, default) is not None


class Injection:
    """What one handler is given.

    Args:
        fn: The handler.

    Raises:
        TypeError: It takes the context twice; or what it depends on has a parameter that nobody gives,
            or depends on itself.
    """

    __slots__ = ("_contexts", "_dependencies", "_ending", "_made")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._contexts: dict[str, Any] = {}
        self._made: dict[str, int] = {}
        self._dependencies = Dependencies()
        for one in parameters(fn):
            wanted = dependency_of(one.annotation, one.default)
            if wanted is not None:
                self._made[one.name] = self._dependencies.add(wanted)
            elif is_context(one.annotation):
                if self._contexts:
                    raise TypeError(f"{label(fn)}(): '{next(iter(self._contexts))}' and '{one.name}' are one context")
                self._contexts[one.name] = one.annotation
        self._ending = self._dependencies.ending

    async def call(
        self, function: Callable[[dict[str, Any]], Awaitable[Any]], values: dict[str, Any], threads: Threads
    ) -> Any:
        """Call the handler with what it is given, and take that down afterwards.

        Args:
            function: Takes all values by name, and is awaited.
            values: The client's; those that are given are added.
            threads: Where plain `def` dependencies run.

        Raises:
            LookupError: It takes a context, and there is none.
            Exception: What the handler or a dependency raised.  A dependency may raise another
                exception in its place, but never make it a success.
        """
        for name, annotation in self._contexts.items():
            values[name] = context_for(annotation)
        if not self._ending:
            if self._made:
                values |= self._named(await self._dependencies.make(threads))
            return await function(values)
        result, failure = None, None
        async with self._dependencies.made(threads) as made:
            values |= self._named(made)
            try:
                result = await function(values)
            except BaseException as error:
                failure = error
                raise
        if failure is not None:
            raise failure
        return result

    def _named(self, made: list[Any]) -> dict[str, Any]:
        return {name: made[index] for name, index in self._made.items()}
