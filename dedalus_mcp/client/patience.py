"""How long to wait before a request is made once more that a busy server refused, without I/O.

Layer: L4; no I/O.
Source: RFC 9110, 10.2.3 and 15.6; RFC 6585, 4.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from dedalus_mcp.errors import MCPConnectionError
from dedalus_mcp.jsonrpc.clock import Timeout

__all__ = ("pause_before_repeat",)

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
