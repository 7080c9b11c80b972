"""A token by the word of a company's identity provider, with no consent page (enterprise-managed authorization).

    identity token ──identity provider──▶ ID-JAG, for one authorization server ──that server──▶ token

Layer: L4; httpx.
Source: MCP extension "Enterprise-managed authorization" (SEP-990, AUTH-55); RFC 8693; RFC 7523, 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.discovery import find_server_metadata
from dedalus_mcp.client.auth.failures import AuthConfigError
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.jwt_bearer import JwtBearerGrant
from dedalus_mcp.client.auth.known_client import registered
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.statements import Statement, stated
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials, authenticated, read_token
from dedalus_mcp.client.auth.token_exchange import ID_TOKEN, TOKEN_EXCHANGE

__all__ = ("EnterpriseAuth", "IdentityProvider")

ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """Where a company's users sign in.

    Attributes:
        server: Its metadata, of which the token endpoint is needed; or its issuer, to fetch them.
        client: Who this program is there.
    """

    server: AuthorizationServerMetadata | str
    client: ClientCredentials


class _EnterpriseGrant(JwtBearerGrant):
    def __init__(
        self, client: Registration, provider: IdentityProvider, identity: Statement, identity_type: str
    ) -> None:
        super().__init__(client, "")
        self._provider = provider
        self._identity = identity
        self._identity_type = identity_type

    async def assertion(self, flow: Flow) -> str:
        """Let the identity provider say to the authorization server who the user is."""
        provider = self._provider.server
        if isinstance(provider, str):
            provider = await find_server_metadata(flow.fetcher, provider)
        if provider.token_endpoint is None:
            raise AuthConfigError(f"the identity provider {provider.issuer!r:.200} has no token_endpoint")
        form = {
            "grant_type": TOKEN_EXCHANGE,
            "requested_token_type": ID_JAG,
            "audience": flow.server.issuer,
            "subject_token": await stated(self._identity, provider),
            "subject_token_type": self._identity_type,
            **flow.scope,
        }
        if flow.resource is not None:
            form["resource"] = flow.resource
        whole, headers = authenticated(form, self._provider.client, provider)
        answer = await flow.fetcher.post_form(provider.token_endpoint, whole, headers)
        token = read_token(answer.status, answer.body, answer.url)
        if token.issued_token_type != ID_JAG:  # anything else would be shown to somebody whom it is not for
            raise AuthConfigError(f"{answer.url} gave a {token.issued_token_type!r:.100}, not a {ID_JAG}")
        return token.access_token


class EnterpriseAuth(OAuth):
    """Gets tokens for a user who is signed in at a company's identity provider.

    Args:
        client_id: Who the client is at the MCP server's authorization server.
        client_secret: What it shares with that.
        private_key: The key that it signs with instead.
        provider: Where the user is signed in.
        identity_token: What the provider said when the user signed in, an ID token; or what returns it.
        identity_token_type: What kind of token that is, if it is another.
        options: See `OAuth`.

    Raises:
        ValueError: There are both a secret and a key.

    Attributes:
        mcp_extensions: What a client declares that uses this.
    """

    mcp_extensions: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "io.modelcontextprotocol/enterprise-managed-authorization": {}
    }

    def __init__(
        self,
        *,
        client_id: str,
        provider: IdentityProvider,
        identity_token: Statement,
        identity_token_type: str = ID_TOKEN,
        client_secret: str | None = None,
        private_key: SigningKey | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        client = registered(client_id, client_secret, private_key, options.get("issuer"))
        super().__init__(_EnterpriseGrant(client, provider, identity_token, identity_token_type), **options)
