"""What each method does, in terms of the server and the session.

    AT_ONCE     no user code: answered in the read loop, in the order of the calls
    HANDLED     the author's code: answered in a task of its own, with a context

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from dedalus_mcp.errors import INTERNAL_ERROR, McpError
from dedalus_mcp.server.pages import page
from dedalus_mcp.server.prompts import strings_only
from dedalus_mcp.server.rendering import UnrenderableError
from dedalus_mcp.server.tools import ToolCall
from dedalus_mcp.session import ServerSession
from dedalus_mcp.types import (
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    DiscoverResult,
    GetPromptRequestParams,
    GetPromptResult,
    InitializeRequestParams,
    InitializeResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    ResourcesCapability,
    Result,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
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
    capabilities = server.capabilities
    if capabilities.resources is not None:  # subscribing is another method here, which is not answered yet
        capabilities = msgspec.structs.replace(capabilities, resources=ResourcesCapability())
    return DiscoverResult(supportedVersions=list(MODERN), capabilities=capabilities, instructions=server.instructions)


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


def _list_resources(server: MCPServer, session: ServerSession, params: PaginatedRequestParams) -> ListResourcesResult:
    resources, cursor = page(server.resources.definitions, params.cursor, server.config.pagination_limit)
    return ListResourcesResult(resources=resources, nextCursor=cursor)


def _list_resource_templates(
    server: MCPServer, session: ServerSession, params: PaginatedRequestParams
) -> ListResourceTemplatesResult:
    templates, cursor = page(server.resources.template_definitions, params.cursor, server.config.pagination_limit)
    return ListResourceTemplatesResult(resourceTemplates=templates, nextCursor=cursor)


def _subscribe(server: MCPServer, session: ServerSession, params: SubscribeRequestParams) -> Result:
    server.resources.check(params.uri)
    session.subscribe(params.uri)
    return Result()


def _unsubscribe(server: MCPServer, session: ServerSession, params: UnsubscribeRequestParams) -> Result:
    if params.uri not in session.subscriptions:  # else the resource may be gone, and the subscription goes too
        server.resources.check(params.uri)
    session.unsubscribe(params.uri)
    return Result()


async def _call_tool(server: MCPServer, params: ToolCall) -> CallToolResult:
    return await server.tools.call(params.name, params.arguments)


async def _get_prompt(server: MCPServer, params: GetPromptRequestParams) -> GetPromptResult:
    strings_only(params.arguments)
    try:
        return await server.prompts.get(params.name, params.arguments)
    except UnrenderableError as error:
        raise McpError(INTERNAL_ERROR, f"Prompt {params.name!r:.160}: {error}") from error


async def _read_resource(server: MCPServer, params: ReadResourceRequestParams) -> ReadResourceResult:
    return await server.resources.read(params.uri)


async def _complete(server: MCPServer, params: CompleteRequestParams) -> CompleteResult:
    return CompleteResult(completion=await server.completions.complete(params.ref, params.argument, params.context))


AT_ONCE: dict[str, AtOnce] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "tools/list": _list_tools,
    "prompts/list": _list_prompts,
    "resources/list": _list_resources,
    "resources/templates/list": _list_resource_templates,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
}

HANDLED: dict[str, Handled] = {
    "tools/call": _call_tool,
    "prompts/get": _get_prompt,
    "resources/read": _read_resource,
    "completion/complete": _complete,
}
