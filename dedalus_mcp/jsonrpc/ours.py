"""Our calls: made, waited for, settled.

    call() ──▶ channel ··· settle(reply) ──▶ its waiter wakes
                 └── cancelled, or timed out ──▶ notifications/cancelled

Layer: L3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from dedalus_mcp.complaints import Complaints
from dedalus_mcp.errors import ConnectionLost, LocalProtocolError, RequestTimeout
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.exchange import Exchange, Stray
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Notice, RequestId, Success
from dedalus_mcp.jsonrpc.waiter import Progress, Waiter
from dedalus_mcp.transport import Channel

__all__ = ("CANCELLED", "PROGRESS", "Cancelled", "OurCalls", "raw_params")

logger = logging.getLogger("dedalus_mcp")

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
# The protocol forbids the first; a legacy server would not know what the second was.
NEVER_CANCELLED = ("initialize", "server/discover")


class Cancelled(msgspec.Struct):
    """The params of `notifications/cancelled`; the id is optional in 2025-11-25 alone."""

    requestId: RequestId | None = None
    reason: str | None = None


class _ProgressToken(msgspec.Struct):
    progressToken: RequestId


_decode_token = msgspec.json.Decoder(_ProgressToken).decode


class OurCalls:
    """The calls that we made and wait for.

    Args:
        exchange: Keeps their ids.
        complaints: Told of replies to calls that were never made.
    """

    __slots__ = ("_complaints", "_exchange", "_stops", "_tokens")

    def __init__(self, exchange: Exchange[Waiter, Inbound], complaints: Complaints) -> None:
        self._exchange = exchange
        self._complaints = complaints
        self._tokens: dict[RequestId, Waiter] = {}
        self._stops = 0  # how many reasons there are for the clocks to stand still

    async def call(
        self,
        method: str,
        params: Any,
        channel: Channel,
        timeout: Timeout | None,
        progress: tuple[RequestId, Progress | None] | None,
        opened: Callable[[RequestId], None] | None = None,
    ) -> Raw:
        """Make a call and wait for its reply: see `Peer.call`."""
        if progress is not None and progress[0] in self._tokens:
            raise LocalProtocolError(f"progress token {progress[0]!r:.80} is that of another open call")
        waiter = Waiter(method, timeout, progress[1] if progress else None)
        id = self._exchange.open(waiter)
        reason = "no longer wanted"
        if opened is not None:
            opened(id)
        try:
            frame = encode(Call(id, method, params))
            if progress is not None:
                self._tokens[progress[0]] = waiter
            await waiter.wait(frame, channel, stopped=self._stops > 0)
            return waiter.result()
        except RequestTimeout:
            reason = "timed out"
            raise
        finally:
            if progress is not None:
                self._tokens.pop(progress[0], None)
            if self._exchange.abandon(id) and waiter.sent and method not in NEVER_CANCELLED:
                channel.send(encode(Notice(CANCELLED, Cancelled(id, reason))))

    def settle(self, reply: Success | Failure | Malformed) -> None:
        """Take a reply; one that settles nothing is logged."""
        waiter = self._exchange.settle(reply.id)
        if not isinstance(waiter, Stray):
            waiter.settle(reply)
        elif waiter is Stray.LATE:
            logger.debug("dropped the reply to call %.80r: %s", reply.id, waiter.value)
        else:
            self._complaints.tell("dropped the reply to call %.80r: %s", reply.id, waiter.value)

    def fail(self, id: RequestId, error: Exception) -> None:
        """No reply to this call can come; nothing happens if it is over."""
        waiter = self._exchange.settle(id)
        if not isinstance(waiter, Stray):
            waiter.settle(error)

    def progressed(self, params: Raw) -> None:
        """Take the params of a progress notice."""
        try:
            token = _decode_token(params).progressToken
        except (msgspec.DecodeError, RecursionError) as error:
            logger.debug("dropped a malformed %s: %s", PROGRESS, excerpt(error))
            return
        waiter = self._tokens.get(token)
        if waiter is not None:
            waiter.progressed(params)

    @contextmanager
    def clocks_stopped(self) -> Generator[None]:
        """Let no time count: see `Peer.clocks_stopped`."""
        self.stop_clocks()
        try:
            yield
        finally:
            self.start_clocks()

    def stop_clocks(self) -> None:
        """Let no time count from now on, until `start_clocks` has been called as often."""
        self._stops += 1
        self._each(Waiter.stop_clock)

    def start_clocks(self) -> None:
        """Let time count again, unless there are other reasons why it should not."""
        self._stops -= 1
        if self._stops == 0:
            self._each(Waiter.start_clock)

    def lose(self, reason: str) -> None:
        """No reply can come any more.  Idempotent."""
        for waiter in self._exchange.lose(reason):
            waiter.settle(ConnectionLost(reason))

    def _each(self, change: Callable[[Waiter], None]) -> None:
        for waiter in self._exchange.waiters:
            change(waiter)


NO_PARAMS = Raw(b"{}")


def raw_params(params: Any) -> Raw:
    """Return the params of a notice, raw; those that are not there are an empty object."""
    raw: Raw = NO_PARAMS if params is UNSET else params
    return raw
