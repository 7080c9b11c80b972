"""Where metadata lie, and whom they speak for: the rules for URLs, as functions.

    https://host/mcp       ──▶ https://host/.well-known/oauth-protected-resource/mcp, then .../oauth-protected-resource
    issuer https://host/t  ──▶ oauth-authorization-server/t, openid-configuration/t, t/.well-known/openid-configuration

URLs are strings here and stay what they were written as: what is compared byte for byte is never taken apart.

Layer: L4; no I/O.
Source: RFC 9728, 3; RFC 8414, 3; OpenID Connect Discovery 1.0, 4; MCP 2026-07-28 and 2025-03-26, basic/authorization.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

__all__ = ("canonical", "is_within", "origin", "resource_metadata_urls", "server_metadata_urls")

PORTS = {"https": 443, "http": 80}


def origin(url: str) -> str:
    """Return scheme, host and port of a URL, in lower case and without a port that goes without saying.

    Raises:
        ValueError: It is none.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{parts.scheme}://{host}" + ("" if port is None or port == PORTS.get(parts.scheme) else f":{port}")


def canonical(url: str) -> str:
    """Return the URL as a resource is named (RFC 8707): no query, no fragment, no slash alone.

    Raises:
        ValueError: It is none.
    """
    return f"{origin(url)}{_path(urlsplit(url))}"


@lru_cache(maxsize=128)  # every request asks the same
def is_within(url: str, resource: str) -> bool:
    """Whether a resource, as metadata name it, is a URL or what that lies beneath.

    A slash at the end of either counts for nothing: `https://h/mcp` and `https://h/mcp/` are one (B133).
    """
    try:
        if origin(url) != origin(resource) or urlsplit(resource).fragment:
            return False
        inner, outer = urlsplit(url).path.rstrip("/"), urlsplit(resource).path.rstrip("/")
    except ValueError:
        return False
    return inner == outer or inner.startswith(f"{outer}/")


def resource_metadata_urls(url: str) -> tuple[str, ...]:
    """Return where the metadata of a protected server may lie, in the order to look (AUTH-17)."""
    path, root = _path(urlsplit(url)), f"{origin(url)}/.well-known/oauth-protected-resource"
    return (f"{root}{path}", root) if path else (root,)


def server_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return where the metadata of an authorization server may lie, in the order to look (AUTH-21)."""
    path = _path(urlsplit(issuer))
    oauth = f"{origin(issuer)}/.well-known/oauth-authorization-server{path}"
    openid = f"{origin(issuer)}/.well-known/openid-configuration{path}"
    return (oauth, openid, f"{origin(issuer)}{path}/.well-known/openid-configuration") if path else (oauth, openid)


def _path(parts: SplitResult) -> str:
    return parts.path.rstrip("/")
