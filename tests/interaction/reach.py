"""The ways to reach a server in tests of whole conversations: in memory, and as a real child process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import anyio
import pytest

from dedalus_mcp import StdioServer
from tests.sources import PACKAGES, ROOT

__all__ = ("ENV", "PATIENCE", "Heard", "script", "text_of", "ways")

PATIENCE = 20.0
"""Seconds that a step of a test may take: a bound on hanging, far above what any needs."""

ways = pytest.mark.parametrize(
    ("anyio_backend", "transport"),
    [("asyncio", "memory"), ("trio", "memory"), ("asyncio", "stdio")],
)
"""Over every transport; a child process runs on its own event loop, so once is enough there."""

ENV = {
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *set(PACKAGES.values()), ROOT / "dedalus_mcp" / "_names"))),
    "PYTHONIOENCODING": "utf-8",
}

T = TypeVar("T")


class Heard(Generic[T]):
    """A callback that remembers; callbacks run beside the calls, so whoever looks waits first."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._changed = anyio.Event()

    def __call__(self, value: T) -> None:
        self.values.append(value)
        self._changed.set()
        self._changed = anyio.Event()

    async def wait(self, count: int) -> list[T]:
        """Return all values once there are so many."""
        while len(self.values) < count:
            await self._changed.wait()
        return self.values


def script(module: str, args: Sequence[str] = (), **settings: Any) -> StdioServer:
    """A module of the tests, run as a script that serves on stdio."""
    settings.setdefault("stderr", subprocess.DEVNULL)
    return StdioServer(sys.executable, ["-m", module, *args], env=ENV, cwd=ROOT, **settings)


def text_of(result: Any) -> str:
    """The text of a result's one block."""
    (block,) = result.content
    return str(block.text)
