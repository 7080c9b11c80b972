"""HTTP clients for many requests at once.

httpx looks at every connection of its pool for each request, and for each idle one at all of them
again: with 64 requests at once that takes longer than the requests.  So each request that is under way
has a client of its own, with one connection, which the next request takes over.

    request ──take──▶ client ──give_back──▶ idle ──▶ the next request's, or closed with its connection

Layer: L5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import anyio

__all__ = ("Clients", "Lanes", "OneClient")

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

    def take(self) -> Any:
        """Return the client that was used last, or a new one."""
        client = self._idle.pop()[1] if self._idle else self._make()
        self._taken[client] = None
        return client

    async def give_back(self, client: Any) -> None:
        """Keep a client for later, and close those that nobody has used for a while."""
        if self._taken.pop(client, self) is self:  # closed meanwhile
            return
        now = anyio.current_time()
        self._idle.append((now, client))
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while self._idle and self._idle[0][0] < now - IDLE_SECONDS:
                await self._idle.popleft()[1].aclose()

    async def aclose(self) -> None:
        """Close all of them, within a bounded time."""
        clients = [*self._taken, *(client for _, client in self._idle)]
        self._taken.clear()
        self._idle.clear()
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            async with anyio.create_task_group() as group:
                for client in clients:
                    group.start_soon(client.aclose)
