"""What a server sets up once and takes down at its end, however many connections it serves.

Once for each event loop, since hardly anything that is set up could be used in two.

    the first user ──▶ enter ──▶ used ──the last user leaves──▶ leave
                                   └──it breaks──▶ every user is ended, and the next one enters anew

The context manager is entered and left in one task of its own, so that it may hold task groups
and cancel scopes whichever connection comes first or goes last.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.jsonrpc.tasks import Tasks, ends_the_task

__all__ = ("Enter", "Life", "Lifespan", "entering")

logger = logging.getLogger("dedalus_mcp")

Enter: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]
"""Makes a context manager."""

T = TypeVar("T")


def entering(lifespan: Callable[[T], AbstractAsyncContextManager[Any]] | None, server: T) -> Enter | None:
    """Return what makes the context manager of a server; None if it has none.

    Raises:
        TypeError: The lifespan is no function.
    """
    if lifespan is None:
        return None
    if not callable(lifespan):
        raise TypeError(f"lifespan is a function that makes an async context manager of a server, not {lifespan!r:.80}")
    return partial(lifespan, server)


class Lifespan:
    """Enters a context manager with the first user and leaves it with the last.

    Args:
        enter: Makes the context manager; None for nothing to set up.
    """

    def __init__(self, enter: Enter | None) -> None:
        self._enter = enter
        self._shared = PerLoop(_Shared)

    @property
    def value(self) -> Any:
        """What the context manager gave in this event loop; None outside of it."""
        if self._enter is None:
            return None
        try:
            shared = self._shared.known()
        except RuntimeError:  # no event loop runs in this thread
            return None
        return None if shared is None or shared.life is None else shared.life.value

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Any]:
        """Be one of the users.  Where what is set up breaks, the body is cancelled.

        Raises:
            Exception: What the context manager raised: on the way in to everybody who waited for
                it, where it breaks to everybody, on the way out to the last who leaves.
        """
        if self._enter is None:
            yield None
            return
        shared = self._shared.here()
        life = await shared.join(self._enter)
        try:
            async with life.use() as value:
                yield value
        finally:
            await shared.part(life)


class _Shared:
    """The life of one event loop, and how many use it."""

    def __init__(self) -> None:
        self.life: Life | None = None
        self._users: dict[Life, int] = {}

    async def join(self, enter: Enter) -> Life:
        """Return the life to use, one at a time: a new one begins when the one before is over."""
        while self.life is not None and self.life not in self._users and not self.life.over.is_set():
            await self.life.over.wait()
        if self.life is None or self.life.over.is_set():
            self.life = Life(enter, "the lifespan")
        self._users[self.life] = self._users.get(self.life, 0) + 1
        return self.life

    async def part(self, life: Life) -> None:
        """Use it no more."""
        self._users[life] -= 1
        if not self._users[life]:
            del self._users[life]
            await life.leave()
            life.check()


class Life:
    """A context manager, entered and left in a task of its own.

    Args:
        enter: Makes it.
        name: What it is called in errors and in the log.
        ended: Told when it is over.

    Attributes:
        value: What it gave; None before, and afterwards.
        error: What it raised; None as long as it did not.
        entered: Set when it is entered, or never will be.
        broken: Whether it ended before it was left.
        over: Set when it is left.
    """

    def __init__(self, enter: Enter, name: str, ended: Callable[[], None] | None = None) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.broken = False
        self.entered = anyio.Event()
        self.over = anyio.Event()
        self._enter = enter
        self._name = name
        self._ended = ended
        self._leaving = anyio.Event()
        self._scope = anyio.CancelScope()
        self._users: set[anyio.CancelScope] = set()
        Tasks().start(self._live, self._end)

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Any]:
        """Use what it gives, once that is there: the body is cancelled when it breaks.

        Raises:
            Exception: What the context manager raised, on the way in or where it broke.
        """
        await self.entered.wait()
        self.check()
        with anyio.CancelScope() as scope:
            if self.broken:
                scope.cancel()
            self._users.add(scope)
            try:
                yield self.value
            finally:
                self._users.discard(scope)
        if self.broken:
            self.check()

    def check(self) -> None:
        """Raise what the context manager raised.

        Raises:
            Exception: That.
        """
        if self.error is not None:
            raise self.error

    def leave_soon(self) -> None:
        """Leave it, or stop entering; see `over`."""
        self._leaving.set()
        if not self.entered.is_set():  # nobody waits for it any more, and it may take for ever
            self._scope.cancel()

    async def leave(self) -> None:
        """Leave it, or stop entering, and return when that is over."""
        self.leave_soon()
        with anyio.CancelScope(shield=True):
            await self.over.wait()

    def give_up(self) -> None:
        """Cancel what it does to be left."""
        self._scope.cancel()

    async def _live(self) -> None:
        try:
            with self._scope:
                async with self._made() as self.value:
                    self.entered.set()
                    await self._leaving.wait()
            if not self._leaving.is_set():
                raise RuntimeError(f"{self._name} ended by itself")
        except BaseException as error:  # raised by `check`
            if ends_the_task(error) and not isinstance(error, GeneratorExit):  # with everything else, it seems
                if not self.entered.is_set():
                    self.error = RuntimeError(f"{self._name} was interrupted on the way in")
                raise
            self._fail(error)

    def _made(self) -> AbstractAsyncContextManager[Any]:
        made: Any = self._enter()
        if not hasattr(made, "__aenter__"):
            raise TypeError(
                f"{self._name} is no async context manager but {type(made).__name__}: "
                "decorate its function with contextlib.asynccontextmanager"
            )
        manager: AbstractAsyncContextManager[Any] = made
        return manager

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, GeneratorExit | anyio.get_cancelled_exc_class()):  # in another task it would be no failure
            what = "raised GeneratorExit" if isinstance(error, GeneratorExit) else "waited for what was cancelled"
            self.error = RuntimeError(f"{self._name} {what}")
            self.error.__cause__ = error
        else:
            self.error = error
        if self.entered.is_set() and not self._leaving.is_set():  # it may be long until anybody looks
            self.broken = True
            logger.error("%s broke while it was used", self._name, exc_info=self.error)

    def _end(self) -> None:
        self.value = None
        self.entered.set()
        self.over.set()
        if self.broken:
            for scope in self._users:
                scope.cancel()
        if self._ended is not None:
            self._ended()
