"""A guard round a handler that takes a path: it runs only for paths within the client's roots.

Layer: L4.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.server.context import get_context

__all__ = ("require_within_roots",)

P = ParamSpec("P")
T = TypeVar("T")


def require_within_roots(
    argument: str = "path",
) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
    """Let an `async def` handler run only if an argument is a path within the client's roots.

    Put it under `@tool`.  The handler gets the path as it was given; one that wants the path that
    was checked asks `Context.require_within_roots` itself.

    Args:
        argument: The name of the parameter.

    Raises:
        TypeError: The handler is no `async def`, or has no such parameter.
    """

    def decorate(fn: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        signature = inspect.signature(fn)
        if not is_async(fn):
            raise TypeError("require_within_roots expects an async function")
        if argument not in signature.parameters:
            raise TypeError(f"require_within_roots: there is no parameter {argument!r}")

        @functools.wraps(fn)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
            path = signature.bind(*args, **kwargs).arguments.get(argument)
            if not path:
                raise McpError(INVALID_PARAMS, f"Argument {argument!r} is required for roots validation")
            await get_context().require_within_roots(path)
            return await fn(*args, **kwargs)

        return guarded

    return decorate
