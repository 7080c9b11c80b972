"""Tokens that are bound to a key, from the client's side (DPoP).

    OAuth(..., proof=DPoP())          tokens are asked for, and shown, with proofs
    DPoPAuth(token, key)              a token that is there already

Layer: L4; httpx.
Source: RFC 9449; MCP extension "DPoP profile" (SEP-1932).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

import httpx

from dedalus_mcp.auth.dpop_proof import generate_dpop_proof, target_of
from dedalus_mcp.auth.jose import SigningKey
from dedalus_mcp.client.auth.challenge import parse_www_authenticate
from dedalus_mcp.client.auth.grant import NONCE_RETRIES
from dedalus_mcp.client.auth.token_endpoint import is_token

__all__ = ("DPoP", "DPoPAuth")

MAX_NONCES = 64
"""URLs whose nonces are remembered; the oldest goes first."""

MAX_NONCE = 1024
"""Characters of a nonce, which goes into every proof."""


class DPoP:
    """Binds tokens to a key: a `Proof`.

    A nonce is for the URL that it came from: what the authorization server wants to see is
    nothing to the MCP server, even where both are one host.

    Args:
        key: The key; None for a new one.  A token that is kept for the next run of a program is of
            use with the same key only, so a key has to be kept as well (`SigningKey.pem`).

    Raises:
        ImportError: The extra `auth` is not installed.
    """

    scheme = "DPoP"

    def __init__(self, key: SigningKey | None = None) -> None:
        self._key = key or SigningKey.generate()
        self._nonces: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"DPoP({self.thumbprint})"

    @property
    def thumbprint(self) -> str:
        """See `Proof`."""
        return self._key.thumbprint

    def headers(self, method: str, url: str, token: str | None = None) -> Mapping[str, str]:
        """See `Proof`."""
        return {"DPoP": generate_dpop_proof(self._key, method, url, token, self._nonces.get(target_of(url)))}

    def learn(self, url: str, headers: Mapping[str, str]) -> None:
        """See `Proof`."""
        nonce, target = headers.get("dpop-nonce", ""), target_of(url)
        if not 0 < len(nonce) <= MAX_NONCE:
            return
        self._nonces.pop(target, None)
        self._nonces[target] = nonce
        if len(self._nonces) > MAX_NONCES:
            del self._nonces[next(iter(self._nonces))]


class DPoPAuth(httpx.Auth):
    """Shows a token that is there already, with proofs; for `httpx.Client` and `httpx.AsyncClient` alike.

    Whatever server is asked gets to see the token: give it to the client of one server.

    Args:
        access_token: The token.
        dpop_key: The key that it is bound to.
        nonce: What proofs are to carry at first, if that is known.

    Raises:
        ImportError: The extra `auth` is not installed.
        ValueError: The token is none that a header could hold.
    """

    def __init__(self, access_token: str, dpop_key: SigningKey, nonce: str | None = None) -> None:
        self.set_access_token(access_token)
        self._proof = DPoP(dpop_key)
        self._first_nonce = nonce

    def __repr__(self) -> str:
        return f"DPoPAuth({self.thumbprint})"

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the key."""
        return self._proof.thumbprint

    def set_access_token(self, access_token: str) -> None:
        """Show another token from now on, bound to the same key.

        Raises:
            ValueError: The token is none that a header could hold.
        """
        if not is_token(access_token):
            raise ValueError("a token is printable ASCII without spaces")
        self._token = access_token

    def set_nonce(self, nonce: str) -> None:
        """Let proofs carry a nonce.  What servers say is heard without this."""
        self._first_nonce = nonce

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """See `httpx.Auth`; a server that wants to see another nonce is asked again, within bounds."""
        url = str(request.url)
        if self._first_nonce is not None:
            self._proof.learn(url, {"dpop-nonce": self._first_nonce})
            self._first_nonce = None
        request.headers["authorization"] = f"{self._proof.scheme} {self._token}"
        for _ in range(1 + NONCE_RETRIES):
            request.headers.update(self._proof.headers(request.method, url, self._token))
            response = yield request
            self._proof.learn(url, response.headers)
            if not _wants_nonce(response):
                return


def _wants_nonce(response: httpx.Response) -> bool:
    if response.status_code != 401 or "dpop-nonce" not in response.headers:
        return False
    challenges = parse_www_authenticate(*response.headers.get_list("www-authenticate"))
    return any(each.error == "use_dpop_nonce" for each in challenges)
