"""How long, and for whom, clients may keep what they are told: the hints of 2026-07-28.

Readers of other revisions never see them, nor do questions that come before a result.

Layer: L4.
Source: MCP 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from dedalus_mcp.types.messages import CacheScope

__all__ = ("CACHEABLE", "CacheHint", "hint_of", "hinted")

CACHEABLE = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
"""The methods whose results may be kept (CACHE-01)."""

# A year, as in HTTP: what is good for longer is good for ever, and no client lives that long.
MAX_TTL = 366 * 24 * 3600.0

T = TypeVar("T", bound=Any)


class CacheHint(msgspec.Struct, frozen=True, kw_only=True):
    """How long, and for whom, a client may keep a result.

    It is no protection: who may see what is checked at every call, and what is "public" may reach
    other users though the server asks who they are (CACHE-15).

    Attributes:
        ttl: For how long, in seconds; 0 for not at all.
        scope: "public" if the result is the same for every user, so that they may share it.

    Raises:
        TypeError: The time is no number.
        ValueError: It is less than none, or more than a year; or there is no such scope.
    """

    ttl: float = 0.0
    scope: CacheScope = "private"

    def __post_init__(self) -> None:
        if not isinstance(self.ttl, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
            raise TypeError(f"a ttl is a number of seconds, not {self.ttl!r:.80}")
        if not 0 <= self.ttl <= MAX_TTL:
            raise ValueError(f"a ttl is from 0 to {MAX_TTL:.0f} seconds, not {self.ttl!r:.80}")
        if self.scope not in ("public", "private"):
            raise ValueError(f"a cache scope is 'public' or 'private', not {self.scope!r:.80}")


def hint_of(ttl: float | None, scope: CacheScope | None) -> CacheHint | None:
    """Return the hint that a decorator was given; None if it was given none.

    Raises:
        ValueError: See `CacheHint`.
    """
    if ttl is None and scope is None:
        return None
    return CacheHint(ttl=ttl or 0.0, scope=scope or "private")


def hinted(result: T, hint: CacheHint | None) -> T:
    """Return a result with a hint; what it says itself stays."""
    if hint is None:
        return result
    ttl = round(hint.ttl * 1000) if result.ttlMs is None else result.ttlMs
    return msgspec.structs.replace(result, ttlMs=ttl, cacheScope=result.cacheScope or hint.scope)
