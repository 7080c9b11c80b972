"""What each method does, in terms of the server and the session.

    AT_ONCE     no user code: answered in the read loop, in the order of the calls
    HANDLED     the author's code: answered in a task of its own, with a context

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from dedalus_mcp.errors import INTERNAL_ERROR, McpError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.server.capabilities import without_promises
from dedalus_mcp.server.context import get_context
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.prompts import strings_only
from dedalus_mcp.server.rendering import UnrenderableError
from dedalus_mcp.server.subscriptions import listen
from dedalus_mcp.server.tools import ToolCall
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
    Result,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from dedalus_mcp.types.revisions import MODERN

if TYPE_CHECKING:
    from dedalus_mcp.server.answering import Answering
    from dedalus_mcp.server.server import MCPServer

__all__ = (
    "AT_ONCE",
    "HANDLED",
    "LISTS",
    "AtOnce",
    "Handled",
    "list_anew",
    "list_enabled_tools",
    "subscribe_elsewhere",
)

logger = logging.getLogger("dedalus_mcp")

AtOnce: TypeAlias = "Callable[[Answering, Inbound, Any], Any]"
Handled: TypeAlias = "Callable[[MCPServer, Any], Coroutine[Any, Any, Any]]"


def _initialize(answering: Answering, call: Inbound, params: InitializeRequestParams) -> InitializeResult:
    server = answering.server
    return InitializeResult(
        protocolVersion=answering.session.initialize(params).revision,
        capabilities=server.capabilities if answering.session.lasting else without_promises(server.capabilities),
        serverInfo=server.info,
        instructions=server.instructions,
    )


def _discover(answering: Answering, call: Inbound, params: RequestParams) -> DiscoverResult:
    server = answering.server
    capabilities = server.capabilities
    if not call.channel.takes_calls:  # a single reply, with no stream to listen on
        capabilities = without_promises(capabilities)
    return DiscoverResult(supportedVersions=list(MODERN), capabilities=capabilities, instructions=server.instructions)


def _ping(answering: Answering, call: Inbound, params: RequestParams) -> Result:
    return Result()


def _set_level(answering: Answering, call: Inbound, params: SetLevelRequestParams) -> Result:
    answering.session.set_log_level(params.level)
    return Result()


def _list_tools(answering: Answering, call: Inbound, params: PaginatedRequestParams) -> ListToolsResult:
    server = answering.server
    tools, cursor = server.tools.catalogue.page(params.cursor, server.config.pagination_limit)
    return ListToolsResult(tools=tools, nextCursor=cursor)


async def list_enabled_tools(server: MCPServer, params: PaginatedRequestParams) -> ListToolsResult:
    """Answer `tools/list` where functions of the author's decide on what is there."""
    tools, cursor = await server.tools.enabled_page(params.cursor, server.config.pagination_limit)
    return hinted(ListToolsResult(tools=tools, nextCursor=cursor), server.config.cache_hints.get("tools/list"))


async def list_anew(answering: Answering, server: MCPServer, params: PaginatedRequestParams) -> Any:
    """Answer a list where what is listed may be known elsewhere only: that is asked for the first page."""
    call = get_context().call
    if not params.cursor:
        async with anyio.create_task_group() as group:  # one that is lost costs its few seconds once
            for look in server.before_lists:
                group.start_soon(look, call.method)
    if call.method == "tools/list" and server.tools.conditional:
        return await list_enabled_tools(server, params)
    return hinted(AT_ONCE[call.method](answering, call, params), server.config.cache_hints.get(call.method))


def _list_prompts(answering: Answering, call: Inbound, params: PaginatedRequestParams) -> ListPromptsResult:
    server = answering.server
    prompts, cursor = server.prompts.catalogue.page(params.cursor, server.config.pagination_limit)
    return ListPromptsResult(prompts=prompts, nextCursor=cursor)


def _list_resources(answering: Answering, call: Inbound, params: PaginatedRequestParams) -> ListResourcesResult:
    server = answering.server
    resources, cursor = server.resources.catalogue.page(params.cursor, server.config.pagination_limit)
    return ListResourcesResult(resources=resources, nextCursor=cursor)


def _list_resource_templates(
    answering: Answering, call: Inbound, params: PaginatedRequestParams
) -> ListResourceTemplatesResult:
    server = answering.server
    templates, cursor = server.resources.templates.page(params.cursor, server.config.pagination_limit)
    return ListResourceTemplatesResult(resourceTemplates=templates, nextCursor=cursor)


def _subscribe(answering: Answering, call: Inbound, params: SubscribeRequestParams) -> Result:
    answering.server.resources.check(params.uri)
    answering.hearing().subscribe(params.uri)
    return Result()


async def subscribe_elsewhere(answering: Answering, server: MCPServer, params: SubscribeRequestParams) -> Result:
    """Answer `resources/subscribe` where the resource may be another server's, which has to tell of it."""
    server.resources.check(params.uri)
    answering.hearing().subscribe(params.uri)
    try:
        await server.watching.begun(params.uri)
    except McpError:
        answering.hearing().unsubscribe(params.uri)
        raise
    return Result()


def _unsubscribe(answering: Answering, call: Inbound, params: UnsubscribeRequestParams) -> Result:
    hearing = answering.hearing()
    if not hearing.hears(params.uri):  # else the resource may be gone, and the subscription goes too
        answering.server.resources.check(params.uri)
    hearing.unsubscribe(params.uri)
    return Result()


def _call_tool(server: MCPServer, params: ToolCall) -> Coroutine[Any, Any, CallToolResult]:
    return server.tools.call(params.name, params.arguments)


async def _get_prompt(server: MCPServer, params: GetPromptRequestParams) -> GetPromptResult:
    strings_only(params.arguments)
    try:
        return await server.prompts.get(params.name, params.arguments)
    except UnrenderableError as error:
        logger.error("prompt %r cannot be rendered", params.name, exc_info=error)
        raise McpError(INTERNAL_ERROR, f"Prompt {params.name!r:.160}: {error}") from error


async def _read_resource(server: MCPServer, params: ReadResourceRequestParams) -> ReadResourceResult:
    return hinted(await server.resources.read(params.uri), server.config.cache_hints.get("resources/read"))


async def _complete(server: MCPServer, params: CompleteRequestParams) -> CompleteResult:
    return CompleteResult(completion=await server.completions.complete(params.ref, params.argument, params.context))


async def _listen(server: MCPServer, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
    return await listen(get_context(), params)


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

LISTS = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list"})

HANDLED: dict[str, Handled] = {
    "tools/call": _call_tool,
    "prompts/get": _get_prompt,
    "resources/read": _read_resource,
    "subscriptions/listen": _listen,
    "completion/complete": _complete,
}
