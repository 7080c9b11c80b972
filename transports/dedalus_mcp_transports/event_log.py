"""What was sent on resumable streams, so that a client that lost one gets the rest of it.

    append(stream, data) ──▶ the event's id, which tells its stream
    replay(last id)      ──▶ that stream, and what followed on it

One log belongs to one session.  `MemoryEventLog` is bounded in all its dimensions, and what it
cannot replay without a gap it refuses to replay.

Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".
Layer: L2; imports `errors` only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from dedalus_mcp.errors import DedalusError

__all__ = ("Budget", "EventLog", "EventNotFound", "LoggedEvent", "MemoryEventLog")

MAX_EVENTS = 1000
"""Events kept of one stream: a long call that reports its progress several times a second, for minutes."""
MAX_STREAMS = 100
"""Streams kept in one session: far more than a client has open at once."""
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of data kept in one session: a few results with pictures in them."""

MAX_BYTES_IN_ALL = 256 * 1024 * 1024
"""Bytes of data kept in all sessions of a process together: what anybody can make a server keep."""

_DIGITS = 18  # of an event's number, so that reading one is cheap


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event: its id, and the JSON frame that it carries (empty for a priming event)."""

    id: str
    data: bytes


class EventNotFound(DedalusError, LookupError):
    """What followed that event cannot be replayed: it is unknown, or too much has happened since."""

    def __str__(self) -> str:
        return "Event not found: nothing can be replayed from this Last-Event-ID"


class EventLog(Protocol):
    """The events of one session."""

    def append(self, stream: str, data: bytes) -> str:
        """Keep an event and return its id: unique in the session, and telling its stream (HTTP-32, HTTP-33)."""
        ...

    def replay(self, last_event_id: str) -> tuple[str, list[LoggedEvent]]:
        """Return the stream of that event, and all that followed it there, in order (HTTP-35).

        Raises:
            EventNotFound: The event is unknown, or one that followed it was dropped.
        """
        ...

    def close(self) -> None:
        """Its session is over: forget everything.  Idempotent."""
        ...


class Budget:
    """How many bytes several logs may hold together.

    Args:
        max_bytes: That many.
    """

    __slots__ = ("left",)

    def __init__(self, max_bytes: int = MAX_BYTES_IN_ALL) -> None:
        self.left = max_bytes


class _Stream:
    __slots__ = ("before", "events")

    def __init__(self) -> None:
        self.events: deque[tuple[int, bytes]] = deque()
        self.before: int | None = None  # the number of the event dropped last: what followed it is all there


class MemoryEventLog:
    """An `EventLog` in memory.  When it is full it drops the oldest of the stream that was longest quiet.

    Args:
        max_events: Events kept of one stream, at least 1.
        max_streams: Streams kept, at least 1.
        max_bytes: Bytes of data kept in all.
        budget: What it shares with other logs; by default with all in the process.
    """

    def __init__(
        self,
        max_events: int = MAX_EVENTS,
        max_streams: int = MAX_STREAMS,
        max_bytes: int = MAX_BYTES,
        budget: Budget | None = None,
    ) -> None:
        self._max_events = max_events
        self._max_streams = max_streams
        self._max_bytes = max_bytes
        self._streams: OrderedDict[str, _Stream] = OrderedDict()  # the longest quiet first
        self._number = 0  # of the newest event; one count for all streams, so an id never comes again
        self._bytes = 0
        self._budget = _SHARED if budget is None else budget

    def append(self, stream: str, data: bytes) -> str:
        """Keep an event and return its id.

        One that is longer than all that may be kept is not; nothing before it can be replayed then.
        Where other logs have used up what they share, this one keeps as much as it can.
        """
        self._number += 1
        size, budget = len(data), self._budget
        while size > budget.left and self._bytes:
            self._make_room()
        if size > budget.left or size > self._max_bytes:
            self._forget(stream)
        else:
            self._keep(stream, data)
        return f"{stream}_{self._number}"

    def replay(self, last_event_id: str) -> tuple[str, list[LoggedEvent]]:
        """Return the stream of that event, and all that followed it there, in order.

        Raises:
            EventNotFound: The event is unknown, or one that followed it was dropped.
        """
        stream, _, digits = last_event_id.rpartition("_")
        kept = self._streams.get(stream)
        if kept is None or not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            raise EventNotFound
        number, start = int(digits), 0
        if number != kept.before:
            start = next((index for index, (each, _) in enumerate(kept.events, 1) if each == number), 0)
            if not start:
                raise EventNotFound
        return stream, [LoggedEvent(f"{stream}_{each}", data) for each, data in islice(kept.events, start, None)]

    def close(self) -> None:
        """Forget everything."""
        for stream in list(self._streams):
            self._forget(stream)

    def _keep(self, stream: str, data: bytes) -> None:
        kept = self._streams.get(stream)
        if kept is None:
            kept = self._streams[stream] = _Stream()
            if len(self._streams) > self._max_streams:
                self._forget(next(iter(self._streams)))
        else:
            self._streams.move_to_end(stream)
        kept.events.append((self._number, data))
        if len(kept.events) > self._max_events:
            self._drop_oldest(kept)
        if data:
            self._count(len(data))
            while self._bytes > self._max_bytes:
                self._make_room()

    def _make_room(self) -> None:
        stream, kept = next(iter(self._streams.items()))
        self._drop_oldest(kept)
        if not kept.events:
            self._forget(stream)

    def _drop_oldest(self, kept: _Stream) -> None:
        kept.before, data = kept.events.popleft()
        self._count(-len(data))

    def _forget(self, stream: str) -> None:
        kept = self._streams.pop(stream, None)
        if kept is not None:
            self._count(-sum(len(data) for _, data in kept.events))

    def _count(self, more: int) -> None:
        self._bytes += more
        self._budget.left -= more


_SHARED = Budget()
