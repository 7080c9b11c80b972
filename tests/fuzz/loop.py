"""One event loop for all inputs of a target, in virtual time: one for each would take longer than all else.

Time passes only while everybody waits for it, so what waits for ever is found at once, and what expires
in an hour is gone when an hour has been waited for.  What the package says in the log to be a failure of
its own breaks the invariant, and so does what nobody catches in a task.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import traceback
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import anyio

from tests.virtual_time import virtual

__all__ = ("nothing_left", "play", "settled")

HOURS = 24
"""How long an input may take in virtual time: what lasts longer never ends."""

EXPIRED = 2 * 3600
"""Seconds after which nothing that nobody comes back for is kept any more."""


class _Failures(logging.Handler):
    """Collects failures: from the log, and from tasks that nobody looks after."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take what the package says in the log."""
        trace = "" if record.exc_info is None else "".join(traceback.format_exception(record.exc_info[1]))
        self.found.append(f"{record.getMessage()}\n{trace}")

    def uncaught(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Take what the event loop says."""
        error = context.get("exception")
        self.found.append(
            f"{context['message']}\n{'' if error is None else ''.join(traceback.format_exception(error))}"
        )


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene to its end.

    Raises:
        AssertionError: Something failed meanwhile, or the scene does not end.
    """
    loop, failures = _loop(), _Failures()
    logger = logging.getLogger("dedalus_mcp")
    logger.addHandler(failures)
    loop.set_exception_handler(failures.uncaught)
    try:
        loop.run_until_complete(_bounded(scene))
    finally:
        logger.removeHandler(failures)
        loop.set_exception_handler(None)
    assert not failures.found, "\n".join(failures.found)


async def settled() -> None:
    """Return when everybody waits, for something else than a moment."""
    await anyio.sleep(0.001)


async def nothing_left(before: int) -> None:
    """Return when there are no more tasks than there were before.

    Args:
        before: How many there were.

    Raises:
        AssertionError: There are more, even after all that expires has done so.
    """
    await settled()
    if len(asyncio.all_tasks()) > before:
        await anyio.sleep(EXPIRED)
    left = [repr(task) for task in asyncio.all_tasks()]
    assert len(left) <= before, f"{before} tasks have become {len(left)}:\n" + "\n".join(left)


async def _bounded(scene: Callable[[], Awaitable[None]]) -> None:
    with anyio.move_on_after(HOURS * 3600) as scope:
        await scene()
    assert not scope.cancelled_caught, "it does not end"


@cache
def _loop() -> asyncio.AbstractEventLoop:
    _, options = virtual("asyncio")
    loop: asyncio.AbstractEventLoop = options["loop_factory"]()
    atexit.register(loop.close)
    return loop
