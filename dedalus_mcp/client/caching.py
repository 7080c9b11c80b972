"""What one client keeps of its server's results, and when it may answer with that (2026-07-28).

    request ──▶ kept and fresh ──▶ the result
       │  └──▶ the same is under way ──▶ its result, where that may be kept
       └──▶ the server ──▶ kept for `ttlMs`, unless a change was told meanwhile

Layer: L4.
Source: MCP 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from dedalus_mcp.client.cache import ResponseCache
from dedalus_mcp.client.link import Link
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.types import InputResponseRequestParams, RequestParams
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import (
    PROMPTS_LIST,
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST,
    RESOURCES_LIST_CHANGED,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UPDATED,
    TOOLS_LIST,
    TOOLS_LIST_CHANGED,
)
from dedalus_mcp.types.revisions import MODERN

__all__ = ("Caching", "Shared")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")

# Seconds: a server may say any number, and a program may run for years.
LONGEST_TTL = 24 * 3600.0

# `server/discover` is not among them, though it may be kept: whoever asks again wants to know whether the
# server is there.
_LISTS = (PROMPTS_LIST.name, RESOURCES_LIST.name, RESOURCES_TEMPLATES_LIST.name, TOOLS_LIST.name)
_KEPT = frozenset({*_LISTS, RESOURCES_READ.name})

_STALE = {
    PROMPTS_LIST_CHANGED.name: (PROMPTS_LIST.name,),
    RESOURCES_LIST_CHANGED.name: (RESOURCES_LIST.name, RESOURCES_TEMPLATES_LIST.name),
    TOOLS_LIST_CHANGED.name: (TOOLS_LIST.name,),
}


class Shared(NamedTuple):
    """With whom a client shares what it keeps; both are None where that is nobody.

    Attributes:
        server: What stands for the server: public results are for all who ask the same one.
        principal: On whose behalf the client asks: private results are for these alone.
    """

    server: str | None = None
    principal: str | None = None


class Caching:
    """The cache as one client uses it.

    Args:
        store: Where results are kept.
        link: The connection.
        shared: With whom.
    """

    def __init__(self, store: ResponseCache, link: Link, shared: Shared) -> None:
        self._store = store
        self._link = link
        alone = os.urandom(16).hex()
        # What a server answers may depend on what its client can do (CACHE-04).
        able = msgspec.json.encode(link.capabilities_in(MODERN[-1])).decode()
        server = alone if shared.server is None else f"{shared.server} {able}"
        self._public = f"public {server}"
        self._private = f"private {alone if shared.principal is None else f'{server} {shared.principal}'}"
        self._answered: set[str] = set()  # lists, from here
        self._under_way: dict[tuple[str, str], anyio.Event] = {}
        self._changes = 0  # told so far: what was asked for before one is not kept after it

    def takes(self, method: str, params: RequestParams) -> bool:
        """Whether the result of such a request may come from here: none that depends on more than its key does."""
        if method not in _KEPT or self._link.revision not in MODERN or params.meta is not None:
            return False
        if isinstance(params, InputResponseRequestParams):  # CACHE-05
            return params.inputResponses is None and params.requestState is None
        return True

    async def result(
        self, method: Method[P, R], params: P, make: Callable[[], Awaitable[R]], timeout: Timeout | None
    ) -> R:
        """Return the result of a request, and ask the server only where that is needed.

        Args:
            method: What is asked.
            params: Its params.
            make: Asks the server.
            timeout: How long the caller waits, at most, for another request of the same kind.

        Raises:
            Exception: What `make` raises.
        """
        subject, key = _key(method, params)
        kept = self._get(method, subject, key)
        if kept is None and (other := self._under_way.get((subject, key))) is not None:
            with anyio.move_on_after(None if timeout is None else timeout.seconds):
                await other.wait()
            kept = self._get(method, subject, key)
        if kept is not None:
            if method.name in _LISTS:
                self._answered.add(subject)
            await checkpoint()
            return kept
        return await self._fetch(subject, key, make)

    def changed(self, notice: str, uri: str | None) -> None:
        """The server says that something is not as it was (CACHE-14)."""
        for method in _STALE.get(notice, ()):
            self.drop(method)
        if notice == RESOURCES_UPDATED.name and uri is not None:
            self.drop(f"{RESOURCES_READ.name} {uri}")

    def drop(self, subject: str) -> bool:
        """Ask the server again, whatever is kept: of all pages of a list, by its method.

        Returns:
            Whether something of it was answered from here, since the last time.
        """
        self._changes += 1
        self._store.drop(f"{self._private} {subject}")
        self._store.drop(f"{self._public} {subject}")
        was_answered = subject in self._answered
        self._answered.discard(subject)
        return was_answered

    async def _fetch(self, subject: str, key: str, make: Callable[[], Awaitable[R]]) -> R:
        first = (subject, key) not in self._under_way
        over = self._under_way.setdefault((subject, key), anyio.Event())
        before = self._changes
        try:
            result = await make()
            if self._changes == before:
                self._put(subject, key, result)
        finally:
            if first:
                del self._under_way[subject, key]
                over.set()
        return result

    def _get(self, method: Method[Any, R], subject: str, key: str) -> R | None:
        for owner in (self._private, self._public):
            kept = self._store.get(f"{owner} {subject}", key)
            if kept is not None:
                try:
                    return method.decode_result(kept)  # a new one each time: nobody changes another's
                except (msgspec.DecodeError, RecursionError):  # whatever shares the store put it there
                    self._store.drop(f"{owner} {subject}")
        return None

    def _put(self, subject: str, key: str, result: Any) -> None:
        ttl = min((result.ttlMs or 0) / 1000, LONGEST_TTL)
        if ttl > 0:
            owner = self._public if result.cacheScope == "public" else self._private
            self._store.put(f"{owner} {subject}", key, msgspec.json.encode(result), ttl)


def _key(method: Method[Any, Any], params: Any) -> tuple[str, str]:
    """What one request is about, and which of the requests about that it is."""
    if method.name == RESOURCES_READ.name:
        return f"{method.name} {params.uri}", ""
    return method.name, "" if params.cursor is None else f"={params.cursor}"
