"""Answers one client on one connection: which route a call takes, and in whose words.

    call ──▶ params ──▶ terms (era, revision) ──▶ route ──▶ result ──▶ shaped for its reader

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, McpError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.context import Context, current
from dedalus_mcp.server.pages import page
from dedalus_mcp.server.prompts import strings_only
from dedalus_mcp.server.rendering import UnrenderableError
from dedalus_mcp.server.tools import ToolCall
from dedalus_mcp.session import ServerSession, Terms
from dedalus_mcp.types import (
    CallToolResult,
    DiscoverResult,
    GetPromptRequestParams,
    GetPromptResult,
    InitializeRequestParams,
    InitializeResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    Result,
    SetLevelRequestParams,
)
from dedalus_mcp.types.methods import REQUESTS
from dedalus_mcp.types.revisions import MODERN, V2025_03_26, complete, shape

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Answering",)

class Answering:
    """The `Handler` of a server's peer.  Give it its peer before feeding that.

    Args:
        server: Whose tools and prompts they are.
    """

    peer: Peer

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._session = ServerSession()

    def answer(self, call: Inbound) -> Any:
        """Answer one call: what runs no user code at once, the rest in a coroutine.

        Raises:
            McpError: The error to reply with.
        """
        params, terms = self._open(call)
        if not self._server.offers(call.method):
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {call.method:.80}")
        if (handler := _HANDLED.get(call.method)) is not None:
            context = Context(self._server, self.peer, call, terms, params.meta)
            return self._handle(handler(self, params), context)
        if (route := _ROUTES.get(call.method)) is None:
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {call.method:.80}")
        if call.method == "initialize":
            terms = self._agree(call, params)
        return self._shaped(route(self, params), terms)

    async def _handle(self, result: Coroutine[Any, Any, Any], context: Context) -> Any:
        current.set(context)
        return self._shaped(await result, context.terms)

    def _shaped(self, result: Any, terms: Terms) -> Any:
        return complete(shape(result, terms.revision), terms.revision, self._server.info)

    def hear(self, notice: Notice) -> None:
        """Take a notice; none of them needs anything done yet."""

    def _open(self, call: Inbound) -> tuple[Any, Terms]:
        """Decode the params once, and find the terms; what is wrong first is said first."""
        if call.params is not UNSET and not bytes(memoryview(call.params)[:1]) == b"{":
            raise McpError(INVALID_PARAMS, "Invalid params: `params` is an object")
        try:
            params: Any = _decode(call.method, call.params)
        except (msgspec.DecodeError, RecursionError) as error:
            self._session.terms(call.method, _meta(call.params))  # raises, if that is wrong already
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise McpError(INVALID_PARAMS, f"Invalid params: {why}") from None
        return params, self._session.terms(call.method, params.meta)

    # The routes.

    def _agree(self, call: Inbound, params: InitializeRequestParams) -> Terms:
        if call.batch is not None:
            raise McpError(INVALID_REQUEST, "Invalid request: `initialize` stands alone, never in a batch")
        terms = self._session.initialize(params)
        self.peer.batches = terms.revision == V2025_03_26
        return terms

    def _initialize(self, params: InitializeRequestParams) -> InitializeResult:
        assert self._session.agreed is not None, "agreed on just before"
        return InitializeResult(
            protocolVersion=self._session.agreed.revision,
            capabilities=self._server.capabilities,
            serverInfo=self._server.info,
            instructions=self._server.instructions,
        )

    def _discover(self, params: RequestParams) -> DiscoverResult:
        return DiscoverResult(
            supportedVersions=list(MODERN),
            capabilities=self._server.capabilities,
            instructions=self._server.instructions,
        )

    def _ping(self, params: RequestParams) -> Result:
        return Result()

    def _set_level(self, params: SetLevelRequestParams) -> Result:
        assert self._session.agreed is not None, "the session's terms let no call through before"
        self._session.agreed.log_level = params.level
        return Result()

    def _list_tools(self, params: PaginatedRequestParams) -> ListToolsResult:
        tools, cursor = page(self._server.tools.definitions, params.cursor, self._server.config.pagination_limit)
        return ListToolsResult(tools=tools, nextCursor=cursor)

    async def _call_tool(self, params: ToolCall) -> CallToolResult:
        return await self._server.tools.call(params.name, params.arguments)

    def _list_prompts(self, params: PaginatedRequestParams) -> ListPromptsResult:
        prompts, cursor = page(self._server.prompts.definitions, params.cursor, self._server.config.pagination_limit)
        return ListPromptsResult(prompts=prompts, nextCursor=cursor)

    async def _get_prompt(self, params: GetPromptRequestParams) -> GetPromptResult:
        strings_only(params.arguments)
        try:
            return await self._server.prompts.get(params.name, params.arguments)
        except UnrenderableError as error:
            raise McpError(INTERNAL_ERROR, f"Prompt {params.name!r:.160}: {error}") from error


# Answered at once, in the order of the calls.
_ROUTES: dict[str, Callable[[Answering, Any], Any]] = {
    "initialize": Answering._initialize,
    "server/discover": Answering._discover,
    "ping": Answering._ping,
    "logging/setLevel": Answering._set_level,
    "tools/list": Answering._list_tools,
    "prompts/list": Answering._list_prompts,
}

# Answered by the author's code, in a task of their own, with a context.
_HANDLED: dict[str, Callable[[Answering, Any], Coroutine[Any, Any, Any]]] = {
    "tools/call": Answering._call_tool,
    "prompts/get": Answering._get_prompt,
}


class _MetaOnly(msgspec.Struct):
    meta: Any = msgspec.field(default=None, name="_meta")


_decode_meta = msgspec.json.Decoder(_MetaOnly).decode
_decode_tool_call = msgspec.json.Decoder(ToolCall).decode


def _decode(method: str, params: Raw | msgspec.UnsetType) -> Any:
    """The params by the method; of a method that nobody knows, the `_meta` alone."""
    raw = Raw(b"{}") if params is UNSET else params
    if method == "tools/call":
        return _decode_tool_call(raw)
    known = REQUESTS.get(method)
    return RequestParams(meta=_meta(raw)) if known is None else known.decode_params(raw)


def _meta(params: Any) -> dict[str, Any] | None:
    try:
        meta = _decode_meta(b"{}" if params is UNSET else params).meta
    except (msgspec.DecodeError, RecursionError):
        return None
    return meta if isinstance(meta, dict) else None
