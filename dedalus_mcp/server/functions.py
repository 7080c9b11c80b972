"""The author's function behind a tool or a resource: its parameters filled in, run where it belongs.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from dedalus_mcp.schema.arguments import Arguments
from dedalus_mcp.schema.given import GivenArguments
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.server.injection import Injection, is_injected
from dedalus_mcp.server.rendering import comes_later
from dedalus_mcp.server.results import reads_once
from dedalus_mcp.server.streams import gathered
from dedalus_mcp.threads import Threads

__all__ = ("Function",)


class Function:
    """A function, sync or async, of whatever kind of callable.

    Args:
        fn: The function.
        inline: Run a plain `def` in the event loop.
        input_schema: What clients may pass to it; None to take that from its signature.
        max_stream: Bytes or characters of what it returns piece by piece, at most; then that is
            read to its end, see `dedalus_mcp.server.streams`.  None to return it as it is.

    Attributes:
        arguments: What clients may pass to it.

    Raises:
        TypeError: Its signature cannot be published.
        ImportError, ValueError: See `GivenArguments`.
    """

    __slots__ = ("_injection", "_inline", "_max_stream", "_simple", "arguments")

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        inline: bool,
        input_schema: Mapping[str, Any] | None = None,
        max_stream: int | None = None,
    ) -> None:
        self.arguments: Arguments | GivenArguments = (
            Arguments.of(fn, injected=is_injected)
            if input_schema is None
            else GivenArguments(fn, input_schema, injected=is_injected)
        )
        self._injection = Injection(fn) if self.arguments.injected else None
        self._inline = inline or is_async(fn)
        self._max_stream = max_stream
        self._simple = iscoroutinefunction(fn) and max_stream is None  # what it returns is awaited, and that is all

    def run(self, values: dict[str, Any], threads: Threads) -> Awaitable[Any]:
        """Call the function and return what it returns.

        Args:
            values: Its arguments, as `arguments.decode` gives them; what is injected is added.
            threads: Where a plain `def` runs.

        Raises:
            LookupError: It takes a context, and there is none.
            Exception: What the function raised, or what it depends on.
        """
        if self._injection is None:
            return self.arguments.call(values) if self._simple else self._called(values, threads)
        return self._injection.call(partial(self._called, threads=threads), values, threads)

    async def _called(self, values: dict[str, Any], threads: Threads) -> Any:
        if self._inline:
            value = self.arguments.call(values)
        else:
            value = await threads.run(partial(self.arguments.call, values))
        if isawaitable(value):
            value = await value
        if self._max_stream is not None and (reads_once(value) or comes_later(value)):
            return await gathered(value, threads, self._max_stream)  # here, while what it depends on is there
        return value
