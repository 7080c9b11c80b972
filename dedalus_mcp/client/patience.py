"""How long to wait before something is tried again, without I/O: a request, or a stream that is to stay open.

Layer: L4; no I/O.
Source: RFC 9110, 10.2.3 and 15.6; RFC 6585, 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from dedalus_mcp.errors import MCPConnectionError
from dedalus_mcp.jsonrpc.clock import Timeout

__all__ = ("BackOff", "pause_before_repeat")

# What says that the same request may well be answered later, in the server's words or in those of a proxy.
BUSY = frozenset({429, 500, 502, 503, 504})
# Seconds to wait where the server does not say.
PAUSE = 0.25
# Seconds; whoever is asked to wait longer has better to do, and is told how long.
LONGEST = 30.0


def pause_before_repeat(
    error: MCPConnectionError, timeout: Timeout | None, *, jitter: Callable[[], float] = random.random
) -> float | None:
    """Return how many seconds to wait before a safe request is made again; None if it should not be.

    Args:
        error: What became of it.
        timeout: How long its caller waits: there is no point in waiting longer.
        jitter: Returns a number from 0 to 1, so that many clients do not come back at once.
    """
    if error.status_code not in BUSY:
        return None
    seconds = PAUSE if error.retry_after is None else error.retry_after
    if seconds > LONGEST or (timeout is not None and seconds >= timeout.seconds):
        return None
    return seconds + PAUSE * jitter()


# Seconds before a stream that broke is opened again; it doubles each time that there is nothing new.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 60.0


class BackOff:
    """The pauses between attempts to keep something open; it is given up never, and tried ever more rarely.

    Args:
        jitter: Returns a number from 0 to 1, so that many clients do not come back at once.
    """

    def __init__(self, jitter: Callable[[], float] = random.random) -> None:
        self._jitter = jitter
        self._shortest = 0.0
        self.attempts = 0

    def pause(self) -> float:
        """Return how many seconds to wait before the next attempt, and count it."""
        seconds = max(min(FIRST_PAUSE * 2.0**self.attempts, LONGEST_PAUSE), self._shortest)
        self.attempts = min(self.attempts + 1, 32)  # no pause gets longer by more
        return seconds * (1 + self._jitter() / 4)

    def failed(self, retry_after: float | None = None) -> None:
        """An attempt failed, and the server asks for that many seconds."""
        self.attempts = max(self.attempts, 1)
        self._shortest = min(retry_after or 0.0, LONGEST_PAUSE)

    def succeeded(self) -> None:
        """There was real progress, and nothing less earns short pauses again (B091)."""
        self.attempts, self._shortest = 0, 0.0
