"""What a client asks about the values of arguments.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike
from dedalus_mcp.types import (
    CompleteRequestParams,
    CompleteResult,
    CompletionArgument,
    CompletionContext,
    CompletionReference,
    PromptReference,
    RequestParams,
    ResourceTemplateReference,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import COMPLETION_COMPLETE

__all__ = ("CompletionRequests",)

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")


class _Client(Protocol):
    """What makes the requests: see `MCPClient`."""

    async def request(self, method: Method[P, R], params: P, *, timeout: TimeoutLike | Default = DEFAULT) -> R: ...


class CompletionRequests:
    """The part of `MCPClient` that is about completion."""

    async def complete(
        self: _Client,
        ref: CompletionReference,
        name: str,
        value: str,
        *,
        chosen: Mapping[str, str] | None = None,
        timeout: TimeoutLike | Default = DEFAULT,
    ) -> CompleteResult:
        """Return suggestions for an argument that is being typed.

        Args:
            ref: A `PromptReference`, or a `ResourceTemplateReference` with the URI template.
            name: The argument.
            value: What is typed of it so far.
            chosen: The arguments that are there already; not told before 2025-06-18.
            timeout: See `MCPClient.request`.

        Raises:
            McpError: The server's error: -32601, it completes nothing; -32602, it has no such
                prompt, template or argument.
            RequestTimeout, ConnectionLost, RemoteProtocolError: See `MCPClient.request`.
            TypeError: `ref` is no reference.
        """
        if not isinstance(ref, PromptReference | ResourceTemplateReference):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
            raise TypeError(f"ref is a PromptReference or a ResourceTemplateReference, not {ref!r:.80}")
        context = None if chosen is None else CompletionContext(arguments=dict(chosen))
        argument = CompletionArgument(name=name, value=value)
        params = CompleteRequestParams(ref=ref, argument=argument, context=context)
        return await self.request(COMPLETION_COMPLETE, params, timeout=timeout)
