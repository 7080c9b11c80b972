"""One piece of work for all who need it at the same time.

    run ──▶ nobody is at it: do it        ──▶ its result, or its error
       └──▶ somebody is: wait for theirs  ──▶ the same
                 └── they were cancelled: whoever waits first takes over

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, TypeVar

import anyio

__all__ = ("Flight",)

T = TypeVar("T")


class Flight(Generic[T]):
    """Work that is done once for all who ask for it meanwhile."""

    def __init__(self) -> None:
        self._current: _Current[T] | None = None

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work that is being done now, or else of `work`.

        Raises:
            Exception: Whatever the work raised; all who waited for it raise the same.
        """
        while self._current is not None:
            current = self._current
            await current.over.wait()
            if current.error is not None:
                raise current.error.with_traceback(current.trace)  # else it grows with each that raises it
            if current.results:
                return current.results[0]
        current = self._current = _Current()
        try:
            result = await work()
            current.results.append(result)
        except Exception as error:
            current.error, current.trace = error, error.__traceback__
            raise
        finally:
            self._current = None
            current.over.set()
        return result


class _Current(Generic[T]):
    """One run; with neither a result nor an error when it is over, it was cancelled."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.results: list[T] = []
        self.error: Exception | None = None
        self.trace: TracebackType | None = None
