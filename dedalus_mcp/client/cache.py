"""Where a client keeps what a server allows it to keep, and for how long.

    topic ──▶ key ──▶ JSON, until it expires or the topic is dropped

A topic is what one notice of a change makes stale at once: a list with all its pages, or one resource.

Layer: L4; no I/O.
Source: MCP 2026-07-28, server/utilities/caching.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Protocol

__all__ = ("MemoryCache", "ResponseCache")

MAX_ENTRIES = 1024
"""Results that are kept, at most."""

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of them in all, as JSON; one alone may have a quarter of that."""


class ResponseCache(Protocol):
    """Where results are kept: `MCPClient.connect(..., cache=...)`.

    One may serve many clients, also of other processes: what belongs to whom is part of the topic.
    The methods are called in the event loop, so they must not block; and from the threads of all
    the clients that share it.  Whatever is lost costs one request.
    """

    def get(self, topic: str, key: str, /) -> bytes | None:
        """Return what was put there, unless its time is over."""
        ...

    def put(self, topic: str, key: str, value: bytes, ttl: float, /) -> None:
        """Keep a value for so many seconds, at most."""
        ...

    def drop(self, topic: str, /) -> None:
        """Forget everything of a topic.  There need not be anything."""
        ...


class _Entry(NamedTuple):
    value: bytes
    end: float  # when its time is over, by the cache's own clock


class MemoryCache:
    """The `ResponseCache` of those who bring none: in memory, bounded; what was used longest ago goes first.

    Args:
        max_entries: Results that are kept, at most.
        max_bytes: Bytes of them in all, as JSON.
        clock: Returns the present time in seconds; it must never go back.
    """

    def __init__(
        self,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()  # the next to go comes first
        self._topics: dict[str, set[str]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, topic: str, key: str) -> bytes | None:
        """See `ResponseCache.get`."""
        with self._lock:
            entry = self._entries.get((topic, key))
            if entry is None:
                return None
            if self._clock() >= entry.end:
                self._remove(topic, key)
                return None
            self._entries.move_to_end((topic, key))
            return entry.value

    def put(self, topic: str, key: str, value: bytes, ttl: float) -> None:
        """See `ResponseCache.put`; what is too large is not kept."""
        with self._lock:
            self._remove(topic, key)
            if ttl <= 0 or len(value) > self._max_bytes // 4:
                return
            self._entries[topic, key] = _Entry(value, self._clock() + ttl)
            self._topics.setdefault(topic, set()).add(key)
            self._bytes += len(value)
            while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
                self._remove(*next(iter(self._entries)))

    def drop(self, topic: str) -> None:
        """See `ResponseCache.drop`."""
        with self._lock:
            for key in list(self._topics.get(topic, ())):
                self._remove(topic, key)

    def clear(self) -> None:
        """Forget everything: whatever is asked next, the servers are asked."""
        with self._lock:
            self._entries.clear()
            self._topics.clear()
            self._bytes = 0

    def _remove(self, topic: str, key: str) -> None:
        entry = self._entries.pop((topic, key), None)
        if entry is None:
            return
        self._bytes -= len(entry.value)
        keys = self._topics[topic]
        keys.discard(key)
        if not keys:
            del self._topics[topic]
