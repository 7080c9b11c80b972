"""The token endpoint: what is posted there, how a client proves who it is, and what the answer means, without I/O.

Layer: L4; no I/O.
Source: RFC 6749, 2.3.1, 4.1.3 and 5; RFC 7523, 2.2; OAuth 2.1, 3.2.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import msgspec

from dedalus_mcp.client.auth.failures import AuthConfigError, DiscoveryError, TokenError, said
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, ClientInformation, TokenResponse, decode

__all__ = (
    "NOBODY",
    "ClientCredentials",
    "Refusal",
    "authenticated",
    "is_token",
    "read_token",
    "refusal_of",
    "refused",
)

JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

MAX_CODE = 64
"""Characters of an error code; those that there are have half of that."""

Assertion = Callable[[AuthorizationServerMetadata], str]


@dataclass(frozen=True, slots=True, repr=False)
class ClientCredentials:
    """Who a client is at one authorization server, and how it proves that.

    Attributes:
        id: Its name there.
        secret: What it shares with the server; None for a public client.
        method: How it proves who it is, of `token_endpoint_auth_methods_supported`; None to find out.
        assertion: Makes a signed statement for a server (`private_key_jwt`); None without a key.
    """

    id: str
    secret: str | None = None
    method: str | None = None
    assertion: Assertion | None = None

    def __repr__(self) -> str:
        return f"ClientCredentials({self.id!r}, method={self.method!r})"

    @classmethod
    def of(cls, information: ClientInformation) -> ClientCredentials:
        """Make them of what a server said when the client registered."""
        return cls(information.client_id, information.client_secret, information.token_endpoint_auth_method)


NOBODY: Final = ClientCredentials("")
"""A client without a name: what it shows says all that there is to say."""


def authenticated(
    form: Mapping[str, str], client: ClientCredentials, server: AuthorizationServerMetadata
) -> tuple[dict[str, str], dict[str, str]]:
    """Return a form and headers that also say who the client is.

    Raises:
        AuthConfigError: The server takes none of the ways in which this client could.
    """
    method = _method(client, server)
    whole = dict(form)
    if method == "client_secret_basic":
        pair = f"{quote(client.id, safe='')}:{quote(client.secret or '', safe='')}"
        return whole, {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    if client != NOBODY:
        whole["client_id"] = client.id
    if method == "client_secret_post":
        whole["client_secret"] = client.secret or ""
    elif method == "private_key_jwt" and client.assertion is not None:
        whole |= {"client_assertion_type": JWT_BEARER, "client_assertion": client.assertion(server)}
    return whole, {}


def _method(client: ClientCredentials, server: AuthorizationServerMetadata) -> str:
    able = ["private_key_jwt"] if client.assertion is not None else []
    able += ["client_secret_basic", "client_secret_post"] if client.secret else []
    able = able or ["none"]
    if client.method is not None:
        if client.method in able or client.method == "none":
            return client.method
        raise AuthConfigError(
            f"client {said(client.id)} is to use {said(client.method)}, but can only {', '.join(able)}"
        )
    # Without a word of the server's, what RFC 8414 says is the default.
    taken = server.token_endpoint_auth_methods_supported or ("client_secret_basic", "private_key_jwt", "none")
    for each in able:
        if each in taken:
            return each
    if able == ["none"] or "none" in taken:  # a public client has nothing to prove, and some give it a secret anyway
        return "none"
    raise AuthConfigError(
        f"{said(server.issuer)} takes {said(', '.join(taken))}, but client {said(client.id)} can only {', '.join(able)}"
    )


def is_token(text: str) -> bool:
    """Whether a header can hold this as a token.  What an HTTP client says of one that cannot be sent shows it."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


class _Refusal(msgspec.Struct):
    error: str | None = None
    error_description: str | None = None


def read_token(status: int, body: bytes, where: str) -> TokenResponse:
    """Read the answer of a token endpoint.

    Raises:
        TokenError: It gave no token.
    """
    refusal = refusal_of(body)
    if status == 200 and (refusal is None or refusal.code is None):  # some say what is wrong with a 200
        try:
            token = decode(TokenResponse, body, where)
        except DiscoveryError as error:
            raise TokenError(error.message, status=status) from None
        if not is_token(token.access_token):
            raise TokenError(f"the token of {where} is none that a header could hold", status=status)
        return token
    raise refused(status, body, where, "gave no token")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An OAuth error in an answer.

    Attributes:
        code: Its code, for example ``invalid_grant``; None if the answer holds none.
        description: What the server says besides.
    """

    code: str | None
    description: str | None


def refusal_of(body: bytes) -> Refusal | None:
    """Return the OAuth error that a body holds; None if it is no JSON object."""
    try:
        found = msgspec.json.decode(body, type=_Refusal)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    description = found.error_description
    return Refusal(
        None if found.error is None else "".join(each for each in found.error if each.isprintable())[:MAX_CODE],
        None if description is None else said(description),
    )


def refused(status: int, body: bytes, where: str, what: str) -> TokenError:
    """Return the error for an answer that says no."""
    refusal = refusal_of(body) or Refusal(None, None)
    reason = f"{status}" if refusal.code is None else refusal.code
    text = f"{where} {what}: {reason}"
    if refusal.description is not None:
        text += f", {refusal.description}"
    return TokenError(text, refusal.code, refusal.description, status)
