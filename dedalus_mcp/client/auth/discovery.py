"""From a server's refusal to its authorization server: two documents, fetched with care.

    401 ──▶ metadata of the server (RFC 9728) ──▶ issuer ──▶ metadata of that (RFC 8414, OpenID)
               └── none anywhere: a server of 2025-03-26 ──▶ metadata at its root, or the default endpoints

Layer: L4.
Source: MCP 2026-07-28, basic/authorization, "Authorization server discovery"; 2025-03-26, basic/authorization, 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from dedalus_mcp.client.auth.failures import AuthConfigError, DiscoveryError, said
from dedalus_mcp.client.auth.fetching import Fetched, Fetcher
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, Document, ResourceMetadata, decode
from dedalus_mcp.client.auth.well_known import (
    is_within,
    origin,
    resource_metadata_urls,
    server_metadata_urls,
)

__all__ = (
    "Discovered",
    "discover",
    "find_server_metadata",
    "find_resource_metadata",
)

DocumentT = TypeVar("DocumentT", bound=Document)


class Discovered(NamedTuple):
    """Who gives tokens for a server.

    Attributes:
        server: The authorization server.
        resource: What the server says of itself; None from one of 2025-03-26.
    """

    server: AuthorizationServerMetadata
    resource: ResourceMetadata | None


async def discover(
    fetcher: Fetcher, url: str, *, resource_metadata: str | None = None, issuer: str | None = None, revision: str = ""
) -> Discovered:
    """Find who gives tokens for an MCP server.

    Args:
        fetcher: Fetches.
        url: The server.
        resource_metadata: Where its metadata are, as its challenge says.
        issuer: The authorization server to use, if there are several; None for the first.
        revision: The protocol revision, which is told to servers of 2025-03-26 (AUTH-23).

    Raises:
        DiscoveryError: It cannot be found out, or must not be trusted.
        AuthConfigError: `issuer` is not one of the server's.
    """
    resource = await find_resource_metadata(fetcher, url, resource_metadata)
    if resource is None:
        server = await _of_2025_03_26(fetcher, url, revision)
        _chosen(url, (server.issuer,), issuer)
        return Discovered(server, None)
    chosen = _chosen(url, resource.authorization_servers or (), issuer)
    return Discovered(await find_server_metadata(fetcher, chosen), resource)


def _chosen(url: str, named: Sequence[str], wanted: str | None) -> str:
    """Return which of the issuers that a server names is used (AUTH-19, AUTH-31)."""
    if not named:
        raise DiscoveryError(f"the metadata of {said(url)} name no authorization server")
    if wanted is None:
        return named[0]
    if wanted not in named:
        raise AuthConfigError(f"{said(url)} takes tokens of {said(', '.join(named))}, not of {said(wanted)}")
    return wanted


async def find_resource_metadata(
    fetcher: Fetcher, url: str, resource_metadata: str | None = None
) -> ResourceMetadata | None:
    """Return what a protected server says of itself; None if it says nothing, as one of 2025-03-26.

    Args:
        fetcher: Fetches.
        url: The server.
        resource_metadata: Where to look; None for where it should be.

    Raises:
        DiscoveryError: It cannot be fetched, or is about another server (AUTH-18).
    """
    places = resource_metadata_urls(url) if resource_metadata is None else (resource_metadata,)
    for place in places:
        found = _document(await fetcher.get(place), ResourceMetadata, needed=resource_metadata is not None)
        if found is None:
            continue
        if not is_within(url, found.resource):
            raise DiscoveryError(
                f"the metadata at {said(place)} are those of {said(found.resource)}, not of {said(url)}"
            )
        return found
    return None


async def find_server_metadata(fetcher: Fetcher, issuer: str) -> AuthorizationServerMetadata:
    """Return what an authorization server says of itself.

    Raises:
        DiscoveryError: It says nothing, or names itself otherwise (AUTH-22).
    """
    fetcher.reach.check(issuer, "the authorization server")
    fault = DiscoveryError(f"the authorization server {said(issuer)} says nothing of itself")
    for place in server_metadata_urls(issuer):
        found = _document(await fetcher.get(place), AuthorizationServerMetadata)
        if found is None:
            continue
        if found.issuer == issuer:  # as it is written: no normalisation whatever (AMB-35)
            return found
        fault = DiscoveryError(
            f"the metadata at {said(place)} are those of {said(found.issuer)}, not of {said(issuer)}, and not used"
        )
    raise fault


async def _of_2025_03_26(fetcher: Fetcher, url: str, revision: str) -> AuthorizationServerMetadata:
    """The server is its own authorization server, at the root of its host (AUTH-23)."""
    root = origin(url)
    headers = {"mcp-protocol-version": revision} if revision else {}
    answer = await fetcher.get(f"{root}/.well-known/oauth-authorization-server", headers)
    found = _document(answer, AuthorizationServerMetadata)
    if found is not None:
        if found.issuer.rstrip("/") != root:  # we made up the name that it is compared with
            raise DiscoveryError(f"the metadata at {said(root)} are those of {said(found.issuer)}, and not used")
        return found
    return AuthorizationServerMetadata(
        issuer=root,
        authorization_endpoint=f"{root}/authorize",
        token_endpoint=f"{root}/token",
        registration_endpoint=f"{root}/register",
        code_challenge_methods_supported=("S256",),  # which that revision demands
    )


def _document(answer: Fetched, kind: type[DocumentT], *, needed: bool = False) -> DocumentT | None:
    """Return a document; None if it is not there.

    Raises:
        DiscoveryError: It cannot be told whether it is there, or it is wrong.
    """
    if answer.status == 200:
        if needed or answer.body.lstrip()[:1] == b"{":  # else a page for people, which some give for any address
            return decode(kind, answer.body, answer.url)
        return None
    if needed or answer.status >= 500 or answer.status == 429:
        raise DiscoveryError(f"{answer.url} answers {answer.status}, where a {kind.__name__} should be")
    return None
