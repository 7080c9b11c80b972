"""A request that was begun and can be left alone: awaited later, or cancelled by whoever holds it.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

import anyio

from dedalus_mcp.errors import ConnectionLost, RequestCancelled
from dedalus_mcp.jsonrpc.tasks import ends_the_task

__all__ = ("Pending",)

R = TypeVar("R")


class Pending(Generic[R]):
    """A request that runs: await it for what it returns or raises, from any task, as often as you like.

    Args:
        work: The request.
        why_over: Says why the client's connection is over.
    """

    def __init__(self, work: Callable[[], Awaitable[R]], why_over: Callable[[], str | None]) -> None:
        self._work = work
        self._why_over = why_over
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()
        self._result: tuple[R] | None = None
        self._error: BaseException | None = None

    def __await__(self) -> Generator[Any, Any, R]:
        return self._outcome().__await__()

    @property
    def done(self) -> bool:
        """Whether it is over: awaiting it waits for nothing any more."""
        return self._over.is_set()

    def cancel(self) -> None:
        """Stop it, here and at the server; who awaits it gets `RequestCancelled`.  Idempotent."""
        self._scope.cancel()

    async def run(self) -> None:
        """Make the request.  Raises nothing but the cancellation of the task."""
        try:
            with self._scope:
                self._result = (await self._work(),)
        except BaseException as error:
            if ends_the_task(error):  # the client is being closed
                self._error = ConnectionLost(self._why_over() or "the client was closed")
                raise
            self._error = error
        finally:
            self._over.set()

    async def _outcome(self) -> R:
        await self._over.wait()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RequestCancelled
        return self._result[0]
