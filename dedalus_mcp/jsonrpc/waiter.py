"""One call of ours, waited for: its outcome, and the clock that bounds the wait.

Layer: L3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from msgspec import Raw

from dedalus_mcp.errors import McpError, RemoteProtocolError, RequestTimeout
from dedalus_mcp.jsonrpc.alarm import Alarm, alarms
from dedalus_mcp.jsonrpc.clock import Clock, Timeout
from dedalus_mcp.jsonrpc.messages import Failure, Malformed, Success
from dedalus_mcp.jsonrpc.tasks import now, signal
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

    __slots__ = (
        "_alarm",
        "_began",
        "_clock",
        "_event",
        "_outcome",
        "_sending",
        "_timeout",
        "method",
        "progress",
        "sent",
    )

    def __init__(self, method: str, timeout: Timeout | None, progress: Progress | None) -> None:
        self.method = method
        self.progress = progress
        self.sent = False
        self._timeout = timeout
        self._event = signal()
        self._outcome: Success | Exception | None = None
        self._began = 0.0
        self._clock: Clock | None = None  # most calls are over before it would be moved
        self._alarm: Alarm | None = None
        self._sending: anyio.CancelScope | None = None

    def settle(self, outcome: Success | Failure | Malformed | Exception) -> None:
        """Take the outcome, the first of them, and wake whoever waits."""
        if self._outcome is not None:
            return
        if isinstance(outcome, Failure):
            self._outcome = McpError(outcome.error)
        elif isinstance(outcome, Malformed):
            self._outcome = RemoteProtocolError(f"bad reply to {self.method!r}: {outcome.error.message}")
        else:
            self._outcome = outcome
        self._event.set()
        if self._sending is not None:
            self._sending.cancel()

    async def wait(self, frame: bytes, channel: Channel, *, stopped: bool) -> None:
        """Send the call as soon as the channel has room, and return once there is an outcome.

        Args:
            frame: The call.
            channel: Where it goes out.
            stopped: Whether the clock is stopped at first.
        """
        if self._timeout is not None:
            self._began = now()
            self._alarm = alarms.here()
            if stopped:
                self.stop_clock()
            else:
                self._alarm.set(self, self._began + self._timeout.first)
        try:
            if channel.full:
                await self._until_settled(channel.ready)
            if self._outcome is None:
                self.sent = True
                channel.send(frame)
                if channel.unsent:
                    await self._until_settled(channel.flush)
                await self._event.wait()
        finally:
            if self._alarm is not None:
                self._alarm.clear(self)

    async def _until_settled(self, wait: Callable[[], Awaitable[object]]) -> None:
        """Wait for the channel, whose reader may be slow, but no longer than for the outcome."""
        self._sending = anyio.CancelScope()
        with self._sending:
            await wait()
        self._sending = None

    def result(self) -> Raw:
        """Return the result of a settled call.

        Raises:
            RequestTimeout: The clock ran out first.
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
        if self._timeout is not None and self._alarm is not None and self._outcome is None:
            self._clock = self._clock or Clock(self._timeout, self._began)
            change(self._clock, now())
            self._alarm.set(self, self._clock.deadline)

    def expire(self) -> None:
        """The time is over: a `Sleeper`."""
        self.settle(RequestTimeout(self.method, now() - self._began))
