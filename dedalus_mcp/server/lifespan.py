"""What a server sets up once and takes down at its end, however many connections it serves.

The context manager is entered and left in one task of its own, so that it may hold task groups
and cancel scopes whichever connection comes first or goes last.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks

__all__ = ("Lifespan",)


class Lifespan:
    """Enters a context manager with the first user and leaves it with the last.

    Args:
        enter: Makes the context manager; None for nothing to set up.

    Attributes:
        value: What the context manager gave; None outside of it.
    """

    def __init__(self, enter: Callable[[], AbstractAsyncContextManager[Any]] | None) -> None:
        self.value: Any = None
        self._enter = enter
        self._users = 0
        self._run: _Run | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Any]:
        """Be one of the users.

        Raises:
            Exception: What the context manager raised on the way in.
        """
        if self._enter is None:
            yield None
            return
        self._users += 1
        run = self._run = self._run or _Run(self, self._enter)
        try:
            await run.entered.wait()
            if run.error is not None:
                raise run.error
            yield self.value
        finally:
            self._users -= 1
            if self._users == 0:
                self._run = None
                run.leave.set()
                with anyio.CancelScope(shield=True):
                    await run.over.wait()


class _Run:
    """One life: a task that enters, waits for the word to leave, and leaves."""

    def __init__(self, lifespan: Lifespan, enter: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self.entered = anyio.Event()
        self.leave = anyio.Event()
        self.over = anyio.Event()
        self.error: Exception | None = None
        self._lifespan = lifespan
        self._enter = enter
        Tasks().start(self._live, self._end)

    async def _live(self) -> None:
        try:
            async with self._enter() as value:
                self._lifespan.value = value
                self.entered.set()
                await self.leave.wait()
        except Exception as error:  # noqa: BLE001 - handed to those who wait to use it
            self.error = error
        finally:
            self._lifespan.value = None

    def _end(self) -> None:
        self.entered.set()
        self.over.set()
