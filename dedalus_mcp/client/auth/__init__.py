"""Authorization for clients: OAuth, and tokens that are there already.

    MCPClient.connect(url, auth=OAuth(...))

Everything here needs httpx, and nothing else imports it: a client of local servers never loads it.
"""

from __future__ import annotations

from dedalus_mcp.client.auth.challenge import WWWAuthenticateChallenge, parse_www_authenticate
from dedalus_mcp.client.auth.failures import AuthConfigError, AuthError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.grant import Flow, Grant, Proof
from dedalus_mcp.client.auth.metadata import (
    AuthorizationServerMetadata,
    ClientInformation,
    ClientMetadata,
    ResourceMetadata,
    TokenResponse,
)
from dedalus_mcp.client.auth.oauth import OAuth
from dedalus_mcp.client.auth.storage import MemoryTokenStorage, TokenStorage
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials

__all__ = (
    "AuthConfigError",
    "AuthError",
    "AuthorizationServerMetadata",
    "ClientCredentials",
    "ClientInformation",
    "ClientMetadata",
    "DiscoveryError",
    "Flow",
    "Grant",
    "MemoryTokenStorage",
    "OAuth",
    "Proof",
    "ResourceMetadata",
    "TokenError",
    "TokenResponse",
    "TokenStorage",
    "WWWAuthenticateChallenge",
    "parse_www_authenticate",
)
