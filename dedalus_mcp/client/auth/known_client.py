"""A client that is registered beforehand, and shows that by a secret or a key.

    client_secret=    client_secret_basic, or client_secret_post
    private_key=      private_key_jwt: signed anew for every request

Layer: L4.
Source: RFC 7523, 2.2 and 3; OpenID Connect Core 1.0, 9.
"""

from __future__ import annotations

import time
from secrets import token_urlsafe

from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.failures import AuthConfigError
from dedalus_mcp.client.auth.grant import Flow
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.registration import Registration
from dedalus_mcp.client.auth.token_endpoint import NOBODY, Assertion, ClientCredentials

__all__ = ("KnownClient", "client_assertion", "registered")

ASSERTION_SECONDS = 60
"""For how long a statement is good; it is used at once."""


class KnownClient:
    """The half of a `Grant` that is the same wherever no person takes part.

    Args:
        registration: Who the client is; None for nobody.
    """

    interactive = False

    def __init__(self, registration: Registration | None) -> None:
        self._registration = registration

    async def client(self, flow: Flow) -> ClientCredentials:
        """See `Grant`."""
        return NOBODY if self._registration is None else await self._registration.client(flow)


def registered(
    client_id: str, client_secret: str | None, private_key: SigningKey | None, issuer: str | None
) -> Registration:
    """Return who a client is that is registered beforehand.

    Args:
        client_id: Its id.
        client_secret: What it shares with the authorization server; None for a key, or for nothing to show.
        private_key: What it signs with.
        issuer: Where it is registered; None for the first authorization server that it is used with.

    Raises:
        TypeError: The key is none.
        ValueError: It has both a secret and a key, or no id.
    """
    if not client_id:
        raise ValueError("client_id= is empty")
    if client_secret is not None and private_key is not None:
        raise ValueError("a client proves who it is by client_secret= or by private_key=, not by both")
    if not isinstance(private_key, SigningKey | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
        raise TypeError(f"private_key= is a SigningKey(...), not {type(private_key).__name__}")
    assertion = None if private_key is None else client_assertion(client_id, private_key)
    return Registration(client_id=client_id, client_secret=client_secret, issuer=issuer, assertion=assertion)


def client_assertion(client_id: str, key: SigningKey) -> Assertion:
    """Return what makes statements of a client: that it is the one who asks, and whom."""

    def assertion(server: AuthorizationServerMetadata) -> str:
        taken = server.token_endpoint_auth_signing_alg_values_supported
        if taken is not None and key.algorithm not in taken:
            raise AuthConfigError(
                f"{server.issuer!r:.200} takes signatures with {', '.join(taken)!r:.200}, and the key of client "
                f"{client_id!r:.100} is for {key.algorithm}"
            )
        now = int(time.time())
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": server.issuer,  # and nobody else, so that it cannot be shown on
            "jti": token_urlsafe(16),
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        }
        return key.sign({"typ": "JWT"}, claims)

    return assertion
