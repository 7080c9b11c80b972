"""What is kept of a token: what it is for, who gave it, and until when it is good.

A login belongs to one MCP server and one issuer.  It is read back for no other server, and is used
with no other issuer (AUTH-30).

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import ClassVar, TypeVar

import msgspec

from dedalus_mcp.client.auth.failures import AuthError
from dedalus_mcp.client.auth.metadata import Document, TokenResponse
from dedalus_mcp.client.auth.storage import TokenStorage, locked

__all__ = ("Login", "alone", "client_key", "load", "save")

logger = logging.getLogger("dedalus_mcp")

# A token is renewed this many seconds before its end, or a tenth of its life if that is less.
EARLY_SECONDS = 30.0
LONGEST_LIFE = 10 * 365 * 86400.0

DocumentT = TypeVar("DocumentT", bound=Document)


class Login(Document, frozen=True, kw_only=True):
    """A token that was got.

    Attributes:
        server: The MCP server, as `canonical`.
        issuer: Who gave it.
        resource: The resource that it was asked for; None at a server of 2025-03-26.
        requested: The scopes that have been asked for.
        token: The token.
        got_at: When it was got, in seconds since the epoch.
        bound_to: The thumbprint of the key that it is bound to; None for a bearer token.
    """

    secret: ClassVar[frozenset[str]] = frozenset({"token"})

    server: str
    issuer: str
    resource: str | None = None
    requested: tuple[str, ...] = ()
    token: TokenResponse
    got_at: float
    bound_to: str | None = None

    def is_ending(self, now: float) -> bool:
        """Whether the token is at its end, or a little before that."""
        if self.token.expires_in is None:
            return False
        life = min(max(self.token.expires_in, 0.0), LONGEST_LIFE)
        margin = min(EARLY_SECONDS, life / 10)
        return now >= self.got_at + life - margin or now < self.got_at - EARLY_SECONDS  # or the clock was set back

    def renewed(self, token: TokenResponse, now: float) -> Login:
        """Return the login with a new token; its refresh token stays if there is no new one (B136)."""
        if token.refresh_token is None:
            token = msgspec.structs.replace(token, refresh_token=self.token.refresh_token)
        return msgspec.structs.replace(self, token=token, got_at=now)

    def without_refresh(self) -> Login:
        """Return the login without the refresh token, which is good for nothing any more."""
        return msgspec.structs.replace(self, token=msgspec.structs.replace(self.token, refresh_token=None))


def client_key(issuer: str, server: str) -> str:
    """Return the key under which a storage keeps a dynamic registration: it belongs to one issuer (AUTH-30).

    And to one MCP server: a refresh token is of use to the client alone that it was given to, and whoever signs
    in for another server meanwhile may have to register anew.
    """
    return f"client {issuer} {server}"


async def load(storage: TokenStorage, key: str, kind: type[DocumentT]) -> DocumentT | None:
    """Return what is kept under a key; what cannot be read is as good as nothing.

    Raises:
        AuthError: The storage fails.
    """
    try:
        kept = await storage.load(key)
    except Exception as error:  # whatever a storage raises: it must not look as if the MCP server had failed
        raise AuthError(f"the token storage cannot be read: {str(error) or type(error).__name__:.200}") from error
    if kept is None:
        return None
    try:
        return msgspec.json.decode(kept, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        logger.warning("what is kept as %r is no %s any more, and is not used", key, kind.__name__)
        return None


@asynccontextmanager
async def alone(storage: TokenStorage, key: str) -> AsyncGenerator[None]:
    """See `storage.locked`.

    Raises:
        AuthError: The storage fails.
    """
    try:
        async with locked(storage, key):
            yield
    except OSError as error:
        if isinstance(error, AuthError):  # of what was done meanwhile
            raise
        raise AuthError(f"the token storage cannot be locked: {error}") from error


async def save(storage: TokenStorage, key: str, document: Document | None) -> None:
    """Keep a document; None forgets it.

    Raises:
        AuthError: The storage fails.
    """
    try:
        await storage.save(key, None if document is None else msgspec.json.encode(document))
    except Exception as error:
        raise AuthError(f"the token storage cannot be written: {str(error) or type(error).__name__:.200}") from error
