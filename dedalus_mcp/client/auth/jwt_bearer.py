"""A token for a signed statement of somebody whom the authorization server trusts (JWT bearer).

With nothing but the statement this is workload identity federation: a program that runs on a
platform shows what the platform says of it, and needs neither an id nor a secret of its own.

Layer: L4; httpx.
Source: RFC 7523, 2.1; MCP extension "Workload identity federation" (SEP-1933).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Unpack

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.failures import TokenError
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.known_client import KnownClient, registered
from dedalus_mcp.client.auth.metadata import TokenResponse
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.statements import Statement, stated

__all__ = ("JWT_BEARER_GRANT", "JwtBearerAuth", "JwtBearerGrant")

JWT_BEARER_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class JwtBearerGrant(KnownClient):
    """The grant.

    A statement that was refused is not shown again: the answer would be the same, and whoever
    watches the authorization server would take it for an attack.

    Args:
        client: Who the client is; None for nobody.
        assertion: The statement.
    """

    def __init__(self, client: Registration | None, assertion: Statement) -> None:
        super().__init__(client)
        self._statement = assertion
        self._refused: tuple[bytes, TokenError] | None = None

    async def assertion(self, flow: Flow) -> str:
        """Return the statement for a server.

        Raises:
            AuthError: There is none.
        """
        return await stated(self._statement, flow.server)

    async def obtain(self, flow: Flow) -> TokenResponse:
        """See `Grant`."""
        assertion = await self.assertion(flow)
        shown = sha256(repr((flow.server.issuer, flow.resource, flow.scopes, assertion)).encode()).digest()
        if self._refused is not None and self._refused[0] == shown:
            raise TokenError(*self._refused[1].args)
        form = {"grant_type": JWT_BEARER_GRANT, "assertion": assertion, **flow.scope}
        try:
            return await flow.token(form, await self.client(flow))
        except TokenError as error:
            if error.code is not None:  # it was refused; without a code, the server failed
                self._refused = (shown, error)
            raise


class JwtBearerAuth(OAuth):
    """Gets tokens for a signed statement (JWT) of somebody whom the authorization server trusts.

    Give `issuer`: else the statement is shown to whichever authorization server the MCP server names.

    Args:
        assertion: The statement, or what returns it: see `Statement`.
        client_id: Who the client is at the authorization server; None where the statement says enough.
        client_secret: What it shares with that.
        private_key: The key that it signs with instead.
        options: See `OAuth`.

    Raises:
        ValueError: There are both a secret and a key, or one of them without a client id.
    """

    def __init__(
        self,
        assertion: Statement,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        private_key: SigningKey | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        if client_id is None and (client_secret or private_key):
            raise ValueError("client_secret= and private_key= need a client_id=")
        issuer = options.get("issuer")
        client = None if client_id is None else registered(client_id, client_secret, private_key, issuer)
        super().__init__(JwtBearerGrant(client, assertion), **options)
