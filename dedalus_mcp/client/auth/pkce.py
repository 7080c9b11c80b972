"""PKCE: whoever redeems a code must be who asked for it.

Layer: L4; no I/O.
Source: RFC 7636, 4; OAuth 2.1, 4.1.1.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe

from dedalus_mcp.client.auth.failures import DiscoveryError, said
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata

__all__ = ("check_support", "code_challenge", "code_verifier")

METHOD = "S256"
VERIFIER_BYTES = 48
"""Random bytes in a verifier: 64 characters, of the 43 to 128 that are legal."""


def code_verifier() -> str:
    """Return a new secret."""
    return token_urlsafe(VERIFIER_BYTES)


def code_challenge(verifier: str) -> str:
    """Return what the authorization server is told beforehand."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def check_support(server: AuthorizationServerMetadata) -> None:
    """Go on only with a server that has the one safe kind of PKCE (AUTH-33).

    Raises:
        DiscoveryError: It does not say that it has.
    """
    methods = server.code_challenge_methods_supported or ()
    if METHOD not in methods:
        lists = said(", ".join(methods)) if methods else "none"
        raise DiscoveryError(f"{said(server.issuer)} does not protect codes by {METHOD} (PKCE): it lists {lists}")
