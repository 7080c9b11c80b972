"""A clock that tests move: uvloop tells the time in whole milliseconds, so no time is short enough to have passed."""

from __future__ import annotations

import anyio
import pytest

from dedalus_mcp_transports import http_stateful


class Skew:
    """Moves the clock that sessions are measured by.

    Attributes:
        seconds: How far it is ahead.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        real = anyio.current_time
        monkeypatch.setattr(anyio, "current_time", lambda: real() + self.seconds)
        monkeypatch.setattr(http_stateful, "now", lambda: real() + self.seconds)
