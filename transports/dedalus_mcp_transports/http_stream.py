"""One event stream over as many connections as it takes, and how long to wait between them, without I/O.

    begin() ──▶ feed(chunk) ──▶ frames ··· it breaks ··· pause() ──▶ begin() ──▶ ...

Layer: L2; imports `errors`, `http_failures` and `sse` only.
Source: MCP 2025-11-25, basic/transports, "Resumability and redelivery".
"""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp_transports.http_failures import reply_ids
from dedalus_mcp_transports.sse import Events

__all__ = ("EventStream", "Reconnect")

# A server that asks for no pause at all still does not get a busy loop.
SHORTEST = 0.01


class Reconnect(msgspec.Struct, frozen=True, kw_only=True):
    """How a broken event stream is taken up again.

    Attributes:
        attempts: How often in a row without anything new; 0 for never.
        first: Seconds before the first attempt, where the server does not say; each next
            pause is twice as long.
        longest: Seconds between two attempts, at most, where the server does not ask for more.
    """

    attempts: int = 5
    first: float = 1.0
    longest: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 0 or self.first < 0 or self.longest < 0:
            raise ValueError("a reconnect's attempts and seconds are 0 or more")


class EventStream:
    """What came over one stream.

    Args:
        wanted: The id of the call whose reply ends it; None for a stream of its own.
        reconnect: How it is taken up again.
        max_event: Bytes in one event, at most.
        jitter: Returns a number from 0 to 1, so that many clients do not come back at once.

    Attributes:
        replied: Whether the reply is there.
        fault: Why nothing more of the stream can be read; None as long as it can.
    """

    def __init__(
        self,
        wanted: int | str | None,
        reconnect: Reconnect,
        max_event: int,
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.replied = False
        self.fault: RemoteProtocolError | None = None
        self._wanted = None if wanted is None else str(wanted)
        self._reconnect = reconnect
        self._max_event = max_event
        self._jitter = jitter
        self._failed = 0
        self._retry: int | None = None
        self._last_event_id = ""
        self._events = Events(max_event)

    @property
    def last_event_id(self) -> str:
        """Where to resume: the newest id of all connections; empty if there was none."""
        return self._last_event_id

    def begin(self) -> None:
        """Another connection begins."""
        self._events = Events(self._max_event)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and return the frames that are complete now."""
        frames: list[bytes] = []
        try:
            for event in self._events.feed(chunk):
                if event.is_message:
                    frames.append(event.data)
                    self.replied = self.replied or (self._wanted is not None and self._wanted in reply_ids(event.data))
        except RemoteProtocolError as error:
            self.fault = error
        moved = self._events.last_event_id not in ("", self._last_event_id)
        if moved:
            self._last_event_id = self._events.last_event_id
        if frames or moved:
            self._failed = 0  # real progress, and nothing else, earns new attempts (B091)
        if self._events.retry is not None:
            self._retry = self._events.retry
        return frames

    def pause(self) -> float | None:
        """Return how many seconds to wait before the next connection; None if there should be none."""
        if self._failed >= self._reconnect.attempts or self.fault is not None:
            return None
        first = max(SHORTEST, self._reconnect.first if self._retry is None else self._retry / 1000)
        seconds: float = min(first * 2.0**self._failed, max(first, self._reconnect.longest))
        self._failed += 1
        return seconds * (1 + self._jitter() / 4)
