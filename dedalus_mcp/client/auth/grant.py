"""The seams of OAuth: ways to get a token, and ways to show one.

    Grant    how a token is got: by a user's consent, a client's own name, another token ...
    Proof    how a token is bound to a key, so that it is of no use to whoever steals it (DPoP)
    Flow     what a grant is given to get one token with

Layer: L4.
Source: RFC 6749, 1.3; RFC 9449; RFC 8707.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dedalus_mcp.client.auth.failures import AuthConfigError, TokenError
from dedalus_mcp.client.auth.fetching import Fetched, Fetcher
from dedalus_mcp.client.auth.login import client_key, save
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, TokenResponse
from dedalus_mcp.client.auth.storage import TokenStorage
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials, authenticated, read_token, refusal_of

__all__ = ("NONCE_RETRIES", "Flow", "Grant", "Proof")

NONCE_RETRIES = 3
"""How often a request is sent again with another nonce: they may change while many requests are under way."""


class Proof(Protocol):
    """Binds tokens to a key (RFC 9449).  It remembers the nonces of servers, each for itself."""

    @property
    def scheme(self) -> str:
        """The type of the tokens, and the scheme of `Authorization`: ``DPoP``."""
        ...

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the key (RFC 7638): a token that is bound to another one is of no use."""
        ...

    def headers(self, method: str, url: str, token: str | None = None) -> Mapping[str, str]:
        """Return what one request carries as proof.

        Args:
            method: That of the request.
            url: Where it goes.
            token: The token that it shows; None at the token endpoint.
        """
        ...

    def learn(self, url: str, headers: Mapping[str, str]) -> None:
        """Hear the headers of an answer, which may hold the nonce that proofs are to carry from now on."""
        ...


@dataclass(frozen=True, slots=True)
class Flow:
    """What a grant is given to get one token with.

    Attributes:
        server: The authorization server, its issuer checked.
        url: The MCP server, as the user named it: of all there is here, what no server can change.
        resource: What the token is for, sent on byte for byte; None for a server of 2025-03-26.
        scopes: What it is to allow; empty to leave that to the server.
        fetcher: Sends whatever goes to the authorization server.
        storage: Keeps what belongs to it.
        proof: Binds the token to a key; None for bearer tokens.
        now: When it began, in seconds since the epoch.
    """

    server: AuthorizationServerMetadata
    url: str
    resource: str | None
    scopes: tuple[str, ...]
    fetcher: Fetcher
    storage: TokenStorage
    proof: Proof | None = None
    now: float = field(default_factory=time.time)

    @property
    def scope(self) -> dict[str, str]:
        """The `scope` of a request, or nothing."""
        return {"scope": " ".join(self.scopes)} if self.scopes else {}

    async def token(self, form: Mapping[str, str], client: ClientCredentials) -> TokenResponse:
        """Ask for a token: post `form` with the resource and whatever shows who the client is.

        Raises:
            AuthError: There is none; a `TokenError` if the server says no.
        """
        url = self.endpoint(self.server.token_endpoint, "token_endpoint")
        wanted = {} if self.resource is None else {"resource": self.resource}
        answer = await self._post(url, {**wanted, **form}, client)
        if self.proof is not None and "dpop-nonce" in answer.headers and _wants_nonce(answer):
            answer = await self._post(url, {**wanted, **form}, client)  # an assertion in it is a new one, too
        try:
            token = read_token(answer.status, answer.body, answer.url)
        except TokenError as error:
            if error.code == "invalid_client":  # the server has forgotten who registered there
                await save(self.storage, client_key(self.server.issuer, self.url), None)
            raise
        return self._checked(token, answer.url)

    def endpoint(self, url: str | None, name: str) -> str:
        """Return an endpoint of the authorization server.

        Raises:
            AuthConfigError: It has none of that name.
        """
        if url is None:
            raise AuthConfigError(f"{self.server.issuer!r:.200} has no {name}, so this grant does not work there")
        return url

    async def _post(self, url: str, form: Mapping[str, str], client: ClientCredentials) -> Fetched:
        whole, headers = authenticated(form, client, self.server)
        if self.proof is None:
            return await self.fetcher.post_form(url, whole, headers)
        answer = await self.fetcher.post_form(url, whole, {**headers, **self.proof.headers("POST", url)})
        self.proof.learn(url, answer.headers)
        return answer

    def _checked(self, token: TokenResponse, where: str) -> TokenResponse:
        wanted = "Bearer" if self.proof is None else self.proof.scheme
        if token.token_type.lower() != wanted.lower():
            hint = " (proof=DPoP() asks for those)" if token.token_type.lower() == "dpop" else ""
            raise AuthConfigError(f"{where} gave a token of type {token.token_type!r:.40}, not {wanted}{hint}")
        return token


class Grant(Protocol):
    """A way to get a token.  One object may serve several servers, one after another."""

    @property
    def interactive(self) -> bool:
        """Whether a person takes part: then it is not used before a server asks for it."""
        ...

    async def client(self, flow: Flow) -> ClientCredentials:
        """Return who this client is at the flow's server already; also used to refresh a token.

        Raises:
            AuthError: It is nobody there.
        """
        ...

    async def obtain(self, flow: Flow) -> TokenResponse:
        """Get a token.

        Raises:
            AuthError: There is none.
        """
        ...


def _wants_nonce(answer: Fetched) -> bool:
    refusal = refusal_of(answer.body)
    return answer.status in (400, 401) and refusal is not None and refusal.code == "use_dpop_nonce"
