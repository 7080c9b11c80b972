"""How the client of the official suite's scenarios gets its tokens."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.authorization_code import AuthorizationCodeAuth
from dedalus_mcp.client.auth.client_credentials import ClientCredentialsAuth
from dedalus_mcp.client.auth.dpop import DPoP
from dedalus_mcp.client.auth.enterprise import EnterpriseAuth, IdentityProvider
from dedalus_mcp.client.auth.failures import AuthError, DiscoveryError
from dedalus_mcp.client.auth.headless import HeadlessRedirect
from dedalus_mcp.client.auth.jwt_bearer import JwtBearerAuth
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.oauth import OAuth
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials
from dedalus_mcp.errors import ForbiddenError, MCPConnectionError

__all__ = ("refused", "way")

CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"

REFUSED: dict[str, tuple[type[MCPConnectionError], str]] = {
    "auth/iss-normalized": (AuthError, "is not used"),
    "auth/iss-supported-missing": (AuthError, "is not used"),
    "auth/iss-unexpected": (AuthError, "is not used"),
    "auth/iss-wrong-issuer": (AuthError, "is not used"),
    "auth/metadata-issuer-mismatch": (DiscoveryError, "and not used"),
    "auth/resource-mismatch": (DiscoveryError, "are those of"),
    "auth/scope-retry-limit": (ForbiddenError, "Forbidden"),
}
"""Scenarios in which there must be no token, and what the client says then."""


@contextmanager
def refused(scenario: str) -> Generator[None]:
    """Demand the error of a scenario that has one."""
    if scenario not in REFUSED:
        yield
        return
    kind, said = REFUSED[scenario]
    try:
        yield
    except kind as error:
        if said not in str(error):
            raise
    else:
        raise AssertionError("the client was let in")


def way(scenario: str, context: Mapping[str, Any]) -> OAuth:
    """Return what gets tokens in a scenario, with what the suite says beside it."""
    match scenario:
        case "auth/client-credentials-basic":
            return ClientCredentialsAuth(client_id=context["client_id"], client_secret=context["client_secret"])
        case "auth/client-credentials-jwt":
            key = SigningKey(context["private_key_pem"], context["signing_algorithm"])
            return ClientCredentialsAuth(client_id=context["client_id"], private_key=key)
        case "auth/enterprise-managed-authorization":
            return _enterprise(context)
        case "auth/wif-jwt-bearer":
            return JwtBearerAuth(context["valid_jwt"], client_id=context["client_id"])
        case "auth/dpop" | "auth/dpop-nonce":
            return AuthorizationCodeAuth(redirect=HeadlessRedirect(), proof=DPoP())
        case _:
            return AuthorizationCodeAuth(
                client_id=context.get("client_id"),
                client_secret=context.get("client_secret"),
                client_metadata_url=CLIENT_METADATA,
                redirect=HeadlessRedirect(),
            )


def _enterprise(context: Mapping[str, Any]) -> EnterpriseAuth:
    provider = IdentityProvider(
        AuthorizationServerMetadata(issuer=context["idp_issuer"], token_endpoint=context["idp_token_endpoint"]),
        ClientCredentials(context["idp_client_id"]),
    )
    return EnterpriseAuth(
        client_id=context["client_id"],
        client_secret=context["client_secret"],
        provider=provider,
        identity_token=context["idp_id_token"],
    )
