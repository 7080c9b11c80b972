"""Who this client is at an authorization server: known there, known by a document, or registered on the spot.

    client_id=...             registered there beforehand, by whoever runs it
    client_metadata_url=...   an https:// URL that is the id, and holds what the client says of itself
    neither                   registered dynamically, once for each issuer and MCP server

In this order, as far as the server goes along.  What was agreed with one issuer is used with no other.

Layer: L4.
Source: MCP 2026-07-28, basic/authorization, "Client registration"; RFC 7591.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from dedalus_mcp.client.auth.failures import AuthConfigError, said
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.login import client_key, load, save
from dedalus_mcp.client.auth.metadata import ClientInformation, ClientMetadata, Document, decode
from dedalus_mcp.client.auth.reach import is_loopback
from dedalus_mcp.client.auth.token_endpoint import Assertion, ClientCredentials, refused

__all__ = ("Registration",)

# A registered client is not used this near to the end of its secret.
MARGIN_SECONDS = 60.0

DEFAULT = ClientMetadata(client_name="dedalus-mcp")

GRANT_TYPES = ("authorization_code", "refresh_token")


class _Issuer(Document, frozen=True, kw_only=True):
    """Whom a client id that was registered beforehand belongs to."""

    issuer: str


class _Dynamic(Document, frozen=True, kw_only=True):
    """A registration that was made on the spot.

    Attributes:
        information: What the server said.
        doubtful: Whether a user was sent to the server with it and has not come back: perhaps the server
            has forgotten it, and shows them a page that says so, which nobody else gets to see.
    """

    information: ClientInformation
    doubtful: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Registration:
    """How this client is known.

    Attributes:
        client_id: Its id, where it is registered beforehand.
        client_secret: What it shares with the server there.
        issuer: Where that is; None for the first issuer that it is used with, and no other then (AUTH-31).
        client_metadata_url: The URL of its metadata document, which is its id at servers that support that.
        metadata: What it says of itself when it registers.
        method: How it proves who it is; None to find out.
        assertion: Makes signed statements, for `private_key_jwt`.

    Raises:
        AuthConfigError: There is a secret without an id; or `client_metadata_url` is no https:// URL with a path.
    """

    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    client_metadata_url: str | None = None
    metadata: ClientMetadata = DEFAULT
    method: str | None = None
    assertion: Assertion | None = None

    def __post_init__(self) -> None:
        if self.client_secret is not None and self.client_id is None:
            raise AuthConfigError("client_secret= needs the client_id= that it belongs to")
        url = self.client_metadata_url
        if url is not None and (urlsplit(url).scheme != "https" or urlsplit(url).path in ("", "/")):
            raise AuthConfigError(f"client_metadata_url is an https:// URL with a path, not {said(url)}")

    def __repr__(self) -> str:
        return f"Registration({self.client_id or self.client_metadata_url or 'dynamic'!r})"

    async def known(self, flow: Flow) -> ClientCredentials | None:
        """Return who this client is at the flow's server, without asking that.

        Raises:
            AuthConfigError: It is registered, but with another issuer.
            AuthError: The storage fails.
        """
        given = await self._given(flow)
        stored = None if given is not None else await self._stored(flow)
        return given if stored is None else ClientCredentials.of(stored.information)

    async def redirect_uris(self, flow: Flow) -> tuple[str, ...]:
        """Return where users may come back, as a dynamic registration says that is there already.

        Raises:
            AuthError: The storage fails.
        """
        stored = await self._stored(flow)
        return () if stored is None else stored.information.redirect_uris or ()

    async def doubt(self, flow: Flow, *, doubtful: bool) -> None:
        """Note that a user is sent to the server, or that they have come back; it matters to dynamic registrations.

        Raises:
            AuthError: The storage fails.
        """
        stored = await self._stored(flow)
        if stored is not None and stored.doubtful is not doubtful:
            made = _Dynamic(information=stored.information, doubtful=doubtful)
            await save(flow.storage, client_key(flow.server.issuer, flow.url), made)

    async def client(self, flow: Flow, redirect_uri: str | None = None) -> ClientCredentials:
        """Return who this client is at the flow's server, registered if it has to be.

        Args:
            flow: The flow.
            redirect_uri: Where the user comes back; None if that plays no part.

        Raises:
            AuthConfigError: It is nobody there, and cannot register itself.
            AuthError: The server refuses it.
        """
        given = await self._given(flow)
        if given is not None:
            return given
        stored = await self._stored(flow)
        if stored is None or not _serves(stored, redirect_uri):
            return ClientCredentials.of(await self._registered(flow, redirect_uri))
        return ClientCredentials.of(stored.information)

    async def _given(self, flow: Flow) -> ClientCredentials | None:
        if self.client_id is not None:
            await self._check_issuer(self.client_id, flow)
            return ClientCredentials(self.client_id, self.client_secret, self.method, self.assertion)
        if self.client_metadata_url is not None and flow.server.client_id_metadata_document_supported:
            return ClientCredentials(self.client_metadata_url, None, self.method, self.assertion)
        return None

    async def _registered(self, flow: Flow, redirect_uri: str | None) -> ClientInformation:
        endpoint = flow.server.registration_endpoint
        if endpoint is None:
            raise AuthConfigError(
                f"{said(flow.server.issuer)} does not let clients register themselves: register this one there, "
                "and give its client_id="
            )
        body = msgspec.json.encode(self._introduction(flow, redirect_uri))
        answer = await flow.fetcher.post_json(endpoint, body)
        if answer.status not in (200, 201):
            raise refused(answer.status, answer.body, answer.url, "did not register this client")
        made = decode(ClientInformation, answer.body, answer.url)
        if redirect_uri is not None and made.redirect_uris is None:
            made = msgspec.structs.replace(made, redirect_uris=(redirect_uri,))
        await save(flow.storage, client_key(flow.server.issuer, flow.url), _Dynamic(information=made))
        return made

    def _introduction(self, flow: Flow, redirect_uri: str | None) -> ClientMetadata:
        given = self.metadata
        taken = flow.server.token_endpoint_auth_methods_supported or ()
        method = next((each for each in ("none", "client_secret_basic", "client_secret_post") if each in taken), None)
        return msgspec.structs.replace(
            given,
            redirect_uris=given.redirect_uris or (() if redirect_uri is None else (redirect_uri,)),
            application_type=given.application_type or _application_type(redirect_uri),
            grant_types=given.grant_types or GRANT_TYPES,
            response_types=given.response_types or ("code",),
            token_endpoint_auth_method=given.token_endpoint_auth_method or method,
        )

    async def _stored(self, flow: Flow) -> _Dynamic | None:
        stored = await load(flow.storage, client_key(flow.server.issuer, flow.url), _Dynamic)
        end = None if stored is None else stored.information.client_secret_expires_at
        return None if end and flow.now >= end - MARGIN_SECONDS else stored

    async def _check_issuer(self, client_id: str, flow: Flow) -> None:
        issuer, key = self.issuer, f"issuer of {client_id} for {flow.url}"
        if issuer is None:
            bound = await load(flow.storage, key, _Issuer)
            issuer = flow.server.issuer if bound is None else bound.issuer
            if bound is None:
                await save(flow.storage, key, _Issuer(issuer=issuer))
        if issuer != flow.server.issuer:
            raise AuthConfigError(
                f"client {said(client_id)} is registered with {said(issuer)}, and not with {said(flow.server.issuer)}"
            )


def _serves(stored: _Dynamic, redirect_uri: str | None) -> bool:
    """Whether a user can be sent to the server by this registration, and come back there."""
    return redirect_uri is None or (not stored.doubtful and redirect_uri in (stored.information.redirect_uris or ()))


def _application_type(redirect_uri: str | None) -> str:
    """A program on the user's machine is `native`, one that the user reaches by https:// is `web` (AUTH-29)."""
    parts = urlsplit(redirect_uri or "")
    return "web" if parts.scheme == "https" and not is_loopback(parts.hostname or "") else "native"
