"""HTTP clients for many requests at once.

httpx looks at every connection of its pool for each request, and for each idle one at all of them
again: with 64 requests at once that takes longer than the requests.  So each request that is under way
has a client of its own, with one connection, which the next request takes over.

    request ──take──▶ client ──give_back──▶ idle ──▶ the next request's, or closed with its connection

Layer: L5.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any, Protocol

import anyio

__all__ = ("Clients", "Lanes", "OneClient")

logger = logging.getLogger("dedalus_mcp")

# As long as httpx keeps a connection that nobody uses: the client is worth nothing without it.
IDLE_SECONDS = 5.0
CLOSING_SECONDS = 0.5


class Clients(Protocol):
    """Where a request gets its HTTP client."""

    def take(self) -> Any:
        """Return a client, for one request."""
        ...

    async def give_back(self, client: Any) -> None:
        """The request is over."""
        ...

    async def aclose(self) -> None:
        """Close what is not the caller's, within a bounded time."""
        ...


class OneClient:
    """A client of the caller's, for all requests; it is not closed.

    Args:
        client: The client.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def take(self) -> Any:
        """Return it."""
        return self._client

    async def give_back(self, client: Any) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""


class Lanes:
    """A client for each request that is under way.

    Args:
        make: Makes one.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._taken: dict[Any, None] = {}
        self._idle: deque[tuple[float, Any]] = deque()  # since when, the longest first
        self._closed = False

    def take(self) -> Any:
        """Return the client that was used last, or a new one."""
        client = self._idle.pop()[1] if self._idle else self._make()
        self._taken[client] = None
        return client

    async def give_back(self, client: Any) -> None:
        """Keep a client for later, and close those that nobody has used for a while."""
        self._taken.pop(client, None)
        now = anyio.current_time()
        self._idle.append((now, client))
        await self._close_since(now if self._closed else now - IDLE_SECONDS)

    async def aclose(self) -> None:
        """Close all of them, within a bounded time; those in use, too."""
        self._closed = True
        self._idle.extend((anyio.current_time(), client) for client in self._taken)
        await self._close_since(inf)

    async def _close_since(self, time: float) -> None:
        """Close those that nobody has used since then."""
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            async with anyio.create_task_group() as group:
                while self._idle and self._idle[0][0] <= time:
                    group.start_soon(_close, self._idle.popleft()[1])


async def _close(client: Any) -> None:
    try:
        await client.aclose()
    except Exception as error:  # noqa: BLE001 - whatever its transports raise: it is of no use any more
        logger.debug("closing an HTTP client failed: %r", error)
