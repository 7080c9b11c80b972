"""Authorization for clients: OAuth, and tokens that are there already.

    MCPClient.connect(url, auth=OAuth(...))

Everything here needs httpx, and nothing else imports it: a client of local servers never loads it.
"""

from __future__ import annotations

from dedalus_mcp.auth.dpop_proof import generate_dpop_proof
from dedalus_mcp.client.auth.authorization_code import AuthorizationCode, AuthorizationCodeAuth
from dedalus_mcp.client.auth.bearer import BearerAuth
from dedalus_mcp.client.auth.challenge import WWWAuthenticateChallenge, parse_www_authenticate
from dedalus_mcp.client.auth.client_credentials import ClientCredentialsAuth
from dedalus_mcp.client.auth.device_code import DeviceAuthorization, DeviceCodeAuth
from dedalus_mcp.client.auth.dpop import DPoP, DPoPAuth
from dedalus_mcp.client.auth.enterprise import EnterpriseAuth, IdentityProvider
from dedalus_mcp.client.auth.failures import AuthConfigError, AuthError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.file_storage import FileTokenStorage
from dedalus_mcp.client.auth.grant import Flow, Grant, Proof
from dedalus_mcp.client.auth.headless import HeadlessRedirect
from dedalus_mcp.client.auth.jwt_bearer import JwtBearerAuth
from dedalus_mcp.client.auth.known_client import client_assertion
from dedalus_mcp.client.auth.lookup import (
    discover_authorization_server,
    fetch_authorization_server_metadata,
    fetch_resource_metadata,
)
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
from dedalus_mcp.client.auth.statements import Statement
from dedalus_mcp.client.auth.storage import MemoryTokenStorage, TokenStorage
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials
from dedalus_mcp.client.auth.token_exchange import TokenExchangeAuth

__all__ = (
    "AuthConfigError",
    "AuthError",
    "AuthorizationCode",
    "AuthorizationCodeAuth",
    "AuthorizationServerMetadata",
    "BearerAuth",
    "ClientCredentials",
    "ClientCredentialsAuth",
    "ClientInformation",
    "ClientMetadata",
    "DPoP",
    "DPoPAuth",
    "DeviceAuthorization",
    "DeviceCodeAuth",
    "DiscoveryError",
    "EnterpriseAuth",
    "FileTokenStorage",
    "Flow",
    "Grant",
    "HeadlessRedirect",
    "IdentityProvider",
    "JwtBearerAuth",
    "Landing",
    "LoopbackRedirect",
    "MemoryTokenStorage",
    "OAuth",
    "OAuthOptions",
    "Proof",
    "Redirect",
    "Registration",
    "ResourceMetadata",
    "Statement",
    "TokenError",
    "TokenExchangeAuth",
    "TokenResponse",
    "TokenStorage",
    "WWWAuthenticateChallenge",
    "discover_authorization_server",
    "fetch_authorization_server_metadata",
    "fetch_resource_metadata",
    "client_assertion",
    "generate_dpop_proof",
    "parse_www_authenticate",
)
