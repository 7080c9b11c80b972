"""What a server sets up for each client: entered at the first use of a session, left at its end.

    the first handler that is called ──▶ enter ──▶ used by all handlers of the session ──its end──▶ leave
                                                       └──it breaks──▶ they are ended; the next one enters anew

2026-07-28 has no sessions: there it is entered for each call, and held as long as that takes,
rounds included.  It is left when no handler uses it any more, and before the server's own lifespan.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import anyio

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.server.lifespan import Life
from dedalus_mcp.server.sessions import Session

__all__ = ("EnterSession", "SessionLife", "SessionLifespan")

logger = logging.getLogger("dedalus_mcp")

LEAVING_SECONDS = 5.0
"""How long leaving may take before it is cancelled: the server's own end waits for it."""

EnterSession: TypeAlias = Callable[[Session], AbstractAsyncContextManager[Any]]
"""Makes the context manager of a session."""


class SessionLifespan:
    """The lives of all sessions of a server.

    Args:
        enter: Makes the context manager of one.

    Raises:
        TypeError: It is no function.
    """

    def __init__(self, enter: EnterSession) -> None:
        if not callable(enter):
            raise TypeError(
                f"session_lifespan is a function that makes an async context manager of a Session, not {enter!r:.80}"
            )
        self._enter = enter
        self._leaving: PerLoop[set[Life]] = PerLoop(set)

    def begin(self, session: Session) -> SessionLife:
        """Return the life of a session, not entered yet."""
        return SessionLife(partial(self._enter, session), self._leaving.here())

    @asynccontextmanager
    async def once(self, session: Session) -> AsyncGenerator[Any]:
        """Live for one call, and return when that is over.

        Raises:
            Exception: What was raised on the way in, or where it broke.
        """
        life = self.begin(session)
        try:
            async with life.use() as value:
                yield value
        finally:
            life.end()
            if life.entered is not None:
                await _left(life.entered)

    async def left(self) -> None:
        """Return when all that are being left are over; those that take too long are cancelled together."""
        await _left(*self._leaving.here())


class SessionLife:
    """The life of one session.

    Args:
        enter: Makes its context manager.
        leaving: Where it is found as long as it is being left.
    """

    __slots__ = ("_ended", "_enter", "_leaving", "_life", "_users")

    def __init__(self, enter: Callable[[], AbstractAsyncContextManager[Any]], leaving: set[Life]) -> None:
        self._enter = enter
        self._leaving = leaving
        self._life: Life | None = None
        self._users = 0
        self._ended = False

    @property
    def entered(self) -> Life | None:
        """What was entered last; None before the first use."""
        return self._life

    @property
    def value(self) -> Any:
        """What the context manager gave; None before it is entered."""
        return None if self._life is None else self._life.value

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Any]:
        """Be one of the users; the first enters it.  Where it breaks, the body is cancelled.

        Raises:
            Exception: What was raised on the way in, or where it broke; the next user tries again.
        """
        if self._life is None or self._life.over.is_set():
            self._life = self._begun()
        life = self._life
        self._users += 1
        try:
            async with life.use() as value:
                yield value
        finally:
            self._users -= 1
            if self._ended and not self._users:
                self._leave()

    def end(self) -> None:
        """The session is over: leave it, once nobody uses it any more."""
        self._ended = True
        if not self._users:
            self._leave()

    def _leave(self) -> None:
        life = self._life
        if life is not None and not life.over.is_set():
            self._leaving.add(life)
            life.leave_soon()

    def _begun(self) -> Life:
        life = Life(self._enter, "the lifespan of a session", lambda: self._over(life))
        return life

    def _over(self, life: Life) -> None:
        if life in self._leaving:
            self._leaving.discard(life)
            if life.error is not None:  # nobody else hears of it
                logger.error("leaving the lifespan of a session failed", exc_info=life.error)


async def _left(*lives: Life) -> None:
    """Return when these are over; those that take too long are cancelled."""
    with anyio.move_on_after(LEAVING_SECONDS, shield=True):
        for life in lives:
            await life.over.wait()
    if late := [life for life in lives if not life.over.is_set()]:
        logger.error(
            "leaving the lifespan of a session takes more than %g s: cancelled, for %d of them",
            LEAVING_SECONDS,
            len(late),
        )
        for life in late:
            life.give_up()
