"""Discovery by itself, for those who want to know who gives tokens for a server, and want none yet.

    discover_authorization_server(client, url) ──▶ the server's metadata, and its authorization server's

Layer: L4; httpx.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import httpx

from dedalus_mcp.client.auth.challenge import token_challenge
from dedalus_mcp.client.auth.discovery import Discovered, discover, find_resource_metadata, find_server_metadata
from dedalus_mcp.client.auth.failures import DiscoveryError
from dedalus_mcp.client.auth.fetching import Fetcher
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, ResourceMetadata
from dedalus_mcp.client.auth.reach import Reach
from dedalus_mcp.excerpt import excerpt

__all__ = ("discover_authorization_server", "fetch_authorization_server_metadata", "fetch_resource_metadata")

SECONDS = 20.0


async def discover_authorization_server(
    client: httpx.AsyncClient, url: str, *, trusted_hosts: Iterable[str] = ()
) -> Discovered:
    """Find who gives tokens for an MCP server.

    Args:
        client: Sends the requests.
        url: The server; it is asked once, without a token, to hear what it says to that.
        trusted_hosts: See `OAuth`.

    Raises:
        DiscoveryError: It cannot be found out, or must not be trusted.
    """
    try:
        with anyio.fail_after(SECONDS):
            request = client.build_request("GET", url, headers={"accept": "application/json, text/event-stream"})
            answer = await client.send(request, stream=True, auth=httpx.Auth(), follow_redirects=False)
            with anyio.CancelScope(shield=True):
                await answer.aclose()
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise DiscoveryError(f"cannot reach {url!r:.200}: {excerpt(str(error) or type(error).__name__)}") from error
    challenge = token_challenge(*answer.headers.get_list("www-authenticate"))
    where = None if challenge is None else challenge.resource_metadata
    return await discover(Fetcher(client, Reach(url, trusted_hosts)), url, resource_metadata=where)


async def fetch_resource_metadata(
    client: httpx.AsyncClient, url: str, *, trusted_hosts: Iterable[str] = ()
) -> ResourceMetadata | None:
    """Return what a protected server says of itself at the places that are for that; None if it says nothing.

    Args:
        client: Sends the requests.
        url: The server.
        trusted_hosts: See `OAuth`.

    Raises:
        DiscoveryError: It cannot be fetched, or is about another server.
    """
    return await find_resource_metadata(Fetcher(client, Reach(url, trusted_hosts)), url)


async def fetch_authorization_server_metadata(
    client: httpx.AsyncClient, issuer: str, *, trusted_hosts: Iterable[str] = ()
) -> AuthorizationServerMetadata:
    """Return what an authorization server says of itself.

    Args:
        client: Sends the requests.
        issuer: The server, as its name is written.
        trusted_hosts: See `OAuth`.

    Raises:
        DiscoveryError: It says nothing, or names itself otherwise.
    """
    return await find_server_metadata(Fetcher(client, Reach(issuer, trusted_hosts)), issuer)
