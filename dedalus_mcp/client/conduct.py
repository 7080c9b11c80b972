"""The settings of one client, checked and complete.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from dedalus_mcp.client.cache import ResponseCache
from dedalus_mcp.client.opening import Opening
from dedalus_mcp.errors import DedalusError, SessionExpiredError

__all__ = ("Conduct", "RepeatHandler", "Repeated", "SessionLostHandler")

SessionLostHandler: TypeAlias = Callable[[SessionExpiredError], Awaitable[None] | None]
"""Hears that the server had forgotten the session, once there is a new one.  A plain `def` must not block."""


class Repeated(NamedTuple):
    """A request is about to be made once more.

    Attributes:
        method: Its method.
        error: What became of it the first time.
        pause: How many seconds later.
    """

    method: str
    error: DedalusError
    pause: float


RepeatHandler: TypeAlias = Callable[[Repeated], Awaitable[None] | None]
"""Hears that a request is made once more.  A plain `def` must not block."""


class Conduct(NamedTuple):
    """How a client behaves: see `ClientSettings` for what is not described here.

    Attributes:
        opening: How its connection is opened, and opened anew.
        cache: Where results are kept; None for nowhere.
        check_outputs: Whether results are held against output schemas.
    """

    opening: Opening
    max_rounds: int
    cache: ResponseCache | None
    principal: str | None
    check_outputs: bool
    on_session_lost: SessionLostHandler | None
    on_repeat: RepeatHandler | None
