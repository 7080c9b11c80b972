"""The reply to `initialize` over HTTP: held back until the headers are known that name the session it begins.

    take ──▶ the reply, at once ──▶ a session, and its id ──▶ sent
         ──▶ the reply, later: code of the author's stands between ──┘

Layer: L5.
"""

from __future__ import annotations

import anyio

from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.transport import Receiver, Reply
from dedalus_mcp_transports.http_request import GONE, JSON, HttpRequest, Receive, Send, left, respond

__all__ = ("InitializeChannel", "Initializing")


class InitializeChannel:
    """A `Channel` for one `initialize`: nothing but its reply goes out.

    Args:
        request: The request.

    Attributes:
        carrier: The request.
        takes_calls: Never: a client answers none before the handshake.
        full: Never.
        unsent: Never: it is held back.
        over: Whether the reply is there, or none will come.
    """

    takes_calls = False
    full = False
    unsent = False

    def __init__(self, request: HttpRequest) -> None:
        self.carrier = request
        self.over = False
        self._reply: Reply | None = None
        self._status = GONE
        self._changed: anyio.Event | None = None

    def send(self, frame: bytes) -> None:
        """Drop it: it is no reply."""

    def reply(self, reply: Reply | None) -> None:
        """Keep the reply."""
        self._reply = reply
        self._end()

    async def ready(self) -> None:
        """Return at once."""

    async def flush(self) -> None:
        """Do nothing."""

    def give_up(self, status: int) -> None:
        """Let the response be one without a reply."""
        self._status = status
        self._end()

    async def replied(self, receive: Receive) -> bool:
        """Return when the reply is there; false where none will come, as when the client leaves."""
        if not self.over:
            self._changed = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(self._give_up_when_left, receive)
                await self._changed.wait()
                group.cancel_scope.cancel()
        return self._reply is not None

    async def respond(self, send: Send, *headers: tuple[bytes, bytes]) -> None:
        """Send the reply, or the status of a response without one."""
        if self._reply is None:
            await respond(send, self._status)
        else:
            await respond(send, 200, self._reply.frame, JSON, *headers)

    async def _give_up_when_left(self, receive: Receive) -> None:
        await left(receive, lambda: self.over)
        self._end()

    def _end(self) -> None:
        self.over = True
        if self._changed is not None:
            self._changed.set()


class Initializing:
    """The handshakes of one server that take their time."""

    def __init__(self) -> None:
        self._running: dict[Receiver, InitializeChannel] = {}

    @property
    def receivers(self) -> list[Receiver]:
        """Their conversations."""
        return list(self._running)

    def close(self, reason: str) -> None:
        """End them: the server does."""
        for receiver, channel in self._running.items():
            channel.give_up(503)
            receiver.close(reason)

    async def take(self, receiver: Receiver, message: Call, channel: InitializeChannel, receive: Receive) -> bool:
        """Hand over an `initialize`, and return when it is answered: whether it is.

        Args:
            receiver: The conversation; it is closed where nobody waits any more.
            message: The call.
            channel: Where its reply goes.
            receive: ASGI's way in.
        """
        receiver.take(message, channel)
        if channel.over:
            return await channel.replied(receive)
        self._running[receiver] = channel
        replied = False
        try:
            replied = await channel.replied(receive)
        finally:
            del self._running[receiver]
            if not replied:
                receiver.close("the client has left")
        return replied
