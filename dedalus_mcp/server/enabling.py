"""Whether a tool is there for a client: always, never, or as a function of its author's says.

    @tool(enabled=is_open)                        def is_open(server: MCPServer) -> bool
    @tool(enabled=may_write)                      def may_write(ctx: Context) -> bool
    @tool(enabled=Depends(in_office_hours))       what handlers can depend on, it can depend on

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET

from dedalus_mcp.schema.signature import Parameter, label, parameters
from dedalus_mcp.server.dependencies import Dependencies, Dependency
from dedalus_mcp.server.injection import Injection, is_injected

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

    Enabled: TypeAlias = bool | Callable[..., bool | Awaitable[bool]]
else:  # no name that only checkers can resolve: `help` shows the specs' fields
    Enabled = bool | Callable[..., Any]

__all__ = ("Enabled", "Enabling", "enabling")

logger = logging.getLogger("dedalus_mcp")


def enabling(enabled: Enabled | Dependency) -> bool | Enabling:
    """Return what tells whether a tool is there, ready to be asked.

    Raises:
        TypeError: It is a function with a parameter that nobody gives, or that depends on such a one.
    """
    return enabled if isinstance(enabled, bool) else Enabling(enabled)


class Enabling:
    """What is asked each time whether a tool is there.

    Args:
        told_by: The author's function, or what stands for one.

    Raises:
        TypeError: See `enabling`.
    """

    __slots__ = ("_ask",)

    def __init__(self, told_by: Callable[..., Any] | Dependency) -> None:
        self._ask = _by_dependency(told_by) if isinstance(told_by, Dependency) else _by_function(told_by)

    async def ask(self, server: MCPServer, name: str) -> bool:
        """Tell whether a tool is there now; a function that fails has not said so.

        Args:
            server: Whose tool it is.
            name: Of the tool, for the log.
        """
        try:
            return bool(await self._ask(server))
        except Exception:
            logger.exception("whether tool %r is enabled could not be told, so it is not", name)
            return False


def _by_dependency(dependency: Dependency) -> Callable[[MCPServer], Awaitable[Any]]:
    dependencies = Dependencies()
    index = dependencies.add(dependency)

    async def ask(server: MCPServer) -> Any:
        async with dependencies.made(server.threads) as made:
            return made[index]

    return ask


def _by_function(fn: Callable[..., Any]) -> Callable[[MCPServer], Awaitable[Any]]:
    """It is called in the event loop, with the server for its one parameter that is not injected, if it has one."""
    try:
        own = [one for one in parameters(fn) if not is_injected(one.annotation, one.default)]
    except TypeError:  # a signature that cannot be read, or takes anything
        return lambda server: _awaited(fn(server))
    _check(fn, own)
    injection, by_position = Injection(fn), bool(own) and own[0].positional

    async def ask(server: MCPServer) -> Any:
        async def call(values: dict[str, Any]) -> Any:
            return await _awaited(fn(server, **values) if by_position else fn(**values))

        values = {own[0].name: server} if own and not by_position else {}
        return await injection.call(call, values, server.threads)

    return ask


def _check(fn: Callable[..., Any], own: list[Parameter]) -> None:
    for one in own[1:]:
        if one.default is UNSET:
            raise TypeError(
                f"enabled: nobody gives '{one.name}' to {label(fn)}(): it takes the server, a Context, "
                "what it depends on, and what has a default"
            )


async def _awaited(said: Any) -> Any:
    return await said if inspect.isawaitable(said) else said
