"""What a server sets up once and takes down at its end, however many connections it serves.

Once for each event loop, since hardly anything that is set up could be used in two.

The context manager is entered and left in one task of its own, so that it may hold task groups
and cancel scopes whichever connection comes first or goes last.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks, current_loop, ends_the_task, is_foreign

__all__ = ("Lifespan",)

logger = logging.getLogger("dedalus_mcp")

_Enter: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class Lifespan:
    """Enters a context manager with the first user and leaves it with the last.

    Args:
        enter: Makes the context manager; None for nothing to set up.
    """

    def __init__(self, enter: _Enter | None) -> None:
        self._enter = enter
        # What lives in one event loop is of no use to another, and a server may be in several.
        self._lives: WeakKeyDictionary[object, _Life] = WeakKeyDictionary()

    @property
    def value(self) -> Any:
        """What the context manager gave in this event loop; None outside of it."""
        if self._enter is None:
            return None
        try:
            life = self._lives.get(current_loop())
        except RuntimeError:  # no event loop runs in this thread
            return None
        return None if life is None else life.value

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Any]:
        """Be one of the users.

        Raises:
            Exception: What the context manager raised: on the way in to everybody who waited for
                it, later on to the last who leaves.
        """
        if self._enter is None:
            yield None
            return
        life = await self._join(self._enter)
        try:
            await life.entered.wait()
            if life.error is not None:
                raise life.error
            yield life.value
        finally:
            life.users -= 1
            if life.users == 0:
                await life.leave()
                if life.error is not None:
                    raise life.error

    async def _join(self, enter: _Enter) -> _Life:
        loop = current_loop()
        life = self._lives.get(loop)
        while life is not None and life.users == 0 and not life.over.is_set():
            await life.over.wait()  # one life at a time
            life = self._lives.get(loop)
        if life is None or life.over.is_set():
            life = self._lives[loop] = _Life(enter)
        life.users += 1
        return life


class _Life:
    """A task that enters, waits for the word to leave, and leaves."""

    def __init__(self, enter: _Enter) -> None:
        self.users = 0
        self.value: Any = None
        self.error: BaseException | None = None
        self.entered = anyio.Event()
        self.over = anyio.Event()
        self._leaving = anyio.Event()
        self._scope = anyio.CancelScope()
        self._enter = enter
        Tasks().start(self._live, self._end)

    async def leave(self) -> None:
        """Leave, or stop entering, and return when that is over."""
        self._leaving.set()
        if not self.entered.is_set():  # nobody waits for it any more, and it may take for ever
            self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self.over.wait()

    async def _live(self) -> None:
        try:
            with self._scope:
                async with self._enter() as self.value:
                    self.entered.set()
                    await self._leaving.wait()
        except anyio.get_cancelled_exc_class() as cancelled:
            if not is_foreign(cancelled):
                raise
            self.error = RuntimeError("the lifespan waited for something that was cancelled")
            self.error.__cause__ = cancelled
        except BaseException as error:  # raised by `running`
            if ends_the_task(error):
                raise
            self.error = error
            if self.entered.is_set() and not self._leaving.is_set():  # it may be long until then
                logger.exception("what a server's lifespan has set up broke while it was used")

    def _end(self) -> None:
        self.value = None
        self.entered.set()
        self.over.set()
