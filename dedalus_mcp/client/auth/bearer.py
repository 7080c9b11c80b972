"""A token that is there already: got elsewhere, and shown as it is.

Layer: L4; httpx.
Source: RFC 6750, 2.1.
"""

from __future__ import annotations

from collections.abc import Generator

import httpx

from dedalus_mcp.client.auth.token_endpoint import is_token
from dedalus_mcp.client.auth.well_known import canonical, is_within

__all__ = ("BearerAuth",)


class BearerAuth(httpx.Auth):
    """Shows a token to one MCP server: the one that the first request goes to, or `server`.

    Args:
        access_token: The token.
        server: The URL of the MCP server, if the first request may go elsewhere.

    Raises:
        ValueError: The token is none that a header could hold.
    """

    def __init__(self, access_token: str, *, server: str | None = None) -> None:
        if not is_token(access_token):
            raise ValueError("a token is printable ASCII without spaces")
        self._token = access_token
        self._server = None if server is None else canonical(server)

    def __repr__(self) -> str:
        return f"BearerAuth({self._server or 'no server yet'})"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """See `httpx.Auth`."""
        url = str(request.url)
        self._server = self._server or canonical(url)
        if is_within(url, self._server):
            request.headers["authorization"] = f"Bearer {self._token}"
        yield request
