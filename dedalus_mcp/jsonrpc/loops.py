"""What there is one of for each event loop.

A server may be used under several event loops, as in tests, and what waits in one is of no use
to another, or even harmful to touch.

Layer: L3; transports use it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

from dedalus_mcp.jsonrpc.tasks import current_loop

__all__ = ("PerLoop",)

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One `T` for each event loop, made when it is first asked for there, and gone with the loop.

    Args:
        make: Makes one; called inside the loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[object, T] = WeakKeyDictionary()
        self._last: tuple[Callable[[], object], T] | None = None  # nearly always there is one loop

    def here(self) -> T:
        """Return the one of the running loop."""
        key, last = current_loop(), self._last  # which another thread may change meanwhile
        if last is not None and last[0]() is key:
            return last[1]
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._make()
        self._last = ref(key), found
        return found

    def known(self) -> T | None:
        """Return the one of the running loop, if it was made already."""
        return self._made.get(current_loop())
