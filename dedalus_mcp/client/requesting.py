"""The requests of one client: each is made once more where that is safe and cures its failure.

    request ──▶ result, from the cache where the server allows it
       │
       ├── the session is lost (404) ──▶ a new one, once for all who found out ──▶ again
       ├── the reply got lost, or the server is busy ──▶ again, if the request does no more the second time
       └── arguments are mirrored otherwise (-32020) ──▶ the tools are listed ──▶ again

Layer: L4.
Source: MCP 2025-11-25, basic/transports, "Session Management"; 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import msgspec

from dedalus_mcp.client.caching import Caching, Shared
from dedalus_mcp.client.conduct import Conduct, Repeated
from dedalus_mcp.client.delivery import Delivery
from dedalus_mcp.client.known_tools import KnownTools
from dedalus_mcp.client.link import Agreement, Link
from dedalus_mcp.client.notices import told_by
from dedalus_mcp.client.opening import initialize
from dedalus_mcp.client.patience import BackOff, pause_before_repeat
from dedalus_mcp.client.session import Held
from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    ConnectionLost,
    DedalusError,
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
    SessionExpiredError,
)
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.waiter import Progress
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
    ServerCapabilities,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import TOOLS_LIST, TOOLS_LIST_CHANGED
from dedalus_mcp.types.revisions import MODERN, V2025_06_18

__all__ = ("Requests",)

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
PageT = TypeVar("PageT", bound=PaginatedResult)

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
        conduct: How to agree on it once more, what to keep, and who is told of what.
        server: What stands for the server, of all clients of it that share a cache; None where nothing does.

    Attributes:
        agreement: What is agreed on now.
        became_modern: Told what the server tells of, and which resources are subscribed to, when a legacy
            server turns out to be a modern one.
    """

    def __init__(self, link: Link, agreement: Agreement, conduct: Conduct, server: str | None = None) -> None:
        self.agreement = agreement
        self._link = link
        self._opening = conduct.opening
        self.became_modern: Callable[[ServerCapabilities, list[str]], None] | None = None
        self._renewal = anyio.Lock()
        self._lost: tuple[Agreement, SessionExpiredError] | None = None  # what is to be agreed on anew, and why
        self._held = Held()
        self._tools = KnownTools(checks=conduct.check_outputs)
        cache = conduct.cache
        self._cache = None if cache is None else Caching(cache, link, Shared(server, conduct.principal))
        self._session_lost, self._repeated = [
            None if told is None else Delivery[Any](told, link.deliveries)
            for told in (conduct.on_session_lost, conduct.on_repeat)
        ]
        self._coming_back = False
        link.notices.changed = self._changed
        link.session_lost = self._session_ended

    async def make(
        self, method: Method[P, R], params: P, *, timeout: Timeout | None = None, progress: Progress | None = None
    ) -> R:
        """Make a request and return its result: see `MCPClient.request` for what it raises."""
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        send = partial(self._send, method, params, timeout, progress)
        if self._cache is not None and self._cache.takes(method.name, params):
            result = await self._cache.result(method, params, send, timeout)
        else:
            result = await send()
        self._held.note(params)
        if isinstance(result, ListToolsResult):
            self._tools.learn(result)
        elif isinstance(result, CallToolResult) and self.agreement.revision >= V2025_06_18:
            assert isinstance(params, CallToolRequestParams), "so says the table of methods"
            self._tools.check(params.name, result)
        return result

    async def _send(self, method: Method[P, R], params: P, timeout: Timeout | None, progress: Progress | None) -> R:
        once = partial(self._link.request, method, params, timeout=timeout, progress=progress)
        if self._lost is not None:  # told by a call that could not be made again
            await self._renew(*self._lost)
        agreement = self.agreement
        try:
            return await once()
        except MCPConnectionError as error:
            if isinstance(error, SessionExpiredError):
                self._lost = agreement, error
            pause = self._pause(method.name, params, error, timeout)
            if pause is None:
                raise
            await self._mend(method.name, error, pause)
        except McpError as error:
            if not (_is_refused_for_headers(error) and isinstance(params, CallToolRequestParams)):
                raise
            await self._mend(method.name, error, 0)
            self._drop(TOOLS_LIST.name)
            await self.make_all(TOOLS_LIST, "tools", timeout=timeout)  # the transport learns (HTTP-67)
        return await once()

    async def _mend(self, method: str, error: DedalusError, pause: float) -> None:
        """Do what has to be done before a request is made once more."""
        if self._lost is not None:
            await self._renew(*self._lost)
        if self._repeated is not None:
            self._repeated.put(Repeated(method, error, pause))
        if pause > 0:
            await anyio.sleep(pause)

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
        try:
            return await self._all(method, listed, timeout)
        except McpError as error:
            # A cursor from the cache may be one that the server knows no longer (CACHE-13).
            if error.code != INVALID_PARAMS or not self._drop(method.name):
                raise
            return await self._all(method, listed, timeout)

    async def _all(self, method: Method[PaginatedRequestParams, PageT], listed: str, timeout: Timeout | None) -> PageT:
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

    def _changed(self, notice: str, uri: str | None) -> None:
        """Take a change that the server tells of."""
        if notice == TOOLS_LIST_CHANGED.name:
            self._tools.forget()
        if self._cache is not None:
            self._cache.changed(notice, uri)

    def _drop(self, listing: str) -> bool:
        """Keep nothing of a list any more; return whether anything was."""
        return self._cache is not None and self._cache.drop(listing)

    async def _renew(self, lost: Agreement, error: SessionExpiredError) -> None:
        """Begin a new session as the last one was, unless somebody has done that since `lost` was agreed on."""
        async with self._renewal:
            if self.agreement is lost:
                self._link.cancel_questions(f"the session of the question is lost: {error}")  # the next has its ids
                agreement = await initialize(self._link, self._opening)
                if agreement.revision in MODERN:
                    self._take_over(agreement)
                else:
                    async with anyio.create_task_group() as group:
                        for method, params in self._held:
                            group.start_soon(self._restore, method, params)
                self.agreement = agreement
                self._link.notices.tell_all(told_by(agreement.capabilities, self._held.uris))
                if self._session_lost is not None:
                    self._session_lost.put(error)
            if self._lost is not None and self._lost[0] is lost:
                self._lost = None

    def _session_ended(self, error: SessionExpiredError) -> None:
        """There was no call to notice that: whoever only listens must not wait for ever."""
        if self._coming_back or not (self._link.notices.unasked or self._held.uris):
            return
        self._coming_back = True
        self._lost = self._lost or (self.agreement, error)
        self._link.deliveries.start(self._come_back)

    async def _come_back(self) -> None:
        back_off = BackOff()
        try:
            while self._lost is not None and self._link.ended is None:
                try:
                    await self._renew(*self._lost)
                except (DedalusError, OSError) as error:
                    logger.debug("no new session yet: %s", excerpt(error))
                    back_off.failed(getattr(error, "retry_after", None))
                    await anyio.sleep(back_off.pause())
        finally:
            self._coming_back = False

    def _take_over(self, agreement: Agreement) -> None:
        """The server has become a modern one: what it held for us is part of our requests now."""
        if self._held.level is not None:
            self._link.log_from(self._held.level)
        if self.became_modern is not None:
            self.became_modern(agreement.capabilities, self._held.uris)

    async def _restore(self, method: Method[P, R], params: P) -> None:
        try:
            await self._link.request(method, params, timeout=self._opening.timeout)
        except DedalusError as error:  # the call for whose sake this is done may work all the same
            logger.warning("%s could not be made again in the new session: %s", method.name, excerpt(error))

    def _pause(
        self, method: str, params: RequestParams, error: MCPConnectionError, timeout: Timeout | None
    ) -> float | None:
        """Return how many seconds later a request that failed so may be made once more; None for never.

        A server that knows no such session has certainly not run it.  Where the reply was lost on
        the way, or the server does not feel well, it may have run (AMB-30).
        """
        if isinstance(error, SessionExpiredError) and not error.begun:
            return 0
        if method not in SAFE and not (
            isinstance(params, CallToolRequestParams) and self._tools.may_repeat(params.name)
        ):
            return None
        return 0 if error.begun else pause_before_repeat(error, timeout)


def _is_refused_for_headers(error: McpError) -> bool:
    """Whether HTTP refused the call, so that it has not run; whoever says so in a reply may have run it."""
    return error.code == HEADER_MISMATCH and isinstance(error.__cause__, MCPConnectionError)
