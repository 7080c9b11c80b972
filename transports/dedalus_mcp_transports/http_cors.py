"""Web pages of other origins as clients (CORS): what tells a browser that it may, and what a page may read.

Nothing is ever allowed for cookies: credentials of MCP travel in `Authorization`, which a page
has to know, and not in what a browser adds by itself.

Source: the Fetch standard, "CORS protocol" (https://fetch.spec.whatwg.org/#http-cors-protocol).
Layer: L2; imports `http_headers` and `http_security` only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dedalus_mcp_transports.http_headers import Headers
from dedalus_mcp_transports.http_security import Origins

__all__ = ("Cors",)

METHODS = b"GET, POST, DELETE"
EXPOSED = b"Mcp-Session-Id, WWW-Authenticate, Retry-After"
REQUEST_HEADERS = (
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
)
# A mirrored argument has a header of its own; more of them than tools have arguments are nobody's.
_PARAMS = re.compile(r"mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,128}")
MAX_PARAMS = 64
# How long a browser may remember the answer, in seconds: a setting that was corrected counts soon.
MAX_AGE = b"600"


class Cors:
    """What a server says to pages of other origins.

    Args:
        entries: The origins that may call: `scheme://name`, `scheme://name:port`,
            `scheme://name:*`, or `*` for any.

    Attributes:
        origins: The same, to be let in.

    Raises:
        ValueError: An origin is not written as one.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self.origins = Origins(entries, "cors_origins")

    def headers(self, origin: str | None) -> list[tuple[bytes, bytes]]:
        """Return what every response carries, one that refuses included.

        Args:
            origin: The `Origin` of its request.
        """
        if self.origins.any:
            return [(b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", EXPOSED)]
        vary = (b"vary", b"Origin")  # without it a cache would hand one page's answer to another
        if origin is None or origin not in self.origins:
            return [vary]
        return [
            (b"access-control-allow-origin", origin.encode()),
            (b"access-control-expose-headers", EXPOSED),
            vary,
        ]

    @staticmethod
    def preflight(method: str, fields: Headers) -> list[tuple[bytes, bytes]] | None:
        """Return what else the answer carries where a browser asks before it sends; None where it does not ask."""
        if method != "OPTIONS" or fields.joined(b"access-control-request-method") is None:
            return None
        asked = (fields.joined(b"access-control-request-headers") or b"").decode("latin-1").lower()
        params = [name for each in asked.split(",") if _PARAMS.fullmatch(name := each.strip())]
        return [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", ", ".join((*REQUEST_HEADERS, *params[:MAX_PARAMS])).encode()),
            (b"access-control-max-age", MAX_AGE),
            (b"vary", b"Access-Control-Request-Headers"),
        ]
