"""What a client asks about resources.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from dedalus_mcp.client.any_request import ProgressHandler
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike
from dedalus_mcp.types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PaginatedResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import (
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
)

__all__ = ("ResourceRequests",)

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
PageT = TypeVar("PageT", bound=PaginatedResult)


class _Client(Protocol):
    """What makes the requests: see `MCPClient`."""

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> R: ...

    async def drain(
        self,
        method: Method[PaginatedRequestParams, PageT],
        listed: str,
        timeout: TimeoutLike | Default,
    ) -> PageT: ...


class ResourceRequests:
    """The part of `MCPClient` that is about resources."""

    async def list_resources(self: _Client, *, timeout: TimeoutLike | Default = DEFAULT) -> ListResourcesResult:
        """Return all resources, from as many pages as there are.

        Raises:
            RemoteProtocolError: The pages do not end.
            McpError, RequestTimeout, ConnectionLost: See `MCPClient.request`.
        """
        return await self.drain(RESOURCES_LIST, "resources", timeout)

    async def list_resources_page(
        self: _Client, cursor: str | None = None, *, timeout: TimeoutLike | Default = DEFAULT
    ) -> ListResourcesResult:
        """Return one page of resources; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `MCPClient.request`.
        """
        return await self.request(RESOURCES_LIST, PaginatedRequestParams(cursor=cursor), timeout=timeout)

    async def list_resource_templates(
        self: _Client, *, timeout: TimeoutLike | Default = DEFAULT
    ) -> ListResourceTemplatesResult:
        """Return all resource templates, from as many pages as there are.

        Raises:
            RemoteProtocolError: The pages do not end.
            McpError, RequestTimeout, ConnectionLost: See `MCPClient.request`.
        """
        return await self.drain(RESOURCES_TEMPLATES_LIST, "resourceTemplates", timeout)

    async def list_resource_templates_page(
        self: _Client, cursor: str | None = None, *, timeout: TimeoutLike | Default = DEFAULT
    ) -> ListResourceTemplatesResult:
        """Return one page of resource templates; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `MCPClient.request`.
        """
        return await self.request(RESOURCES_TEMPLATES_LIST, PaginatedRequestParams(cursor=cursor), timeout=timeout)

    async def read_resource(
        self: _Client,
        uri: str,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ReadResourceResult:
        """Read a resource.

        Args:
            uri: Which one.
            timeout: See `MCPClient.request`.
            progress: See `MCPClient.request`.
            meta: The request's `_meta`.

        Raises:
            McpError: The server's error; where there is no such resource, -32002, or -32602 on
                2026-07-28.
            RequestTimeout, ConnectionLost, RemoteProtocolError: See `MCPClient.request`.
        """
        params = ReadResourceRequestParams(uri=uri, meta=dict(meta) if meta else None)
        return await self.request(RESOURCES_READ, params, timeout=timeout, progress=progress)
