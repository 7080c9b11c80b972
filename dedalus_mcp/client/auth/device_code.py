"""A user signs in on another device, where there is a browser (device authorization).

    ask for a code ──▶ show it to the user ──▶ poll ──▶ pending: wait, and again ──▶ token
                                                ├── slow_down: wait longer from now on
                                                └── denied, expired: over

Layer: L4; httpx.
Source: RFC 8628.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import ClassVar, TypeAlias, Unpack

import anyio
import msgspec

from dedalus_mcp.client.auth.failures import AuthError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.known_client import KnownClient
from dedalus_mcp.client.auth.metadata import ClientMetadata, Document, Seconds, TokenResponse, decode
from dedalus_mcp.client.auth.oauth import OAuth, OAuthOptions
from dedalus_mcp.client.auth.registration import DEFAULT, Registration
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials, authenticated, refused

__all__ = ("DeviceAuthorization", "DeviceCodeAuth", "Shown")

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"

INTERVAL = 5.0  # seconds between two polls where the server does not say
SHORTEST_INTERVAL, LONGEST_INTERVAL = 1.0, 120.0
SLOWER = 5.0  # seconds more after every slow_down (RFC 8628, 3.5)
LONGEST_LIFE = 1800.0
"""Seconds that a user is waited for, whatever the server says."""

MAX_USER_CODE = 64
"""Characters of what a person has to type; real ones have eight."""


class DeviceAuthorization(Document, frozen=True, kw_only=True):
    """What the user needs to know.

    Attributes:
        user_code: What to type.
        verification_uri: Where.
        verification_uri_complete: Where nothing need be typed, as for a QR code; None if there is no such place.
        expires_in: Until when, in seconds from now.
        interval: Seconds between two polls.
    """

    secret: ClassVar[frozenset[str]] = frozenset({"device_code"})

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None = None
    expires_in: Seconds
    interval: Seconds | None = None


Shown: TypeAlias = Callable[[DeviceAuthorization], Awaitable[object] | object]
"""Shows a code to the user, a function, plain or async; the token is waited for when it has returned."""


class _DeviceCodeGrant(KnownClient):
    interactive = True

    def __init__(self, client: Registration, show: Shown) -> None:
        super().__init__(client)
        self._show = show

    async def obtain(self, flow: Flow) -> TokenResponse:
        """See `Grant`."""
        client = await self.client(flow)
        authorization = await _authorization(flow, client)
        with anyio.move_on_after(max(0.0, min(authorization.expires_in, LONGEST_LIFE))):
            await self._shown(authorization)
            return await _polled(flow, client, authorization)
        raise TokenError("the user did not sign in on the other device in time", "expired_token")

    async def _shown(self, authorization: DeviceAuthorization) -> None:
        try:
            shown = self._show(authorization)
            if isawaitable(shown):
                await shown
        except Exception as error:  # else it would look as if the MCP server could not be reached
            raise AuthError(f"the code cannot be shown: {type(error).__name__}: {error!s:.200}") from error


class DeviceCodeAuth(OAuth):
    """Signs a user in on another device, for a program that can open no browser.

    Args:
        client_id: The id of this client, where it is registered beforehand; None to register wherever it is new.
        client_secret: What it shares with the authorization server there.
        client_metadata_url: An `https://` URL that is its id, and where its metadata are.
        metadata: What it says of itself where it registers on the spot; its name, above all.
        show: Shows the user where to go and what to type there; None to write it to stderr.
        options: See `OAuth`.
    """

    def __init__(
        self,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        client_metadata_url: str | None = None,
        metadata: ClientMetadata = DEFAULT,
        show: Shown | None = None,
        **options: Unpack[OAuthOptions],
    ) -> None:
        registration = Registration(
            client_id=client_id,
            client_secret=client_secret,
            issuer=options.get("issuer"),
            client_metadata_url=client_metadata_url,
            metadata=msgspec.structs.replace(metadata, grant_types=(GRANT_TYPE, "refresh_token")),
        )
        super().__init__(_DeviceCodeGrant(registration, show or _write), **options)


async def _authorization(flow: Flow, client: ClientCredentials) -> DeviceAuthorization:
    """Ask for a code."""
    endpoint = flow.endpoint(flow.server.device_authorization_endpoint, "device_authorization_endpoint")
    form = dict(flow.scope) if flow.resource is None else {"resource": flow.resource, **flow.scope}
    whole, headers = authenticated(form, client, flow.server)
    answer = await flow.fetcher.post_form(endpoint, whole, headers)
    if answer.status != 200:
        raise refused(answer.status, answer.body, answer.url, "gave no code for another device")
    made = decode(DeviceAuthorization, answer.body, answer.url)
    if not made.user_code.isprintable() or not 0 < len(made.user_code) <= MAX_USER_CODE:
        raise DiscoveryError(f"{answer.url} gave a code that nobody can type")
    for place in filter(None, (made.verification_uri, made.verification_uri_complete)):
        flow.fetcher.reach.check(place, "the page for the user")  # a person opens it (SEC-10)
    return made


async def _polled(flow: Flow, client: ClientCredentials, authorization: DeviceAuthorization) -> TokenResponse:
    """Ask for the token until the user has decided."""
    endpoint = flow.endpoint(flow.server.token_endpoint, "token_endpoint")
    flow.fetcher.reach.check(endpoint, "the token endpoint")  # what may not be asked now may not be asked later
    form = {"grant_type": GRANT_TYPE, "device_code": authorization.device_code}
    interval = min(max(authorization.interval or INTERVAL, SHORTEST_INTERVAL), LONGEST_INTERVAL)
    while True:
        await anyio.sleep(interval)
        try:
            return await flow.token(form, client)
        except TokenError as error:
            if error.code == "slow_down" or error.status == 429:
                interval = min(interval + SLOWER, LONGEST_INTERVAL)
            elif error.code != "authorization_pending" and (error.status or 0) < 500:
                raise
        except DiscoveryError:  # no answer: the network is back in a moment, maybe (RFC 8628, 3.5)
            interval = min(interval * 2, LONGEST_INTERVAL)


def _write(authorization: DeviceAuthorization) -> None:
    where = authorization.verification_uri
    sys.stderr.write(f"To sign in, open {where} on any device and enter the code {authorization.user_code}\n")
    sys.stderr.flush()
