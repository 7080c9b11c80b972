"""What stands between clients and handlers: functions of the author's, around every call and every notice.

    client ──▶ first ──▶ second ──▶ ··· ──▶ handler
           ◀──       ◀──        ◀── its result, or what it raised

    async def timed(incoming: Incoming, call_next: CallNext) -> Any:
        began = time.perf_counter()
        try:
            return await call_next()
        finally:
            print(incoming.method, time.perf_counter() - began)

Layer: L4.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, cast, overload

import msgspec
from msgspec import UNSET, UnsetType

from dedalus_mcp.schema.signature import is_async, label
from dedalus_mcp.types import InputRequiredResult, NotificationParams
from dedalus_mcp.types.method import Method, NotificationMethod
from dedalus_mcp.types.methods import NOTIFICATIONS, REQUESTS

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from dedalus_mcp.server.context import Context

    P_co = TypeVar("P_co", covariant=True, default=Any)
    P_contra = TypeVar("P_contra", contravariant=True, default=Any)
    R_co = TypeVar("R_co", covariant=True, default=Any)
else:  # defaults are the checkers' business alone
    from typing import TypeVar

    P_co = TypeVar("P_co", covariant=True)
    P_contra = TypeVar("P_contra", contravariant=True)
    R_co = TypeVar("R_co", covariant=True)

__all__ = ("CallNext", "Chain", "Incoming", "Middleware", "intercept")

P = TypeVar("P")
R = TypeVar("R")


class Incoming(msgspec.Struct, Generic[P_co], frozen=True):
    """A call or a notice of the client's, on its way to what answers it.

    Attributes:
        method: What is called, or told.
        params: The params, decoded.
        context: The call, as its handler sees it.  That of a notice has no `request_id`: it is empty.
        notice: Whether it is a notice, which nobody answers.
    """

    method: str
    params: P_co
    context: Context
    notice: bool = False


class CallNext(Protocol[P_contra, R_co]):
    """Goes on to the next middleware, or to the handler."""

    async def __call__(self, params: P_contra | UnsetType = UNSET, /) -> R_co:
        """Return the result, which is None for a notice.

        Args:
            params: Other params to go on with; as they are if UNSET.

        Raises:
            TypeError: They are not of the method's type, or cannot be changed here.
            Exception: What the handler raised.
        """
        ...


Middleware: TypeAlias = "Callable[[Incoming, CallNext], Awaitable[Any]]"
"""An async function: it returns what `call_next()` gave or a result of its own, or raises."""


@overload
def intercept(
    method: Method[P, R],
) -> Callable[[Callable[[Incoming[P], CallNext[P, R]], Awaitable[R]]], Middleware]: ...
@overload
def intercept(
    method: NotificationMethod[P],
) -> Callable[[Callable[[Incoming[P], CallNext[P, None]], Awaitable[None]]], Middleware]: ...
def intercept(method: Method[Any, Any] | NotificationMethod[Any]) -> Callable[[Any], Middleware]:
    """Make a middleware of a function that is for one method alone.

        @intercept(TOOLS_CALL)
        async def read_only(incoming, call_next): ...

    Args:
        method: One of `dedalus_mcp.types.methods`.

    Raises:
        TypeError: `method` is none, or what is decorated is no async function.
    """
    if not isinstance(cast("object", method), Method | NotificationMethod):
        raise TypeError(f"intercept takes a method, such as types.methods.TOOLS_CALL, not {method!r:.80}")

    def decorate(fn: Any) -> Middleware:
        _check(fn)

        @wraps(fn)
        async def intercepting(incoming: Incoming, call_next: CallNext) -> Any:
            return await (fn(incoming, call_next) if incoming.method == method.name else call_next())

        return intercepting

    return decorate


class Chain:
    """The middleware of a server, in order: the first is the outermost.

    Args:
        links: As given to the server.
        changes_params: Whether they may go on with other params.

    Raises:
        TypeError: One of them is no async function.
    """

    __slots__ = ("_changes_params", "_links")

    def __init__(self, links: Iterable[Middleware] = (), *, changes_params: bool = True) -> None:
        if callable(links):
            raise TypeError(f"middleware is a list of async functions, not {links!r:.80}")
        self._links: tuple[Middleware, ...] = ()
        self._changes_params = changes_params
        for link in links:
            self.add(link)

    def __len__(self) -> int:
        return len(self._links)

    def add(self, middleware: Middleware) -> Middleware:
        """Add one, next to the handler; from the next connection on it is asked.  Serves as a decorator.

        Raises:
            TypeError: It is no async function.
        """
        self._links = (*self._links, _check(middleware))
        return middleware

    async def run(self, incoming: Incoming, end: Callable[[Any], Awaitable[Any]]) -> Any:
        """Let a message through.

        Args:
            incoming: The message.
            end: Answers it, given the params.

        Raises:
            TypeError: A middleware returned what is no result, or went on with what are no params.
            Exception: What a middleware raised, or the end.
        """
        return await self._from(0, incoming, end)

    async def _from(self, index: int, incoming: Incoming, end: Callable[[Any], Awaitable[Any]]) -> Any:
        if index == len(self._links):
            return await end(incoming.params)
        link = self._links[index]

        async def call_next(params: Any = UNSET, /) -> Any:
            following = incoming if params is UNSET else self._changed(link, incoming, params)
            return await self._from(index + 1, following, end)

        result = await link(incoming, call_next)
        return None if incoming.notice else _result(link, incoming, result)

    def _changed(self, link: Middleware, incoming: Incoming, params: object) -> Incoming:
        if not self._changes_params:
            raise TypeError(f"middleware {label(link)}() cannot change params: it is asked for each request of a call")
        known = NOTIFICATIONS.get(incoming.method) if incoming.notice else REQUESTS.get(incoming.method)
        legal: Any = NotificationParams if known is None else known.params
        if not isinstance(params, legal):
            raise TypeError(
                f"middleware {label(link)}() goes on with {type(params).__name__}: "
                f"the params of {incoming.method!r:.80} are {legal.__name__}"
            )
        return msgspec.structs.replace(incoming, params=params)


def _check(middleware: Middleware) -> Middleware:
    """Return a middleware that can be one.

    Raises:
        TypeError: It is no async function.
    """
    given: Any = middleware
    if not callable(given) or not is_async(given):
        what = label(given) + "()" if callable(given) else f"{given!r:.80}"
        raise TypeError(f"a middleware is an `async def` of (incoming, call_next), which {what} is not")
    return middleware


def _result(link: Middleware, incoming: Incoming, result: Any) -> Any:
    """Return what a middleware has returned, if that can be a result of the method."""
    method = REQUESTS[incoming.method]
    legal: type[Any] = method.result
    if isinstance(result, legal) or (method.carries_rounds and isinstance(result, InputRequiredResult)):
        return result
    if inspect.iscoroutine(result):
        result.close()  # else it would complain of never being awaited, elsewhere
    raise TypeError(
        f"middleware {label(link)}() returned {type(result).__name__} for {incoming.method!r}: "
        f"it returns what `await call_next()` gave, or a {legal.__name__}"
    )
