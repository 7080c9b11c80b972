"""Authorization for clients: OAuth, and tokens that are there already.

    MCPClient.connect(url, auth=OAuth(...))

Everything here needs httpx, and nothing else imports it: a client of local servers never loads it.
"""

from __future__ import annotations

from dedalus_mcp.client.auth.authorization_code import AuthorizationCode, AuthorizationCodeAuth
from dedalus_mcp.client.auth.bearer import BearerAuth
from dedalus_mcp.client.auth.challenge import WWWAuthenticateChallenge, parse_www_authenticate
from dedalus_mcp.client.auth.failures import AuthConfigError, AuthError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.file_storage import FileTokenStorage
from dedalus_mcp.client.auth.grant import Flow, Grant, Proof
from dedalus_mcp.client.auth.headless import HeadlessRedirect
from dedalus_mcp.client.auth.metadata import (
    AuthorizationServerMetadata,
    ClientInformation,
    ClientMetadata,
    ResourceMetadata,
    TokenResponse,
)
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.redirect import Landing, LoopbackRedirect, Redirect
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.storage import MemoryTokenStorage, TokenStorage
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials

__all__ = (
    "AuthConfigError",
    "AuthError",
    "AuthorizationCode",
    "AuthorizationCodeAuth",
    "AuthorizationServerMetadata",
    "BearerAuth",
    "ClientCredentials",
    "ClientInformation",
    "ClientMetadata",
    "DiscoveryError",
    "FileTokenStorage",
    "Flow",
    "Grant",
    "HeadlessRedirect",
    "Landing",
    "LoopbackRedirect",
    "MemoryTokenStorage",
    "OAuth",
    "OAuthOptions",
    "Proof",
    "Redirect",
    "Registration",
    "ResourceMetadata",
    "TokenError",
    "TokenResponse",
    "TokenStorage",
    "WWWAuthenticateChallenge",
    "parse_www_authenticate",
)
