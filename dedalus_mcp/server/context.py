"""What a handler knows and can do while its call is answered.

Everything that belongs to the request is read through the context, never copied out of it, so
that child tasks and worker threads see the same.

Layer: L4.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from anyio import lowlevel
from msgspec import Raw, UnsetType

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import current_loop
from dedalus_mcp.server.asker import Asker, LiveAsker
from dedalus_mcp.server.asking import Asking
from dedalus_mcp.server.awaited import to_be_awaited
from dedalus_mcp.server.cancelling import Cancelling
from dedalus_mcp.server.lifespans import L_co, Lifespans, S_co
from dedalus_mcp.server.log_forwarding import ClientLogHandler, named
from dedalus_mcp.server.logs import Logs
from dedalus_mcp.server.polling import Polling
from dedalus_mcp.server.progress import EMIT_HZ, ProgressTracker
from dedalus_mcp.server.progress_telemetry import ProgressTelemetry
from dedalus_mcp.server.steps import Steps
from dedalus_mcp.session import Terms, read_meta
from dedalus_mcp.threads import home
from dedalus_mcp.types import (
    ClientCapabilities,
    Implementation,
    ProgressNotificationParams,
    ProgressToken,
)
from dedalus_mcp.types.meta import PROGRESS_TOKEN_KEY
from dedalus_mcp.types.methods import PROGRESS
from dedalus_mcp.types.revisions import shape

if TYPE_CHECKING:
    from dedalus_mcp.server.composition import Home
    from dedalus_mcp.server.parked_call import ParkedCall
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Context", "active_context", "current", "get_context", "progress")

P = ParamSpec("P")
T = TypeVar("T")

TOLD_IN_A_ROW = 8
"""Notices, sent or not, after which a handler that waits for nothing else lets the event loop go on."""

current: ContextVar[Context] = ContextVar("dedalus_mcp.context")
"""The context of the call being answered; each call runs in a task of its own, so it is never reset."""


def get_context() -> Context:
    """Return the context of the call that is being answered.

    Raises:
        LookupError: No call is being answered here.
    """
    try:
        return current.get()
    except LookupError:
        raise LookupError("No active context; use get_context() from within a request handler") from None


def active_context() -> Context | None:
    """Return the context of the call that is being answered, if there is one."""
    return current.get(None)


def progress(
    total: float | None = None, *, emit_hz: float = EMIT_HZ, telemetry: ProgressTelemetry | None = None
) -> ProgressTracker:
    """Return the progress of the call that is being answered: see `Context.progress`.

    Raises:
        LookupError: No call is being answered here.
        ValueError: A number is not legal.
    """
    return get_context().progress(total, emit_hz=emit_hz, telemetry=telemetry)


class Context(Lifespans[L_co, S_co], Asking, Cancelling, Logs, Polling):
    """One call, as its handler sees it.  Get it by `get_context()` or a parameter annotated `Context`.

    `Context[L, S]` says what `lifespan` and `session_lifespan` are.
    """

    __slots__ = (
        "_call",
        "_loop",
        "_meta",
        "_parked",
        "_peer",
        "_progress",
        "_server",
        "_steps",
        "_terms",
        "_told",
    )

    def __init__(
        self,
        server: MCPServer,
        peer: Peer,
        call: Inbound,
        terms: Terms,
        meta: Mapping[str, Any] | Raw | UnsetType | None,
    ) -> None:
        self._server = server
        self._peer = peer
        self._call = call
        self._terms = terms
        self._meta = meta  # most handlers never look at it, and then it need not be read
        self._lifespan = server.lifespan_value  # kept: it is looked up by event loop, and handlers run in threads
        self._loop = current_loop() if server.forwards_logs else None
        self._progress = -math.inf  # the last progress reported
        self._parked: ParkedCall | None = None
        self._steps: Steps | None = None
        self._told = 0  # notices
        self.homes: tuple[Home, ...] = ()  # the included servers on the way to the handler

    @property
    def server(self) -> MCPServer:
        """The server that answers."""
        return self._server

    @property
    def request_id(self) -> str:
        """The id of the request, as text."""
        return str(self._call.id)

    @property
    def session_id(self) -> str | None:
        """The id of the HTTP session; None where there is none, as on stdio."""
        carrier = self._call.channel.carrier
        return None if carrier is None else carrier.session_id

    @property
    def principal(self) -> str | None:
        """Who sent the request, as far as it was proved (see `HttpSettings.principal`); None for anybody."""
        carrier = self._call.channel.carrier
        return None if carrier is None else carrier.principal

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the HTTP request that carried this call, by lower-case name; empty elsewhere."""
        carrier = self._call.channel.carrier
        return {} if carrier is None else carrier.headers

    @property
    def revision(self) -> str:
        """The protocol revision that the request is answered in."""
        return self._terms.revision

    @property
    def modern(self) -> bool:
        """Whether the request stands alone, without a session (2026-07-28)."""
        return self._terms.modern

    @property
    def client_info(self) -> Implementation | None:
        """Who the client says it is; not to be trusted."""
        return self._terms.client_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do."""
        return self._terms.capabilities

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the request."""
        if self._meta is None or isinstance(self._meta, Raw | UnsetType):
            self._meta = read_meta(self._meta)
        return self._meta

    @property
    def progress_token(self) -> ProgressToken | None:
        """The token under which the client wants to hear of progress; None if it does not, or is not there."""
        if self._parked is not None and self._call.finished:  # between two rounds
            return None
        token: Any = self.meta.get(PROGRESS_TOKEN_KEY)
        return token if isinstance(token, (int, str)) and not isinstance(token, bool) else None

    @property
    def terms(self) -> Terms:
        """What holds between server and client for this call."""
        return self._terms

    @property
    def call(self) -> Inbound:
        """The call itself, for those who write askers and transports."""
        return self._call

    @property
    def peer(self) -> Peer:
        """The peer that received the call, likewise."""
        return self._peer

    @property
    def loop(self) -> object | None:
        """The event loop that answers it, where somebody needs to know; else None."""
        return self._loop

    @property
    def finished(self) -> bool:
        """Whether the handler is over."""
        return self._call.finished if self._parked is None else self._parked.over

    @property
    def runs_for(self) -> Inbound:
        """The request whose cancellation ends the handler."""
        return self._call if self._parked is None else self._parked.first

    @property
    def asker(self) -> Asker:
        """What asks the client on behalf of this call."""
        if not self.modern:
            return LiveAsker(self)
        return self._rounds()

    def _rounds(self) -> ParkedCall:
        if self._parked is None:
            self._parked = self._server.parkings.here().begin(self)
        return self._parked

    @property
    def parked(self) -> ParkedCall | None:
        """The call as one that asks in rounds; None before it asks."""
        return self._parked

    def park(self, call: ParkedCall) -> None:
        """The call began elsewhere, and asks on here."""
        self._parked = call

    def unpark(self, first: Inbound) -> None:
        """The handler is over; what asked for it is not needed any more."""
        self._parked = self._steps = None
        self._call = first

    def attach(self, retry: Context) -> None:
        """What belongs to a request is that of this retry from now on."""
        self._peer, self._call, self._terms, self._meta = retry._peer, retry._call, retry._terms, retry._meta

    @overload
    async def step(self, name: str, fn: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    async def step(self, name: str, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    @to_be_awaited
    async def step(self, name: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do something once, however often the handler has to run: a side effect between two questions.

        What it returns is kept with the answers of the client, and handed out again where the call
        is gone on with in another process (`state_keys` of `MCPServer`).  At least once, that is:
        a process that dies while it runs leaves nothing to hand out.  `step_key` gives `fn` something
        by which whoever it calls can tell a repetition.

        Args:
            name: What it is called in this handler; several of one name are told apart by their order.
            fn: Does it.  A plain `def` runs in a worker thread.
            args: For `fn`.
            kwargs: For `fn`.

        Returns:
            What `fn` returned, read back from JSON as the type that `fn` says it returns.

        Raises:
            StepError: `fn` raised, here or in the run that did it.
            TypeError: What it returned is not JSON.
            RuntimeError: A step of that name is running, or this is inside of another.
            NoActiveCall: The call has expired, or the server shuts down: another process may have gone on with it.
        """
        return await self._steps_here().run(name, partial(fn, *args, **kwargs))

    def step_key(self, name: str) -> str:
        """Return a key of the next step of that name: the same in every run, unguessable, for an idempotency header."""
        return self._steps_here().key(name)

    def _steps_here(self) -> Steps:
        if self._steps is None:
            self._steps = Steps(self._rounds() if self.modern else None, self._server.threads)
        return self._steps

    @contextmanager
    def forwarding_logs(self, *names: str, level: int = logging.NOTSET) -> Generator[ClientLogHandler]:
        """Send what these loggers are told within this call to its client, too, as long as the block is open.

        Nothing else is changed about them, so they have to be enabled for what is to be heard:
        see `dedalus_mcp.server.log_forwarding`.

        Args:
            names: Names of loggers as in `logging`, each for those beneath it as well.
            level: From which level on, as in `logging`; the client has a threshold of its own.

        Raises:
            ValueError: There are no names.
        """
        loggers = named(names)
        self._loop = self._loop or home() or current_loop()
        handler = ClientLogHandler(lambda: self if active_context() is self else None, level)
        for logger in loggers:
            logger.addHandler(handler)
        try:
            yield handler
        finally:
            for logger in loggers:
                logger.removeHandler(handler)

    def progress(
        self, total: float | None = None, *, emit_hz: float = EMIT_HZ, telemetry: ProgressTelemetry | None = None
    ) -> ProgressTracker:
        """Return what tells the client how far the call is, as often as that changes and at most so often.

        For ``async with``: ``async with ctx.progress(total=9) as bar: await bar.advance()``.

        Args:
            total: What the progress rises to from 0; None if that is not known.
            emit_hz: How many notices a second there may be; the newest is always told.  0 for no bound.
            telemetry: Who is told what becomes of it.

        Raises:
            ValueError: A number is not finite, or the rate is negative.
        """
        return ProgressTracker(self, total, emit_hz, telemetry)

    @property
    def reported(self) -> float:
        """The last progress that was reported; minus infinity before the first."""
        return self._progress

    async def report_progress(self, progress: float, *, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the call is; nothing happens where it did not ask for that.

        Args:
            progress: Rises with every report; in any unit.
            total: What it rises to, in the same unit.
            message: For people.

        Raises:
            ValueError: `progress` does not rise, or a number is not finite (PROG-03).
        """
        if not (math.isfinite(progress) and (total is None or math.isfinite(total))):
            raise ValueError(f"progress and total are finite numbers, not {progress!r} of {total!r}")
        if progress <= self._progress:
            raise ValueError(f"progress rises with every report: {progress!r} after {self._progress!r}")
        self._progress = progress
        token, params = self.progress_token, None
        if token is not None:
            params = ProgressNotificationParams(progressToken=token, progress=progress, total=total, message=message)
        await self.tell(PROGRESS.name, params)

    async def tell(self, method: str, params: Any) -> None:
        """Send a notice that belongs to this call, once there is room; after the reply, none is.

        Args:
            method: Which notice.
            params: None for one that nobody wants: nothing is sent, but the loop gets its turns.
        """
        call, channel = self._call, self._call.channel
        cancelled = call.cancelled is not None
        self._told = min(self._told, 0) - 1 if cancelled else self._told + 1  # a few last words are no matter
        if not self._told % TOLD_IN_A_ROW:
            await lowlevel.checkpoint()
        if params is None or cancelled or call.finished:  # once the reply is out, nothing of its call may follow it
            return
        if channel.full:
            await channel.ready()
            if call.finished or call.cancelled is not None:  # meanwhile
                return
        self._peer.notify(method, shape(params, self._terms.revision), channel=channel)
        if channel.unsent:
            await channel.flush()
