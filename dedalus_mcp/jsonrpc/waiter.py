"""One call of ours, waited for: its outcome, and the clock that bounds the wait.

Layer: L3.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec import Raw

from dedalus_mcp.errors import McpError, RemoteProtocolError, RequestTimeout
from dedalus_mcp.jsonrpc.clock import Clock, Timeout
from dedalus_mcp.jsonrpc.messages import Failure, Malformed, Success
from dedalus_mcp.jsonrpc.tasks import signal
from dedalus_mcp.transport import Channel

__all__ = ("Progress", "Waiter")

Progress = Callable[[Raw], None]
"""Takes the params of a progress notice.  Called in the read loop: it must not block or raise."""


class Waiter:
    """Waits for the outcome of one call.

    Args:
        method: The method called, for errors.
        timeout: How long to wait; None for no limit.
        progress: Told about each progress notice of the call.

    Attributes:
        sent: Whether the call has gone out.
    """

    __slots__ = ("_clock", "_event", "_outcome", "_scope", "_timeout", "method", "progress", "sent")

    def __init__(self, method: str, timeout: Timeout | None, progress: Progress | None) -> None:
        self.method = method
        self.progress = progress
        self.sent = False
        self._timeout = timeout
        self._event = signal()
        self._outcome: Success | Exception | None = None
        self._clock: Clock | None = None
        self._scope: anyio.CancelScope | None = None

    def settle(self, outcome: Success | Failure | Malformed | Exception) -> None:
        """Take the one outcome and wake whoever waits."""
        if isinstance(outcome, Failure):
            self._outcome = McpError(outcome.error)
        elif isinstance(outcome, Malformed):
            self._outcome = RemoteProtocolError(f"bad reply to {self.method!r}: {outcome.error.message}")
        else:
            self._outcome = outcome
        self._event.set()
        if not self.sent and self._scope is not None:
            self._scope.cancel()

    async def wait(self, frame: bytes, channel: Channel, *, stopped: bool) -> None:
        """Send the call as soon as the channel has room, and wait until it is settled.

        Args:
            frame: The call.
            channel: Where it goes out.
            stopped: Whether the clock is stopped at first.

        Raises:
            RequestTimeout: The clock ran out first.
        """
        if self._timeout is None and not channel.full:  # a scope costs as much as all the rest
            await self._send_and_wait(frame, channel)
            return
        now = anyio.current_time()
        self._scope = anyio.CancelScope()
        if self._timeout is not None:
            self._clock = Clock(self._timeout, now)
            if stopped:
                self._clock.stop(now)
            self._scope.deadline = self._clock.deadline
        with self._scope:
            if channel.full:
                await channel.ready()
            await self._send_and_wait(frame, channel)
        if self._outcome is None:
            raise RequestTimeout(self.method, anyio.current_time() - now)

    async def _send_and_wait(self, frame: bytes, channel: Channel) -> None:
        self.sent = True
        channel.send(frame)
        if channel.unsent:
            await channel.flush()
        await self._event.wait()

    def result(self) -> Raw:
        """Return the result of a settled call.

        Raises:
            McpError: The peer replied with an error.
            RemoteProtocolError: The peer's reply was not one.
            ConnectionLost: No reply can come.
            Exception: The transport's reason why this call alone has none.
        """
        if isinstance(self._outcome, Success):
            raw: Raw = self._outcome.result
            return raw
        assert self._outcome is not None, "not settled"
        raise self._outcome

    def progressed(self, params: Raw) -> None:
        """Take a progress notice of the call."""
        self._move(Clock.progressed)
        if self.progress is not None:
            self.progress(params)

    def stop_clock(self) -> None:
        """Let no time count from now on."""
        self._move(Clock.stop)

    def start_clock(self) -> None:
        """Let time count again."""
        self._move(Clock.start)

    def _move(self, change: Callable[[Clock, float], None]) -> None:
        if self._clock is not None and self._scope is not None:
            change(self._clock, anyio.current_time())
            self._scope.deadline = self._clock.deadline
