"""The engine's tests run in virtual time: a wait costs nothing, and every instant is exact.

Time only passes while every task waits for it, so a test that hangs fails at once.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

import pytest
import trio.testing
from hypothesis import settings

settings.register_profile("engine", deadline=None, max_examples=150)  # a deadline fails on busy machines
settings.load_profile("engine")


class VirtualSelector(selectors.SelectSelector):
    """Lets the time pass that it is asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(timeout and 0)
        if timeout and not events:
            self.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is its selector's."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return "asyncio", {"loop_factory": VirtualLoop}
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
