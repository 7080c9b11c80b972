"""The handshake of the legacy revisions, and what stands for it in 2026-07-28.

Layer: L1; imports `messages`, `wire`, `icons` and `capabilities` only.
"""

from __future__ import annotations

from dedalus_mcp.types.capabilities import ClientCapabilities, ServerCapabilities
from dedalus_mcp.types.icons import Icon
from dedalus_mcp.types.messages import BaseMetadata, CacheableResult, RequestParams, Result
from dedalus_mcp.types.wire import Wire

__all__ = (
    "DiscoverResult",
    "Implementation",
    "InitializeRequestParams",
    "InitializeResult",
    "UnsupportedProtocolVersionData",
)


class Implementation(BaseMetadata, frozen=True, kw_only=True):
    """The name and version of a client or server program."""

    version: str
    description: str | None = None
    websiteUrl: str | None = None
    icons: list[Icon] | None = None


class InitializeRequestParams(RequestParams, frozen=True, kw_only=True):
    """What the client wants to speak, and what it can do."""

    protocolVersion: str
    capabilities: ClientCapabilities
    clientInfo: Implementation


class InitializeResult(Result, frozen=True, kw_only=True):
    """What will be spoken, and what the server can do."""

    protocolVersion: str
    capabilities: ServerCapabilities
    serverInfo: Implementation
    instructions: str | None = None


class DiscoverResult(CacheableResult, frozen=True, kw_only=True):
    """What the server speaks and can do (2026-07-28)."""

    supportedVersions: list[str]
    capabilities: ServerCapabilities
    instructions: str | None = None


class UnsupportedProtocolVersionData(Wire, frozen=True, kw_only=True):
    """The `data` of the error -32022."""

    supported: list[str]
    requested: str
