"""What handlers depend on: made by functions of the author's for one call, and taken down after it.

    @tool
    async def report(month: str, db: Database = Depends(database)) -> str: ...

Such a parameter is in no schema, and no client can set it.  What is depended on may depend on more,
and take a `Context`.  Each is made once in a call, however many depend on it.  A generator yields its
value: what follows runs when the handler is over, however it ended, the latest made first.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from types import TracebackType
from typing import Annotated, Any, get_args, get_origin

import anyio
import msgspec
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec import UNSET

from dedalus_mcp.schema.signature import is_async, label, parameters, remember
from dedalus_mcp.server.context_parameters import context_for, is_context
from dedalus_mcp.threads import Threads

__all__ = ("Dependencies", "Dependency", "Depends", "dependency_of")

logger = logging.getLogger("dedalus_mcp")

_LEGAL = "a dependency takes by name a Context, what it depends on itself, and what has a default"

CLEANUP_SECONDS = 5.0
"""How long what a call depends on may take to be taken down.  It is not cancelled with the call: nobody else would."""


class Dependency(msgspec.Struct, frozen=True, eq=False):
    """What a parameter depends on: see `Depends`."""

    function: Callable[..., Any]
    subdependencies: tuple[Dependency, ...]
    use_cache: bool


def Depends(  # noqa: N802 - it is written where a type would be, as elsewhere
    dependency: Callable[..., Any], *subdependencies: Any, use_cache: bool = True
) -> Any:
    """Let a parameter be what a function makes, as its default or in its `Annotated`.

    Args:
        dependency: Makes the value: any callable, or a generator function that yields it once.  A plain
            `def` runs in a worker thread, like a tool.
        subdependencies: What makes its first arguments, passed by position.  The rest may be a `Context`,
            depend on more, or have defaults.
        use_cache: Whether one value serves a whole call; else each parameter gets its own.

    Returns:
        A mark.  It is typed as anything, so that it may stand for the parameter's own type.

    Raises:
        TypeError: Something of this is not callable.
    """
    return Dependency(_callable(dependency), tuple(_sub(each) for each in subdependencies), use_cache)


def _callable(function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"Depends() arguments must be callable, not {function!r:.80}")
    remember(function)
    made: Callable[..., Any] = function
    return made


def _sub(given: Any) -> Dependency:
    return given if isinstance(given, Dependency) else Dependency(_callable(given), (), use_cache=True)


def dependency_of(annotation: Any, default: Any = UNSET) -> Dependency | None:
    """Return what a parameter depends on; None if it does not."""
    marks = (default, annotation, *(get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()))
    return next((mark for mark in marks if isinstance(mark, Dependency)), None)


class _Maker:
    """One dependency, ready to be made.

    Attributes:
        positional: Which made values it takes by position.
        named: Which it takes by name.
        contexts: The contexts that it takes by name, with their annotations.
    """

    __slots__ = ("_enter", "_fn", "_inline", "contexts", "named", "positional")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.positional: list[int] = []
        self.named: dict[str, int] = {}
        self.contexts: dict[str, Any] = {}
        self._fn = fn
        self._inline = is_async(fn)
        self._enter = _entering(fn)

    @property
    def ends(self) -> bool:
        """Whether it is to be taken down."""
        return self._enter is not None

    async def make(self, made: list[Any], threads: Threads, stack: AsyncExitStack) -> Any:
        """Make the value; what is to be done about it later goes onto the stack."""
        named = {name: made[index] for name, index in self.named.items()}
        named |= {name: context_for(annotation) for name, annotation in self.contexts.items()}
        call = partial(self._enter or self._fn, *[made[index] for index in self.positional], **named)
        if self._enter is None:
            value = call() if self._inline else await threads.run(call)
            return await value if inspect.isawaitable(value) else value
        manager = call()
        if hasattr(manager, "__aenter__"):
            return await stack.enter_async_context(manager)
        value = None
        with anyio.CancelScope(shield=True):  # a thread goes on anyhow: what it opens must be known here
            value = await threads.run(manager.__enter__)
        stack.push_async_exit(_leaving(manager, threads))
        await checkpoint_if_cancelled()
        return value


def _leaving(manager: Any, threads: Threads) -> Callable[..., Any]:
    async def leave(
        kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Any:
        return await threads.run(partial(manager.__exit__, kind, error, traceback))

    return leave


class Dependencies:
    """All that one handler depends on, in the order in which it is made."""

    __slots__ = ("_known", "_makers")

    def __init__(self) -> None:
        self._makers: list[_Maker] = []
        self._known: dict[Any, int] = {}

    def add(self, dependency: Dependency, path: tuple[Callable[..., Any], ...] = ()) -> int:
        """Plan for a dependency, and return where among the made values its own will be.

        Args:
            dependency: The dependency.
            path: What depends on it, the handler's own first.

        Raises:
            TypeError: It has a parameter that nobody gives, or depends on itself; the text says which.
        """
        function, identity = dependency.function, _identity(dependency)
        if any(_key(function) == _key(each) for each in path):
            circle = " -> ".join(label(each) for each in (*path, function))
            raise TypeError(f"dependencies go in a circle: {circle}")
        if dependency.use_cache and identity in self._known:
            return self._known[identity]
        maker = self._planned(dependency, (*path, function))
        index = len(self._makers)
        self._makers.append(maker)
        if dependency.use_cache:
            self._known[identity] = index
        return index

    def _planned(self, dependency: Dependency, path: tuple[Callable[..., Any], ...]) -> _Maker:
        function, subs = dependency.function, dependency.subdependencies
        maker, own = _Maker(function), parameters(function)
        if len(subs) > len(own):
            raise TypeError(f"{label(function)}() takes {len(own)} arguments; it is to depend on {len(subs)}")
        for one, sub in zip(own, subs, strict=False):
            if one.positional:
                maker.positional.append(self.add(sub, path))
            else:
                maker.named[one.name] = self.add(sub, path)
        for one in own[len(subs) :]:
            wanted = dependency_of(one.annotation, one.default)
            if wanted is not None and not one.positional:
                maker.named[one.name] = self.add(wanted, path)
            elif is_context(one.annotation) and not one.positional:
                maker.contexts[one.name] = one.annotation
            elif one.default is UNSET or wanted is not None:
                raise TypeError(f"{label(function)}(): nobody gives '{one.name}'; {_LEGAL}")
        return maker

    @property
    def ending(self) -> bool:
        """Whether any of them is to be taken down."""
        return any(maker.ends for maker in self._makers)

    async def make(self, threads: Threads, stack: AsyncExitStack | None = None) -> list[Any]:
        """Make them, in their order.

        Args:
            threads: Where a plain `def` runs.
            stack: Takes them down; None where none is to be.

        Raises:
            Exception: What one of them raised.
        """
        made: list[Any] = []
        for maker in self._makers:
            made.append(await maker.make(made, threads, stack or AsyncExitStack()))
        return made

    @asynccontextmanager
    async def made(self, threads: Threads) -> AsyncGenerator[list[Any]]:
        """Make them, and take them down at the end; a cancelled call does that as well as any other.

        Raises:
            Exception: What one of them raised.
        """
        with anyio.CancelScope() as scope:
            async with AsyncExitStack() as stack:
                try:
                    yield await self.make(threads, stack)
                finally:
                    # From the outside, around scopes that the dependencies hold open themselves.
                    scope.shield = True
                    scope.deadline = anyio.current_time() + CLEANUP_SECONDS
        if scope.cancelled_caught:
            logger.error("what a call depended on was not taken down in %g s", CLEANUP_SECONDS)


def _identity(dependency: Dependency) -> tuple[Any, ...]:
    """What two dependencies have in common that are made once."""
    return (_key(dependency.function), *map(_identity, dependency.subdependencies))


def _key(function: Callable[..., Any]) -> Any:
    try:
        hash(function)
    except TypeError:  # an instance of a class that defines equality, as dataclasses do
        return id(function)
    return function


def _entering(fn: Any) -> Callable[..., Any] | None:
    """Return what makes a context manager of a generator function, called as it is; None for another function."""
    called = fn
    while isinstance(called, partial):
        called = called.func
    if not (inspect.isroutine(called) or isinstance(called, type)):
        called = type(called).__call__
    if inspect.isasyncgenfunction(called):
        return asynccontextmanager(fn)
    return contextmanager(fn) if inspect.isgeneratorfunction(called) else None
