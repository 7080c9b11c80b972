"""Proofs that who sends a token holds the key that it was made for (DPoP).

    generate_dpop_keypair ──▶ key ──generate_dpop_proof──▶ proof, for one request
                                                             │
                           DPoPValidator ◀── the request ◀───┘   once, and soon

Layer: L2; no I/O.
Source: RFC 9449.
"""

from __future__ import annotations

import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import unquote, urlsplit

from dedalus_mcp.auth.jose import SigningKey, thumbprint

__all__ = (
    "compute_access_token_hash",
    "compute_jwk_thumbprint",
    "generate_dpop_keypair",
    "generate_dpop_proof",
    "target_of",
)

PROOF_TYPE = "dpop+jwt"

_PORTS = {"http": 80, "https": 443}
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")
_UNRESERVED = "-._~"  # beside letters and digits: escaped or not, they are the same


def generate_dpop_keypair() -> tuple[SigningKey, dict[str, str]]:
    """Return a new key for ES256, and its public half as a JWK.

    Raises:
        ImportError: The extra `auth` is not installed.
    """
    key = SigningKey.generate()
    return key, key.public


def generate_dpop_proof(
    private_key: SigningKey,
    method: str,
    url: str,
    access_token: str | None = None,
    nonce: str | None = None,
) -> str:
    """Return the value of the header `DPoP` for one request; the next one needs another.

    Args:
        private_key: The key that the token is bound to, or is to be.
        method: The request's method.
        url: Where the request goes; query and fragment are left out.
        access_token: The token that the request carries, if it does.
        nonce: What the server wants to see in proofs, if it said so.

    Raises:
        ValueError: `url` is no URL of a server.
    """
    claims: dict[str, Any] = {
        "jti": token_urlsafe(16),
        "htm": method,
        "htu": target_of(url),
        "iat": int(time.time()),
    }
    if access_token is not None:
        claims["ath"] = compute_access_token_hash(access_token)
    if nonce is not None:
        claims["nonce"] = nonce
    return private_key.sign({"typ": PROOF_TYPE, "jwk": private_key.public}, claims)


def compute_jwk_thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the thumbprint of a public key: what a token says of the key that it is bound to (`cnf.jkt`).

    Raises:
        InvalidToken: It is no public key.
    """
    return thumbprint(jwk)


def compute_access_token_hash(access_token: str) -> str:
    """Return what a proof says of the token that goes with it (`ath`)."""
    return urlsafe_b64encode(sha256(access_token.encode()).digest()).decode().rstrip("=")


def target_of(url: str) -> str:
    """Return a URL without query and fragment, in the one form of all that mean the same (RFC 3986, 6.2).

    Raises:
        ValueError: It is no http or https URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"no proof can be made for {url!r:.100}: legal are http:// and https:// URLs")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{_without_dots(_ESCAPE.sub(_usual, parts.path))}"


def _usual(escape: re.Match[str]) -> str:
    letter = unquote(escape[0])
    return letter if letter.isascii() and (letter.isalnum() or letter in _UNRESERVED) else escape[0].upper()


def _without_dots(path: str) -> str:
    """The path with what goes here (``.``) and up (``..``) gone its way (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if path.endswith(("/.", "/..")):
        kept.append("")
    return "/" + "/".join(kept)
