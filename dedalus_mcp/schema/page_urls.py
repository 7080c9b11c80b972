"""The pages that a user may be sent to: what the other side names is looked at on both sides.

    https://example.com/pay              a page
    javascript:...  file:...  app:...    runs something where it is opened
    https://me:word@example.com/         is signed in already, or looks like another host

Layer: L1; imports `formats` only.
Source: MCP 2026-07-28, client/elicitation, "Safe URL handling"; the security guide (SEC-10, SEC-11).
"""

from __future__ import annotations

from dedalus_mcp.schema.formats import FORMATS

__all__ = ("fault_of_page",)


def fault_of_page(url: str) -> str | None:
    """Return what is wrong with the URL of a page, as the end of a sentence; None if nothing is."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - loads much, and most programs never get here

    shown = f"{url!r:.160}"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return f"must be a URL, not {shown}"
    if not FORMATS["uri"](url) or not url.isprintable():
        return f"must be a URL, not {shown}"
    if "@" in parts.netloc:
        return "must hold no user name and no password: whoever has it would be signed in"
    if parts.scheme not in ("https", "http") or not host:
        return f"must be that of a page, https://host/... or http://host/..., not {shown}"
    return None
