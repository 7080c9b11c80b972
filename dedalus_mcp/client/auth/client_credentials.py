"""A token for the client itself, whoever uses it (client credentials).

Layer: L4; httpx.
Source: RFC 6749, 4.4; MCP extension "OAuth client credentials" (SEP-1046, AUTH-53).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.known_client import KnownClient, registered
from dedalus_mcp.client.auth.metadata import TokenResponse
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions

__all__ = ("ClientCredentialsAuth",)


class _ClientCredentialsGrant(KnownClient):
    async def obtain(self, flow: Flow) -> TokenResponse:
        """See `Grant`."""
        return await flow.token({"grant_type": "client_credentials", **flow.scope}, await self.client(flow))


class ClientCredentialsAuth(OAuth):
    """Gets tokens for a program of its own, with nobody at the screen.

    Give `issuer` where there is a secret: else it is shown to the first authorization server that the
    MCP server names.  A key is never shown to anybody.

    Args:
        client_id: Who the client is at the authorization server.
        client_secret: What it shares with that.
        private_key: The key that it signs with instead (`private_key_jwt`).
        options: See `OAuth`.

    Raises:
        ValueError: There is neither secret nor key, or both.

    Attributes:
        mcp_extensions: What a client declares that uses this.
    """

    mcp_extensions: ClassVar[Mapping[str, Mapping[str, Any]]] = {"io.modelcontextprotocol/oauth-client-credentials": {}}

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: str | None = None,
        private_key: SigningKey | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        if client_secret is None and private_key is None:
            raise ValueError("client credentials are client_secret= or private_key=")
        client = registered(client_id, client_secret, private_key, options.get("issuer"))
        super().__init__(_ClientCredentialsGrant(client), **options)
