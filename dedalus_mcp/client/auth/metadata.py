"""The documents of OAuth, as they lie on the wire: metadata, tokens, and who a client is.

What is optional may be null, and what is unknown is ignored.  Nothing secret is in any `repr`.

Layer: L4; no I/O.
Source: RFC 9728, 2; RFC 8414, 2; RFC 6749, 5.1; RFC 7591, 2 and 3.2.1; OpenID Connect Discovery 1.0, 3.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from dedalus_mcp.client.auth.failures import DiscoveryError
from dedalus_mcp.excerpt import excerpt

__all__ = (
    "AuthorizationServerMetadata",
    "ClientInformation",
    "ClientMetadata",
    "Document",
    "ResourceMetadata",
    "Seconds",
    "TokenResponse",
    "decode",
)

DocumentT = TypeVar("DocumentT", bound="Document")
Names = tuple[str, ...]

# No infinity, and nothing that compares with no number: `NaN` in quotes is taken for one where numbers are.
Seconds = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A JSON object.  The members that `secret` names are never shown."""

    secret: ClassVar[frozenset[str]] = frozenset()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        there = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [(name, "***" if name in self.secret else value) for name, value in there if value is not None]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"


class ResourceMetadata(Document, frozen=True, kw_only=True):
    """What a protected server says of itself (RFC 9728).

    Attributes:
        resource: Its name as a resource, a URL; sent on byte for byte.
        authorization_servers: The issuers whose tokens it takes.
        scopes_supported: Scopes that it knows; not more than a hint.
        dpop_bound_access_tokens_required: Whether it takes nothing but DPoP.
        dpop_signing_alg_values_supported: The algorithms of the proofs that it takes.
    """

    resource: str
    authorization_servers: Names | None = None
    scopes_supported: Names | None = None
    bearer_methods_supported: Names | None = None
    resource_name: str | None = None
    resource_documentation: str | None = None
    dpop_bound_access_tokens_required: bool | None = None
    dpop_signing_alg_values_supported: Names | None = None


class AuthorizationServerMetadata(Document, frozen=True, kw_only=True):
    """What an authorization server says of itself (RFC 8414, or OpenID Connect Discovery).

    Attributes:
        issuer: Its name, a URL; compared byte for byte.
        authorization_endpoint: Where a user is sent.
        token_endpoint: Where tokens are.
        registration_endpoint: Where clients register themselves.
        device_authorization_endpoint: Where devices without a browser begin (RFC 8628).
        code_challenge_methods_supported: Kinds of PKCE; without any, it has none (AUTH-33).
        client_id_metadata_document_supported: Whether a URL can be a client's id.
        authorization_response_iss_parameter_supported: Whether its answers carry `iss` (RFC 9207).
    """

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None
    jwks_uri: str | None = None
    scopes_supported: Names | None = None
    response_types_supported: Names | None = None
    grant_types_supported: Names | None = None
    token_endpoint_auth_methods_supported: Names | None = None
    token_endpoint_auth_signing_alg_values_supported: Names | None = None
    code_challenge_methods_supported: Names | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    dpop_signing_alg_values_supported: Names | None = None


class TokenResponse(Document, frozen=True, kw_only=True):
    """A token, as the token endpoint gives it.

    Attributes:
        access_token: What is shown to the server.
        token_type: How: ``Bearer`` or ``DPoP``, in any case.
        expires_in: For how many seconds it is good; None if the server does not say.
        refresh_token: What another one is got with.
        scope: What it allows, if that is not what was asked for.
        issued_token_type: What kind of token it is, after an exchange (RFC 8693).
    """

    secret: ClassVar[frozenset[str]] = frozenset({"access_token", "refresh_token", "id_token"})

    access_token: str
    token_type: str = "Bearer"
    expires_in: Seconds | None = None
    refresh_token: str | None = None
    scope: str | None = None
    issued_token_type: str | None = None
    id_token: str | None = None


class ClientMetadata(Document, frozen=True, kw_only=True):
    """What a client says of itself when it registers (RFC 7591), or in a document of its own.

    Attributes:
        redirect_uris: Where users come back.
        application_type: ``native`` on the user's machine, ``web`` on a server's (AUTH-29).
    """

    redirect_uris: Names = ()
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None
    software_id: str | None = None
    software_version: str | None = None
    application_type: str | None = None
    grant_types: Names | None = None
    response_types: Names | None = None
    token_endpoint_auth_method: str | None = None
    scope: str | None = None


class ClientInformation(Document, frozen=True, kw_only=True):
    """Who a client is at one authorization server, as that says when it registers.

    Attributes:
        client_id: Its name there.
        client_secret: What it proves that with.
        client_secret_expires_at: Until when, in seconds since the epoch; 0 for ever.
        token_endpoint_auth_method: How it does.
        redirect_uris: Where users may come back.
    """

    secret: ClassVar[frozenset[str]] = frozenset({"client_secret", "registration_access_token"})

    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: Seconds | None = None
    token_endpoint_auth_method: str | None = None
    redirect_uris: Names | None = None
    registration_access_token: str | None = None


def decode(kind: type[DocumentT], body: bytes, where: str) -> DocumentT:
    """Read a document.

    Raises:
        DiscoveryError: It is none; what is wrong is named, and no value of it is said back.
    """
    try:
        return msgspec.json.decode(body, type=kind, strict=False)  # numbers in quotes are taken as well
    except msgspec.ValidationError as error:
        raise DiscoveryError(f"the answer of {where} is no {kind.__name__}: {excerpt(error)}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise DiscoveryError(f"the answer of {where} is no JSON, but should be a {kind.__name__}") from None
