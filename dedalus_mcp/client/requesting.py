"""The requests of one client: each is made once more where that is safe and cures its failure.

    request ──▶ result
       │
       ├── the session is lost (404) ──▶ a new one, once for all who found out ──▶ again
       ├── the reply got lost, or the server is busy ──▶ again, if the request does no more the second time
       └── arguments are mirrored otherwise (-32020) ──▶ the tools are listed ──▶ again

Layer: L4.
Source: MCP 2025-11-25, basic/transports, "Session Management"; 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import msgspec

from dedalus_mcp.client.delivery import Delivery
from dedalus_mcp.client.link import Agreement, Link
from dedalus_mcp.client.opening import Opening, initialize
from dedalus_mcp.client.patience import pause_before_repeat
from dedalus_mcp.client.session import Held
from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    ConnectionLost,
    DedalusError,
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
    SessionExpiredError,
)
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.waiter import Progress
from dedalus_mcp.types import (
    CallToolRequestParams,
    ListToolsResult,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import TOOLS_LIST

__all__ = ("Requests", "SessionLostHandler")

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
PageT = TypeVar("PageT", bound=PaginatedResult)

SessionLostHandler = Callable[[SessionExpiredError], Awaitable[None] | None]
"""Hears that the server had forgotten the session, once there is a new one.  A plain `def` must not block."""

# A list of more pages than this is no list but a server that never ends.
MAX_PAGES = 1000

SAFE = frozenset(
    {
        "completion/complete",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "tools/list",
    }
)
"""The methods that do no more the second time than they did the first."""


class Requests:
    """The requests of one client.

    Args:
        link: The connection.
        agreement: What was agreed on it.
        opening: How to agree on it once more.
        on_session_lost: Told when that was necessary.

    Attributes:
        agreement: What is agreed on now.
    """

    def __init__(
        self, link: Link, agreement: Agreement, opening: Opening, on_session_lost: SessionLostHandler | None
    ) -> None:
        self.agreement = agreement
        self._link = link
        self._opening = opening
        self._renewal = anyio.Lock()
        self._held = Held()
        self._repeatable: set[str] = set()  # tools that say of themselves that they may be called twice
        self._session_lost = None if on_session_lost is None else Delivery(on_session_lost, link.deliveries)

    async def make(
        self, method: Method[P, R], params: P, *, timeout: Timeout | None = None, progress: Progress | None = None
    ) -> R:
        """Make a request and return its result: see `MCPClient.request` for what it raises."""
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        once = partial(self._link.request, method, params, timeout=timeout, progress=progress)
        agreement = self.agreement
        try:
            result = await once()
        except MCPConnectionError as error:
            if isinstance(error, SessionExpiredError):
                await self._renew(agreement, error)
            pause = self._pause(method.name, params, error, timeout)
            if pause is None:
                raise
            if pause > 0:
                await anyio.sleep(pause)
            result = await once()
        except McpError as error:
            if error.code != HEADER_MISMATCH or not isinstance(params, CallToolRequestParams):
                raise
            await self.make_all(TOOLS_LIST, "tools", timeout=timeout)  # the transport learns (HTTP-67)
            result = await once()
        self._held.note(params)
        if isinstance(result, ListToolsResult):
            self._note(result)
        return result

    async def make_all(
        self, method: Method[PaginatedRequestParams, PageT], listed: str, *, timeout: Timeout | None = None
    ) -> PageT:
        """Request page after page, and return the last with the items of all.

        Args:
            method: What lists.
            listed: The member of its result that holds the items.
            timeout: See `make`; for each page.

        Raises:
            RemoteProtocolError: The pages do not end.
        """
        cursor: str | None = None
        seen: set[str] = set()
        items: list[Any] = []
        for _ in range(MAX_PAGES):
            page = await self.make(method, PaginatedRequestParams(cursor=cursor), timeout=timeout)
            items += getattr(page, listed)
            cursor = page.nextCursor
            if cursor is None:  # an empty string is a cursor (PAGE-04)
                return msgspec.structs.replace(page, **{listed: items})
            if cursor in seen:
                raise RemoteProtocolError(f"{method.name!r} does not end: the server repeats a cursor")
            seen.add(cursor)
        raise RemoteProtocolError(f"{method.name!r} does not end: more than {MAX_PAGES} pages, which is the limit")

    async def _renew(self, lost: Agreement, error: SessionExpiredError) -> None:
        """Begin a new session as the last one was, unless somebody has done that since `lost` was agreed on."""
        async with self._renewal:
            if self.agreement is lost:
                agreement = await initialize(self._link, self._opening)
                async with anyio.create_task_group() as group:
                    for method, params in self._held:
                        group.start_soon(self._restore, method, params)
                self.agreement = agreement
                if self._session_lost is not None:
                    self._session_lost.put(error)

    async def _restore(self, method: Method[P, R], params: P) -> None:
        try:
            await self._link.request(method, params, timeout=self._opening.timeout)
        except DedalusError as error:  # the call for whose sake this is done may work all the same
            logger.warning("%s could not be made again in the new session: %s", method.name, error)

    def _pause(
        self, method: str, params: RequestParams, error: MCPConnectionError, timeout: Timeout | None
    ) -> float | None:
        """Return how many seconds later a request that failed so may be made once more; None for never.

        A server that knows no such session has certainly not run it.  Where the reply was lost on
        the way, or the server does not feel well, it may have run (AMB-30).
        """
        if isinstance(error, SessionExpiredError) and not error.begun:
            return 0
        if method not in SAFE and not (isinstance(params, CallToolRequestParams) and params.name in self._repeatable):
            return None
        return 0 if error.begun else pause_before_repeat(error, timeout)

    def _note(self, result: ListToolsResult) -> None:
        for tool in result.tools:
            hints = tool.annotations
            if hints is not None and (hints.idempotentHint or hints.readOnlyHint):
                self._repeatable.add(tool.name)
            else:
                self._repeatable.discard(tool.name)
