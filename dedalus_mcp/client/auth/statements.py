"""What somebody else says of a client or its user: a token or signed statement, to be shown on.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeAlias

from dedalus_mcp.client.auth.failures import AuthConfigError
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata

__all__ = ("Statement", "stated")

Statement: TypeAlias = str | Callable[[AuthorizationServerMetadata], str | Awaitable[str]]
"""The text itself, or a function, plain or async, that returns the one for an authorization server.

It is called whenever a token is got, so that it can return what is fresh: read a file that the
platform renews, say, or have something made for just this audience.
"""


async def stated(statement: Statement, server: AuthorizationServerMetadata) -> str:
    """Return the text.

    Raises:
        AuthConfigError: There is none; whatever the function raised is its cause.
    """
    try:
        text = statement if isinstance(statement, str) else statement(server)
        if isawaitable(text):
            text = await text
    except Exception as error:  # else it would look as if the MCP server could not be reached
        raise AuthConfigError(
            f"what to show to {server.issuer!r:.200} cannot be had: {type(error).__name__}: {error!s:.200}"
        ) from error
    if not text:
        raise AuthConfigError(f"there is nothing to show to {server.issuer!r:.200}: the text is empty")
    return text.strip()  # files end with a newline
