"""What each method does, in terms of the server and the session.

    AT_ONCE     no user code: answered in the read loop, in the order of the calls
    HANDLED     the author's code: answered in a task of its own, with a context

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from dedalus_mcp.errors import INTERNAL_ERROR, McpError
from dedalus_mcp.server.pages import page
from dedalus_mcp.server.prompts import strings_only
from dedalus_mcp.server.rendering import UnrenderableError
from dedalus_mcp.server.tools import ToolCall
from dedalus_mcp.session import ServerSession
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
from dedalus_mcp.types.revisions import MODERN

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("AT_ONCE", "HANDLED", "AtOnce", "Handled")

AtOnce: TypeAlias = "Callable[[MCPServer, ServerSession, Any], Any]"
Handled: TypeAlias = "Callable[[MCPServer, Any], Coroutine[Any, Any, Any]]"


def _initialize(server: MCPServer, session: ServerSession, params: InitializeRequestParams) -> InitializeResult:
    return InitializeResult(
        protocolVersion=session.initialize(params).revision,
        capabilities=server.capabilities,
        serverInfo=server.info,
        instructions=server.instructions,
    )


def _discover(server: MCPServer, session: ServerSession, params: RequestParams) -> DiscoverResult:
    return DiscoverResult(
        supportedVersions=list(MODERN), capabilities=server.capabilities, instructions=server.instructions
    )


def _ping(server: MCPServer, session: ServerSession, params: RequestParams) -> Result:
    return Result()


def _set_level(server: MCPServer, session: ServerSession, params: SetLevelRequestParams) -> Result:
    session.set_log_level(params.level)
    return Result()


def _list_tools(server: MCPServer, session: ServerSession, params: PaginatedRequestParams) -> ListToolsResult:
    tools, cursor = page(server.tools.definitions, params.cursor, server.config.pagination_limit)
    return ListToolsResult(tools=tools, nextCursor=cursor)


def _list_prompts(server: MCPServer, session: ServerSession, params: PaginatedRequestParams) -> ListPromptsResult:
    prompts, cursor = page(server.prompts.definitions, params.cursor, server.config.pagination_limit)
    return ListPromptsResult(prompts=prompts, nextCursor=cursor)


async def _call_tool(server: MCPServer, params: ToolCall) -> CallToolResult:
    return await server.tools.call(params.name, params.arguments)


async def _get_prompt(server: MCPServer, params: GetPromptRequestParams) -> GetPromptResult:
    strings_only(params.arguments)
    try:
        return await server.prompts.get(params.name, params.arguments)
    except UnrenderableError as error:
        raise McpError(INTERNAL_ERROR, f"Prompt {params.name!r:.160}: {error}") from error


AT_ONCE: dict[str, AtOnce] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "tools/list": _list_tools,
    "prompts/list": _list_prompts,
}

HANDLED: dict[str, Handled] = {
    "tools/call": _call_tool,
    "prompts/get": _get_prompt,
}
