"""An event loop in a thread of its own, for programs that have none.

    thread ──run(work)──▶ the loop ──▶ what work returns or raises
       └── interrupted ──▶ work is cancelled

Layer: L4.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.jsonrpc.tasks import runs_trio

__all__ = ("Portal",)

R = TypeVar("R")

CLOSED = "the client was closed"
FORKED = "the client is that of the process which made it, and a fork of that has no part in it: connect anew"


class Portal:
    """The loop.  Usable from any thread, but from none that runs an event loop: that would stand still.

    Raises:
        RuntimeError: This thread runs an event loop.
    """

    def __init__(self) -> None:
        _refuse()
        begun = concurrent.futures.Future[BlockingPortal]()
        # A daemon: a program that forgets to close its client ends all the same.
        self._thread = threading.Thread(target=self._live, args=(begun,), name="dedalus-mcp client", daemon=True)
        self._closing = threading.Lock()
        self._closed = False
        self._lock = threading.Lock()  # for what follows
        self._over = False  # the loop is: what it was given last it may never have looked at
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._thread.start()
        self._portal = begun.result()
        self._process = os.getpid()

    def begin(self, work: Callable[[], Coroutine[Any, Any, R]]) -> concurrent.futures.Future[R]:
        """Start work in the loop; cancelling what is returned cancels it.

        Raises:
            ConnectionLost: The loop is over, or was left behind by a fork.
        """
        if os.getpid() != self._process:  # threads do not come along, so nobody would ever answer
            raise ConnectionLost(FORKED)
        with self._lock:
            if self._over:
                raise ConnectionLost(CLOSED)
            try:
                future = self._portal.start_task_soon(self._watched, work)
            except RuntimeError as error:
                raise ConnectionLost(CLOSED) from error
            self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Do work in the loop, and return or raise what comes of it.

        Raises:
            RuntimeError: This thread runs an event loop.
            ConnectionLost: See `begin`.
        """
        _refuse()
        future = self.begin(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ConnectionLost(CLOSED) from None
        finally:
            future.cancel()  # where an interrupt ends the wait; else it is over already

    def close(self) -> None:
        """End the loop with all that runs in it.  Idempotent, from any thread."""
        _refuse()
        if os.getpid() != self._process:
            return
        with self._closing:
            if self._closed:
                return
            self._closed = True
            with suppress(ConnectionLost, concurrent.futures.CancelledError):  # it has ended: by `SystemExit` say
                self.begin(partial(self._portal.stop, cancel_remaining=True)).result()
            self._thread.join()

    async def _watched(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Do work; what ends the loop ends it for those who come now, too."""
        try:
            return await work()
        except (KeyboardInterrupt, SystemExit):
            with self._lock:
                self._over = True
            raise

    def _live(self, begun: concurrent.futures.Future[BlockingPortal]) -> None:
        """Run the loop, in its thread."""

        async def serve() -> None:
            async with BlockingPortal() as portal:
                begun.set_result(portal)
                await portal.sleep_until_stopped()

        try:
            anyio.run(serve)
        except BaseException as error:  # noqa: BLE001 - raised where the loop is wanted
            if not begun.done():
                begun.set_exception(error)
        with self._lock:
            self._over = True
        for future in list(self._waiting):  # there can be no more
            with suppress(concurrent.futures.InvalidStateError):  # it is over after all
                future.set_exception(ConnectionLost(CLOSED))


def _refuse() -> None:
    if _asyncio_runs() or runs_trio():
        raise RuntimeError(
            "this thread runs an event loop, which a synchronous client would stop: use MCPClient and `await`, "
            "or call from another thread"
        )


def _asyncio_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
