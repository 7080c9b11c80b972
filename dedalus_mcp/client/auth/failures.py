"""What is raised where no token can be got: the branch of `MCPConnectionError` that OAuth adds.

    AuthError            no token: the request was not sent, or was refused and cannot be cured
    ├── AuthConfigError    what is configured here does not fit this server
    ├── DiscoveryError     the server's metadata are missing, wrong, or not to be trusted
    └── TokenError         the authorization server, or its user, said no

No message holds a token, a code or a secret; what the other side says is clipped (`said`).

Layer: L4; imports `errors` only.
"""

from __future__ import annotations

from dedalus_mcp.errors import MCPConnectionError

__all__ = ("AuthConfigError", "AuthError", "DiscoveryError", "TokenError", "said")

EXCERPT = 200
"""Characters that an error says back of what the other side said."""


class AuthError(MCPConnectionError):
    """There is no token for the server.  Nothing was sent to it that would have needed one."""


class AuthConfigError(AuthError):
    """What is configured here does not fit this server: another client id, grant or key is needed."""


class DiscoveryError(AuthError):
    """The metadata of the server, or of its authorization server, are missing, wrong, or not to be trusted."""


class TokenError(AuthError):
    """The authorization server gave no token, or its user did not agree.

    Args:
        message: What happened, and where.
        code: The OAuth error code, for example ``invalid_grant``; None where there was none.
        description: What the server says besides, clipped.
        status: The HTTP status of its answer; None where there was none.

    Attributes:
        code, description, status: See above.
    """

    def __init__(
        self, message: str, code: str | None = None, description: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.args = (message, code, description, status)  # all four, so that the error pickles
        self.code = code
        self.description = description
        self.status = status


def said(text: object) -> str:
    """Return what the other side said as it may be shown: quoted, on one line, and short."""
    shown = repr(text) if isinstance(text, str) else repr(str(text))
    return shown if len(shown) <= EXCERPT else f"{shown[:EXCERPT]}..."
