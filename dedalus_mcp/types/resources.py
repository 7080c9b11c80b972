"""Resources: what a client may read.

Layer: L1; imports `messages`, `icons` and `content` only.
"""

from __future__ import annotations

import msgspec

from dedalus_mcp.types.content import Annotations, AnyResourceContents, Resource, TextResourceContents
from dedalus_mcp.types.icons import Icon
from dedalus_mcp.types.messages import (
    BaseMetadata,
    CacheableResult,
    CacheScope,
    InputResponseRequestParams,
    Meta,
    NotificationParams,
    PaginatedResult,
    RequestParams,
)

__all__ = (
    "ListResourceTemplatesResult",
    "ListResourcesResult",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "ResourceTemplate",
    "ResourceUpdatedNotificationParams",
    "SubscribeRequestParams",
    "UnsubscribeRequestParams",
)


class ResourceTemplate(BaseMetadata, frozen=True, kw_only=True):
    """A family of resources, whose URIs an RFC 6570 template makes."""

    uriTemplate: str
    description: str | None = None
    mimeType: str | None = None
    annotations: Annotations | None = None
    icons: list[Icon] | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ListResourcesResult(PaginatedResult, frozen=True, kw_only=True):
    """One page of the server's resources."""

    resources: list[Resource]
    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class ListResourceTemplatesResult(PaginatedResult, frozen=True, kw_only=True):
    """One page of the server's resource templates."""

    resourceTemplates: list[ResourceTemplate]
    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class ReadResourceRequestParams(InputResponseRequestParams, frozen=True, kw_only=True):
    """Which resource to read."""

    uri: str


class ReadResourceResult(CacheableResult, frozen=True, kw_only=True):
    """What is in a resource; several contents when it has parts."""

    contents: list[AnyResourceContents]

    @property
    def text(self) -> str:
        """The contents that are text, joined by line breaks; empty without any."""
        return "\n".join([each.text for each in self.contents if isinstance(each, TextResourceContents)])


class SubscribeRequestParams(RequestParams, frozen=True, kw_only=True):
    """Which resource to hear about (legacy)."""

    uri: str


class UnsubscribeRequestParams(RequestParams, frozen=True, kw_only=True):
    """Which resource to hear about no more (legacy)."""

    uri: str


class ResourceUpdatedNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Which resource has changed."""

    uri: str
