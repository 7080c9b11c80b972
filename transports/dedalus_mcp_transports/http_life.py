"""What lives as long as an HTTP server: what its application has set up, and the pulse of its streams.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks, ends_the_task
from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_channel import PostChannel
from dedalus_mcp_transports.http_request import Receive, Send, left

__all__ = ("Life", "Pulse", "end_all")

logger = logging.getLogger("dedalus_mcp")


class Life:
    """Holds what the application has set up, in a task of its own, from the first request on.

    Args:
        application: The application.
        broke: Told when what is set up has broken: it needs to be entered anew.
    """

    def __init__(self, application: Application, broke: Callable[[], None]) -> None:
        self._application = application
        self._broke = broke
        self._tasks = Tasks()
        self._held: _Held | None = None

    async def enter(self) -> bool:
        """Return when it is set up, and whether it still is; only the first call does anything, until it is over.

        Raises:
            BaseException: What setting up raised; the next call tries again.
        """
        held = self._held
        if held is None:
            held = self._held = _Held(self._application)
            self._tasks.start(held.run, partial(self._ended, held), detached=True)
        await held.entered.wait()
        if held.error is not None:
            if self._held is held:
                self._held = None
            raise held.error
        return self._held is held

    async def leave(self) -> None:
        """Take it down, or stop setting it up, and return when that is done."""
        held, self._held = self._held, None
        if held is not None:
            held.leave()
        await self._tasks.wait()

    def _ended(self, held: _Held) -> None:
        if held.entered.is_set() and self._held is held:  # nobody has left it
            self._held = None
            self._broke()
        held.entered.set()


class _Held:
    """What is set up once.

    Attributes:
        entered: Set when it is set up, or never will be.
        error: Why it never will be.
    """

    def __init__(self, application: Application) -> None:
        self.entered = anyio.Event()
        self.error: BaseException | None = None
        self._application = application
        self._leaving = anyio.Event()
        self._scope = anyio.CancelScope()

    def leave(self) -> None:
        self._leaving.set()
        if not self.entered.is_set():  # nobody needs it any more, and it may take for ever
            self._scope.cancel()

    async def run(self) -> None:
        try:
            with self._scope:
                async with self._application.running():
                    self.entered.set()
                    await self._leaving.wait()
        except BaseException as error:  # raised by `enter`, where that still waits
            if ends_the_task(error):
                self.error = RuntimeError("setting up what is served was interrupted")
                raise
            self.error = error
            if self._leaving.is_set():
                logger.exception("taking down what is served failed")


class _Stream(Protocol):
    """What a client reads."""

    def over_for(self, send: Send) -> bool:
        """Whether nothing more goes out on this connection."""
        ...

    async def beat(self) -> None:
        """Send what says that it is alive."""
        ...


class Pulse:
    """Keeps silent streams alive: one task for all of them, only while there are any.

    Args:
        seconds: How long a stream may be silent.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read: dict[Send, _Stream] = {}  # by the connection: a resumed stream has a new one
        self._tasks = Tasks()
        self._beating: anyio.CancelScope | None = None

    def stop(self) -> None:
        """There are no streams any more."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    async def attend(self, stream: _Stream, receive: Receive, send: Send) -> None:
        """Wait for the end of a response, or of its connection."""
        self._read[send] = stream
        if self._beating is None:
            self._beating = anyio.CancelScope()
            self._tasks.start(partial(self._beat, self._beating), detached=True)
        try:
            await left(receive, lambda: stream.over_for(send))
        finally:
            self._read.pop(send, None)

    async def stay(
        self, channel: PostChannel, receive: Receive, send: Send, left: Callable[[], object] | None = None
    ) -> bool:
        """Stay with the response to a POST until it is over here, and return whether its client has left before that.

        Args:
            channel: The response; its call has begun.
            receive: ASGI's way in.
            send: ASGI's way out.
            left: Called where the client has left, also when the server ends this task by force.
        """
        try:
            await channel.settle()
            if not channel.over_for(send):  # most calls need no more than that
                await self.attend(channel, receive, send)
        finally:
            gone = channel.read_by(send)
            if gone:
                channel.leave()
                if left is not None:
                    left()
        return gone

    async def _beat(self, scope: anyio.CancelScope) -> None:
        with scope:
            while self._read:
                before = set(self._read)
                await anyio.sleep(self._seconds)
                for send in before & self._read.keys():
                    self._tasks.start(self._read[send].beat, detached=True)
        if self._beating is scope:
            self._beating = None


async def end_all(channels: list[PostChannel], status: int) -> None:
    """Complete responses that will bring no reply: see `PostChannel.end`."""
    async with anyio.create_task_group() as group:  # at once: one may have a reader that reads nothing
        for channel in channels:
            group.start_soon(channel.end, status)
