"""Any request, by its method; and the rounds of one, by hand.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeGuard, TypeVar, overload

import msgspec
from anyio.lowlevel import checkpoint

from dedalus_mcp.client.delivery import Delivery, hearing
from dedalus_mcp.client.link import Link
from dedalus_mcp.client.pending import Pending
from dedalus_mcp.client.round import Round
from dedalus_mcp.client.rounds import Rounds
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike, timeout_of
from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.waiter import Progress
from dedalus_mcp.types import ClientCapabilities, ProgressNotificationParams, RequestParams
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY
from dedalus_mcp.types.method import Method, NotificationMethod
from dedalus_mcp.types.methods import PROGRESS

__all__ = ("AnyRequest", "ProgressHandler")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
N = TypeVar("N")
S = ParamSpec("S")

ProgressHandler = Callable[[ProgressNotificationParams], Awaitable[None] | None]
"""Hears the progress of one call, in order.  A plain `def` must not block."""


class AnyRequest:
    """The part of `MCPClient` that makes requests.

    Args:
        link: The connection.
        rounds: Makes requests, and plays their rounds.
        timeout: How long to wait where a request does not say.
    """

    def __init__(self, link: Link, rounds: Rounds, timeout: Timeout | None) -> None:
        self._link = link
        self._rounds = rounds
        self._timeout = timeout

    @overload
    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> R: ...
    @overload
    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> dict[str, Any]: ...

    async def request(
        self,
        method: Any,
        params: Any = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> Any:
        """Make any request and return its result: typed, or as plain JSON for a method that goes by its name.

        What the server wants to know before is answered by the handlers given to `connect`.
        Where the reply gets lost, or the server has lost the session, what is safe to be
        repeated is sent once more.  Of what goes by its name nothing is known, so that none of
        this is done for it.

        Args:
            method: One of `dedalus_mcp.types.methods`; or the name of any other.
            params: Its params; for a name, their members.
            timeout: How long to wait, in seconds or as a `Timeout`; None for no limit; the
                client's own if not given.  It stands still while a handler answers the server.
            progress: Hears how far the server is.

        Raises:
            McpError: The server's error; or a handler answered one of its questions with an
                error, or with content that does not fit.
            RequestTimeout: No reply came in time; the server was told to stop.
            ConnectionLost: The connection is over.
            MCPConnectionError: This request failed, over HTTP; its classes tell why.
            RemoteProtocolError: The reply is not legal, or the server asks without end.
            LocalProtocolError: The params are not JSON, or too many requests are open.
            TypeError: `method` is none, or the members are no mapping.
            Exception: On 2026-07-28, what a handler that answered the server raised.
        """
        patience, hearing = self._patience(timeout), self._hearing(progress)
        if isinstance(method, str):
            return await self._link.request_any(method, _members(method, params), timeout=patience, progress=hearing)
        _check(method, Method)
        return await self._rounds.make(method, params, timeout=patience, progress=hearing)

    async def notify(self, method: NotificationMethod[N] | str, params: N | Mapping[str, Any] | None = None) -> None:
        """Send any notification.  Nobody answers those: it returns when it is on its way.

        Args:
            method: One of `dedalus_mcp.types.methods`; or the name of any other.
            params: Its params; or their members.

        Raises:
            ConnectionLost: The connection is over.
            LocalProtocolError: The params are not JSON.
            TypeError: `method` is none, or the members are no mapping.
        """
        await checkpoint()
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        if isinstance(method, str):
            _members(method, params)
            method = NotificationMethod[N](method, dict)
        _check(method, NotificationMethod)
        self._link.notify(method, {} if params is None else params)

    def start(self, method: Callable[S, Awaitable[R]], /, *args: S.args, **kwargs: S.kwargs) -> Pending[R]:
        """Begin a request in the background: ``booking = client.start(client.call_tool, "book", {"seat": 1})``.

        Args:
            method: A method of this client.
            args: What it takes.
            kwargs: The same, by keyword.

        Returns:
            What to await for its result, or to `cancel()`.

        Raises:
            ConnectionLost: The connection is over.
        """
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        pending = Pending(partial(method, *args, **kwargs), lambda: self._link.ended)
        self._link.deliveries.start(pending.run)
        return pending

    async def request_round(
        self,
        method: Method[P, R],
        params: P,
        *,
        capabilities: ClientCapabilities | None = None,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> R | Round[R]:
        """Make a request, and return its result or what the server wants to know before (2026-07-28).

        Args:
            method: See `request`.
            params: See `request`.
            capabilities: What you can answer; what the client has handlers for if not given.
            timeout: See `request`.
            progress: See `request`.

        Returns:
            The result; or a `Round`, for `continue_round`.  It can be kept as JSON, and another
            process may go on with it.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError, LocalProtocolError:
                See `request`.
        """
        if capabilities is not None:
            params = msgspec.structs.replace(
                params, meta={**(params.meta or {}), CLIENT_CAPABILITIES_KEY: capabilities}
            )
        return await self._rounds.begin(
            method, params, timeout=self._patience(timeout), progress=self._hearing(progress)
        )

    async def continue_round(
        self,
        round: Round[R],
        answers: Mapping[str, Any] | None = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
    ) -> R | Round[R]:
        """Make the request of a round again, with the answers to its questions.

        Args:
            round: What `request_round` or this method returned.
            answers: One for each question, under its key: whatever a handler of that question
                may return, for example an `ElicitResult`, or the content of an accepted form.
            timeout: See `request`.
            progress: See `request`.

        Returns:
            The result, or the next round.

        Raises:
            ValueError: An answer is missing, is to no question or not legal; the text says which.
            TypeError: It is no answer to that question.
            LocalProtocolError: The client speaks a revision without rounds; or see `request`.
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        return await self._rounds.go_on(
            round,
            round.check(answers or {}),
            timeout=self._patience(timeout),
            progress=self._hearing(progress),
        )

    def _patience(self, timeout: TimeoutLike | Default) -> Timeout | None:
        return self._timeout if isinstance(timeout, Default) else timeout_of(timeout)

    def _hearing(self, progress: ProgressHandler | None) -> Progress | None:
        return None if progress is None else hearing(PROGRESS, Delivery(progress, self._link.deliveries))


def _check(method: object, kind: type[Any]) -> None:
    if not isinstance(method, kind):
        raise TypeError(f"a method is a name or a {kind.__name__} of dedalus_mcp.types.methods, not {method!r:.80}")


def _members(method: str, params: Any) -> Mapping[str, Any]:
    given = _mapping(f"params of {method!r:.80}", params)
    _mapping(f"_meta of {method!r:.80}", given.get("_meta"))
    return given


def _mapping(what: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not _is_mapping(value):
        raise TypeError(f"the {what} are a mapping of values by name, not {type(value).__name__}")
    return value


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)
