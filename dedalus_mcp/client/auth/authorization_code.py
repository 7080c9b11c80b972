"""The authorization code grant: a user signs in, and agrees.

    listen ──▶ registered ──▶ the user's browser ──▶ code ──▶ token

Layer: L4.
Source: OAuth 2.1, 4.1; MCP 2026-07-28, basic/authorization.
"""

from __future__ import annotations

from typing import Unpack
from urllib.parse import urlsplit

from dedalus_mcp.client.auth.authorization_request import AuthorizationRequest
from dedalus_mcp.client.auth.failures import AuthConfigError, TokenError, said
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.metadata import ClientMetadata, TokenResponse
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.pkce import check_support
from dedalus_mcp.client.auth.reach import is_loopback
from dedalus_mcp.client.auth.redirect import LoopbackRedirect, Redirect
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials

__all__ = ("AuthorizationCode", "AuthorizationCodeAuth")


class AuthorizationCode:
    """A `Grant`: a user signs in with their browser, and agrees.

    Args:
        registration: Who this client is; None to register wherever it is new.
        redirect: How the user is sent away and comes back; None for their browser and a listener here.
    """

    interactive = True

    def __init__(self, registration: Registration | None = None, redirect: Redirect | None = None) -> None:
        self._registration = registration or Registration()
        self._redirect: Redirect = redirect or LoopbackRedirect()

    async def client(self, flow: Flow) -> ClientCredentials:
        """See `Grant`."""
        known = await self._registration.known(flow)
        if known is None:
            raise TokenError(
                f"this client is not registered with {said(flow.server.issuer)} any more", "invalid_client"
            )
        return known

    async def obtain(self, flow: Flow) -> TokenResponse:
        """See `Grant`."""
        endpoint = flow.endpoint(flow.server.authorization_endpoint, "authorization_endpoint")
        flow.fetcher.reach.check(endpoint, "the authorization endpoint")  # before it is opened in a browser (SEC-10)
        if flow.resource is not None:  # 2025-03-26 has no word for it
            check_support(flow.server)
        preferred = await self._registration.redirect_uris(flow)
        async with self._redirect.listen(preferred) as landing:
            _check(landing.uri)
            client = await self._registration.client(flow, landing.uri)
            resource = {} if flow.resource is None else {"resource": flow.resource}
            request = AuthorizationRequest.to(
                flow.server, endpoint, client_id=client.id, redirect_uri=landing.uri, more={**flow.scope, **resource}
            )
            await self._registration.doubt(flow, doubtful=True)
            code = request.code_in(await landing.send(request.url, request.state))
            await self._registration.doubt(flow, doubtful=False)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": request.redirect_uri,
            "code_verifier": request.verifier,
        }
        return await flow.token(form, client)


def _check(redirect_uri: str) -> None:
    """Refuse to let a code come back where others could read it (AUTH-47)."""
    parts = urlsplit(redirect_uri)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise AuthConfigError(
            f"users cannot come back to {said(redirect_uri)}: legal are https:// URLs, and http:// on this machine"
        )


class AuthorizationCodeAuth(OAuth):
    """Signs a user in with their browser when the server asks for it.

    Args:
        client_id: The id of this client, where it is registered beforehand.
        client_secret: What it shares with the authorization server there.
        client_metadata_url: An `https://` URL that is its id, and where its metadata are.
        metadata: What it says of itself where it registers on the spot; its name, above all.
        redirect: How the user is sent away and comes back; None for their browser and a listener on this machine.
        options: See `OAuth`.
    """

    def __init__(
        self,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        client_metadata_url: str | None = None,
        metadata: ClientMetadata | None = None,
        redirect: Redirect | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        registration = Registration(
            client_id=client_id,
            client_secret=client_secret,
            issuer=options.get("issuer"),
            client_metadata_url=client_metadata_url,
            metadata=metadata or ClientMetadata(client_name="dedalus-mcp"),
        )
        super().__init__(AuthorizationCode(registration, redirect), **options)
