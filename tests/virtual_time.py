"""Event loops in virtual time: a wait costs nothing, and every instant is exact.

Time only passes while every task waits for it, so a test that hangs fails at once.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

import trio.testing

__all__ = ("virtual",)


class _VirtualSelector(selectors.SelectSelector):
    """Lets the time pass that it is asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(timeout and 0)
        if timeout and not events:
            self.now += timeout
        return events


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is its selector's."""

    def __init__(self) -> None:
        self._virtual = _VirtualSelector()
        super().__init__(self._virtual)
        # What is due within so many seconds is due: after years, a float does not tell shorter times apart.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._virtual.now


def virtual(backend: str) -> tuple[str, dict[str, Any]]:
    """What a fixture `anyio_backend` returns for one of the two backends in virtual time."""
    if backend == "asyncio":
        return "asyncio", {"loop_factory": _VirtualLoop}
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
