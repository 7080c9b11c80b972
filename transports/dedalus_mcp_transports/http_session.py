"""The sessions of legacy clients over HTTP, in memory, without I/O and without a clock.

    add ──▶ idle ──hold──▶ held (a request or stream is open) ──release──▶ idle
              ├──no use for `idle_seconds`──▶ expired: `get` knows it no more, `expire` returns it
              └──no use for a minute, and no room for another ──▶ `expire` returns it

Idle sessions stand in the order of their last use, so `expire` looks at those it returns and
one more, and may be called on every request.  `now` is any clock that never goes back, in seconds.

Source: MCP 2025-11-25, basic/transports, "Session Management".
Layer: L2; imports `errors` only.
"""

from __future__ import annotations

from collections import OrderedDict
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Generic, TypeVar

from dedalus_mcp.errors import DedalusError

__all__ = ("SESSION", "SessionNotFound", "Sessions", "SessionsFull", "digestible")

T = TypeVar("T")

SESSION = b"mcp-session-id"
"""The header that names a session."""

SPARE_SECONDS = 60.0
"""Where there is no room, who has not come for so long has to go: most clients never end their sessions, and whoever
comes back begins a new one.  Those who come once a minute are still there."""

_ID_BYTES = 24  # random: 192 bits, which nobody guesses


class SessionNotFound(DedalusError, LookupError):
    """There is no such session, or not for this caller: which of the two is not told."""

    def __str__(self) -> str:
        return (
            "Session not found: it has ended, or another process holds it "
            "(several workers need session affinity, or no sessions: stateless, with state_keys that they share)"
        )


class SessionsFull(DedalusError):
    """There are as many sessions as there may be.

    Attributes:
        limit: That many.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"Too many sessions: {self.limit} are open; try again later"


class _Entry(Generic[T]):
    __slots__ = ("holds", "owner", "used", "value")

    def __init__(self, value: T, owner: bytes, used: float) -> None:
        self.value = value
        self.owner = owner
        self.used = used
        self.holds = 0


class Sessions(Generic[T]):
    """Who has a session here.  One task at a time calls it: its methods never await.

    An owner is whatever names the caller that was authenticated, None where nobody is.  A
    session is its owner's alone; its id is no proof of anything (SEC-01).

    Args:
        max_sessions: How many may be open at once.
        idle_seconds: How long a session lives that nobody uses or holds.

    Attributes:
        idle_seconds: As given.
    """

    def __init__(self, max_sessions: int, idle_seconds: float) -> None:
        self._max = max_sessions
        self.idle_seconds = idle_seconds
        self._idle: OrderedDict[str, _Entry[T]] = OrderedDict()  # the longest unused first
        self._held: dict[str, _Entry[T]] = {}

    def __len__(self) -> int:
        return len(self._idle) + len(self._held)

    def add(self, value: T, owner: str | None, now: float) -> str:
        """Open a session and return its id: random, and of visible ASCII (HTTP-41, SEC-02).

        Raises:
            SessionsFull: There are `max_sessions`; call `expire` first, so that only live ones count.
        """
        if len(self) >= self._max:
            raise SessionsFull(self._max)
        id = token_urlsafe(_ID_BYTES)
        self._idle[id] = _Entry(value, digestible(owner), now)
        return id

    def get(self, id: str, owner: str | None, now: float) -> T:
        """Return a session's value; that is a use of it.

        Raises:
            SessionNotFound: It is unknown, expired or another owner's.
        """
        entry = self._held.get(id) or self._idle.get(id)
        if entry is None or not compare_digest(entry.owner, digestible(owner)):
            raise SessionNotFound
        if not entry.holds:
            if self._is_expired(entry, now):
                raise SessionNotFound
            entry.used = now
            self._idle.move_to_end(id)
        return entry.value

    def hold(self, id: str) -> None:
        """Keep a session alive until `release`; each call needs its own.

        Raises:
            SessionNotFound: It was removed.
        """
        entry = self._held.get(id) or self._idle.pop(id, None)
        if entry is None:
            raise SessionNotFound
        entry.holds += 1
        self._held[id] = entry

    def release(self, id: str, now: float) -> None:
        """Undo one `hold`; from the last one on the session is idle.  Nothing happens if it was removed."""
        entry = self._held.get(id)
        if entry is None:
            return
        entry.holds -= 1
        if not entry.holds:
            entry.used = now
            self._idle[id] = self._held.pop(id)

    def remove(self, id: str) -> T | None:
        """End a session, held or not, and return its value; None if there is none."""
        entry = self._held.pop(id, None) or self._idle.pop(id, None)
        return None if entry is None else entry.value

    def expire(self, now: float) -> list[T]:
        """Remove the expired sessions, and what can be spared where there is no room for another.

        Returns:
            Their values, the longest unused first.
        """
        expired: list[T] = []
        while self._idle:
            id, entry = next(iter(self._idle.items()))
            spare = len(self) >= self._max and now - entry.used >= SPARE_SECONDS
            if not (spare or self._is_expired(entry, now)):
                break
            del self._idle[id]
            expired.append(entry.value)
        return expired

    def next_expiry(self) -> float | None:
        """When the session expires that was not used for the longest time; None while all are held."""
        oldest = next(iter(self._idle.values()), None)
        return None if oldest is None else oldest.used + self.idle_seconds

    def close(self) -> list[T]:
        """Remove every session, held ones too, and return their values."""
        values = [entry.value for entry in (*self._idle.values(), *self._held.values())]
        self._idle.clear()
        self._held.clear()
        return values

    def _is_expired(self, entry: _Entry[T], now: float) -> bool:
        return now - entry.used >= self.idle_seconds


def digestible(owner: str | None) -> bytes:
    """Return what stands for an owner where two are compared: nobody is not the owner without a name."""
    return b"" if owner is None else b"=" + owner.encode("utf-8", "surrogatepass")
