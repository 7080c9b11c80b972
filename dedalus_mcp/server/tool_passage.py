"""A call of a tool on its way through middleware, which sees its arguments decoded and what the tool really raised.

    ToolCall ──▶ CallToolRequestParams ──▶ middleware ──▶ the tool: its arguments are checked here
    result, or what the model is told ◀── middleware ◀── what it returned, or raised

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.server.context import Context
from dedalus_mcp.server.middleware import Chain, Incoming
from dedalus_mcp.server.tools import OnFailure, ToolCall, Tools, arguments_in
from dedalus_mcp.session import read_meta
from dedalus_mcp.types import CallToolRequestParams, CallToolResult

__all__ = ("arguments_of", "call_through", "typed")

_Tell: TypeAlias = Callable[[Exception], CallToolResult]


def typed(params: Any) -> Any:
    """Return params as everybody knows them: those of tools keep their arguments raw, for the tool alone.

    Raises:
        McpError: -32602, see `arguments_of`.
    """
    if not isinstance(params, ToolCall):
        return params
    return CallToolRequestParams(
        name=params.name,
        arguments=arguments_of(params.arguments),
        requestState=params.requestState,
        inputResponses=params.inputResponses,
        meta=read_meta(params.meta) or None,
    )


def arguments_of(raw: Raw) -> dict[str, Any] | None:
    """Return the arguments of a tool, decoded.

    Raises:
        McpError: -32602, they are no object, or cannot be decoded.
    """
    given = arguments_in(raw)
    try:
        arguments: dict[str, Any] | None = None if given is None else msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError) as error:  # what was read so far has only been skipped
        why = "nested too deeply" if isinstance(error, RecursionError) else excerpt(error)
        raise McpError(INVALID_PARAMS, f"Invalid params: arguments: {why}") from None
    return arguments


async def call_through(
    chain: Chain, tools: Tools, params: CallToolRequestParams, context: Context, on_failure: OnFailure | None = None
) -> CallToolResult:
    """Call a tool through middleware: see `Tools.call`."""
    failures = _Failures()

    async def end(params: CallToolRequestParams) -> CallToolResult:
        arguments = Raw(encode_value(params.arguments or {}))  # as from the client: the tool checks them
        return await tools.call(params.name, arguments, failures.raised)

    try:
        result: CallToolResult = await chain.run(Incoming("tools/call", params, context), end)
    except Exception as error:  # noqa: BLE001 - the boundary: it becomes the result, and one log entry
        tell = failures.tell(error) or partial(tools.failure, params.name)
        return tell(error) if on_failure is None else on_failure(error, tell)
    return result


class _Failures:
    """What the tool has raised, and what would tell the model of it."""

    __slots__ = ("_error", "_tell")

    def __init__(self) -> None:
        self._error: Exception | None = None
        self._tell: _Tell | None = None

    def raised(self, error: Exception, tell: _Tell) -> CallToolResult:
        """Raise it, for the middleware to see: an `OnFailure`."""
        self._error, self._tell = error, tell
        raise error

    def tell(self, error: Exception) -> _Tell | None:
        """Return what tells of an exception that came out in the end; None if the tool has not raised it."""
        return self._tell if error is self._error else None
