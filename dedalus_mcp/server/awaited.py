"""A forgotten `await` must not count as an answer: a coroutine is true.

    if ctx.confirm("Delete everything?"):      would always be so; here it raises

Layer: L4; no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, NoReturn, TypeVar, cast

__all__ = ("Unawaited", "to_be_awaited")

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


class Unawaited(Coroutine[Any, Any, T]):
    """A coroutine that is neither true nor false.

    Args:
        coroutine: The coroutine.
        name: Of the method that made it.
    """

    __slots__ = ("_coroutine", "_name")

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self._coroutine = coroutine
        self._name = name

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()

    def __bool__(self) -> NoReturn:
        """Refuse to be taken for an answer.

        Raises:
            RuntimeError: Always.
        """
        self._coroutine.close()
        raise RuntimeError(
            f"ctx.{self._name}(...) was not awaited: write `await ctx.{self._name}(...)`, "
            f"or `ctx.wait(ctx.{self._name}(...))` in a plain def"
        )

    def send(self, value: Any) -> Any:
        """Run to the next suspension: see `Coroutine`."""
        return self._coroutine.send(value)

    def throw(self, kind: Any, value: Any = None, traceback: TracebackType | None = None) -> Any:
        """Raise at the present suspension: see `Coroutine`."""
        return self._coroutine.throw(kind if value is None else value)

    def close(self) -> None:
        """End it: see `Coroutine`."""
        self._coroutine.close()


def to_be_awaited(fn: F) -> F:
    """Let what calling `fn` gives be neither true nor false before it is awaited."""

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Unawaited[Any]:
        return Unawaited(fn(*args, **kwargs), fn.__name__)

    return cast("F", call)
