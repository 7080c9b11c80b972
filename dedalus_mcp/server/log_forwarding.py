"""What a program logs while it answers a call, forwarded to the client of that call.

    logger.info() in the event loop ──▶ sent, if the client wants to hear of that level
    logger.info() in a thread ──▶ waits ──▶ sent by the event loop of the call

Only records of calls are forwarded, and only while they are answered (LOG-05, PROG-06).  Nothing
ever waits for a client that does not read: beyond the bounds, records are dropped and counted.
Our own records are never forwarded, since sending could cause more of them.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import Tasks, current_loop, soon_in
from dedalus_mcp.transport import Channel
from dedalus_mcp.types import LoggingLevel, LoggingMessageNotificationParams
from dedalus_mcp.types.methods import MESSAGE
from dedalus_mcp.types.revisions import shape

__all__ = ("ClientLogHandler", "ForwardingCall", "named")

MAX_WAITING = 1000
"""Records on their way from threads to the event loop, for each handler."""

MAX_UNSENT = 1000
"""Records of one call that its client has not read, where the channel has no bound of its own, as over HTTP."""

MAX_TEXT = 8192
"""Characters of one message: it is for people."""

_OURS = ("dedalus_mcp", "dedalus_mcp_transports")
_LEVELS: tuple[tuple[int, LoggingLevel], ...] = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO + 5, "notice"),
    (logging.INFO, "info"),
)


class ForwardingCall(Protocol):
    """The call that is logged in: see `Context` for what each member is."""

    @property
    def call(self) -> Inbound:
        """The call itself."""
        ...

    @property
    def peer(self) -> Peer:
        """The peer that received it."""
        ...

    @property
    def revision(self) -> str:
        """The revision that it is answered in."""
        ...

    @property
    def loop(self) -> object | None:
        """The event loop that answers it; None if that is not known."""
        ...

    def hears(self, level: LoggingLevel) -> bool:
        """Whether the client wants to hear of that level."""
        ...


class ClientLogHandler(logging.Handler):
    """Forwards records to the client of the call that they were made in.

    A record is sent as ``{"msg": text}``, with the name of its logger.  Of an exception, only the
    name of its class is: a traceback tells of the program's insides.  With a formatter of its
    own, the text is whatever that says.

    Args:
        find: Finds the call that a record belongs to; None for no call, or one that is not to be told.
        level: From which level on, as in `logging`.  The client has a threshold of its own.

    Attributes:
        dropped: How many records were dropped, since they were more than there was room for.
    """

    def __init__(self, find: Callable[[], ForwardingCall | None], level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.dropped = 0
        self._find = find
        self._waiting = 0
        self._unsent: dict[Channel, int] = {}  # those that are being flushed
        self._tasks = Tasks()

    def emit(self, record: logging.LogRecord) -> None:
        """Forward one record; called with the handler's lock held, in any thread.  It never waits."""
        if record.name.partition(".")[0] in _OURS:
            return
        context = self._find()
        if context is None or context.loop is None:
            return
        level = _level_of(record.levelno)
        if not context.hears(level):
            return
        try:
            params = LoggingMessageNotificationParams(level=level, logger=record.name, data=self._data(record))
            self._forward(context, params)
        except Exception:  # noqa: BLE001 - as every handler of `logging` does
            self.handleError(record)

    def _data(self, record: logging.LogRecord) -> dict[str, Any]:
        text = record.getMessage() if self.formatter is None else self.format(record)
        data = {"msg": text[:MAX_TEXT].encode(errors="backslashreplace").decode()}
        if record.exc_info is not None and record.exc_info[0] is not None:
            data["exception"] = record.exc_info[0].__name__
        return data

    def _forward(self, context: ForwardingCall, params: LoggingMessageNotificationParams) -> None:
        loop: Any = context.loop
        if _runs_here(loop):
            self._send(context, params)
        elif self._waiting >= MAX_WAITING:
            self.dropped += 1
        elif soon_in(loop, partial(self._send_waiting, context, params)):  # else it is over, and its calls with it
            self._waiting += 1

    def _send_waiting(self, context: ForwardingCall, params: LoggingMessageNotificationParams) -> None:
        self.acquire()
        try:
            self._waiting -= 1
            self._send(context, params)
        finally:
            self.release()

    def _send(self, context: ForwardingCall, params: LoggingMessageNotificationParams) -> None:
        call = context.call
        if call.finished or call.cancelled is not None:
            return
        channel = call.channel
        unsent = self._unsent.get(channel, 0)
        if channel.full or unsent >= MAX_UNSENT:
            self.dropped += 1
            return
        context.peer.notify(MESSAGE.name, shape(params, context.revision), channel=channel)
        if unsent:
            self._unsent[channel] += 1
        elif channel.unsent:
            self._flush(channel)

    def _flush(self, channel: Channel) -> None:
        self._unsent[channel] = 1
        self._tasks.start(channel.flush, partial(self._flushed, channel), detached=True)

    def _flushed(self, channel: Channel) -> None:
        del self._unsent[channel]
        if channel.unsent:
            self._flush(channel)


def named(names: Sequence[str]) -> list[logging.Logger]:
    """Return the loggers of these names.

    Raises:
        ValueError: There are no names.
    """
    if not names:
        raise ValueError("name the loggers whose records are to be forwarded, such as that of your package")
    return [logging.getLogger(name) for name in names]


def _level_of(number: int) -> LoggingLevel:
    for least, level in _LEVELS:
        if number >= least:
            return level
    return "debug"


def _runs_here(loop: object) -> bool:
    try:
        return current_loop() is loop
    except RuntimeError:  # none does
        return False
