"""A token for another token (token exchange).

Layer: L4; httpx.
Source: RFC 8693.
"""

from __future__ import annotations

from typing import Unpack

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.known_client import KnownClient, registered
from dedalus_mcp.client.auth.metadata import TokenResponse
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.statements import Statement, stated

__all__ = ("ACCESS_TOKEN", "ID_TOKEN", "TOKEN_EXCHANGE", "TokenExchangeAuth")

TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"


class _TokenExchangeGrant(KnownClient):
    def __init__(
        self, client: Registration, subject: tuple[Statement, str], actor: tuple[Statement, str] | None
    ) -> None:
        super().__init__(client)
        self._subject = subject
        self._actor = actor

    async def obtain(self, flow: Flow) -> TokenResponse:
        """See `Grant`."""
        form = {
            "grant_type": TOKEN_EXCHANGE,
            "subject_token": await stated(self._subject[0], flow.server),
            "subject_token_type": self._subject[1],
            "requested_token_type": ACCESS_TOKEN,
            **flow.scope,
        }
        if self._actor is not None:
            form |= {
                "actor_token": await stated(self._actor[0], flow.server),
                "actor_token_type": self._actor[1],
            }
        return await flow.token(form, await self.client(flow))


class TokenExchangeAuth(OAuth):
    """Gets tokens in exchange for one that the program has already: that of its user, say.

    Give `issuer`: else the token is shown to the first authorization server that the MCP server names.

    Args:
        client_id: Who the client is at the authorization server.
        client_secret: What it shares with that.
        private_key: The key that it signs with instead.
        subject_token: The token of whoever is acted for, or what returns it: see `Statement`.
        subject_token_type: What kind of token that is.
        actor_token: The token of whoever acts, if that is another; see `Statement`.
        actor_token_type: What kind of token that is.
        options: See `OAuth`.

    Raises:
        ValueError: There are both a secret and a key.
    """

    def __init__(  # noqa: PLR0913 - the client, and two tokens with their types
        self,
        *,
        client_id: str,
        subject_token: Statement,
        subject_token_type: str = ACCESS_TOKEN,
        actor_token: Statement | None = None,
        actor_token_type: str = ACCESS_TOKEN,
        client_secret: str | None = None,
        private_key: SigningKey | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        client = registered(client_id, client_secret, private_key, options.get("issuer"))
        actor = None if actor_token is None else (actor_token, actor_token_type)
        super().__init__(_TokenExchangeGrant(client, (subject_token, subject_token_type), actor), **options)
