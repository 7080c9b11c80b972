"""The reply to `initialize` over HTTP: held back until the headers are known that name the session it begins.

    take ──▶ the reply, at once ──▶ a session, and its id ──▶ sent
         ──▶ the reply, later: code of the author's stands between ──┘

Layer: L5.
"""

from __future__ import annotations

import anyio

from dedalus_mcp.transport import Receiver, Reply
from dedalus_mcp_transports.http_request import GONE, JSON, HttpRequest, Receive, Send, left, respond

__all__ = ("InitializeChannel",)


class InitializeChannel:
    """A `Channel` for one `initialize`: nothing but its reply goes out.

    Args:
        request: The request.

    Attributes:
        carrier: The request.
        takes_calls: Never: a client answers none before the handshake.
        full: Never.
        unsent: Never: it is held back.
    """

    takes_calls = False
    full = False
    unsent = False

    def __init__(self, request: HttpRequest) -> None:
        self.carrier = request
        self._reply: Reply | None = None
        self._over = False
        self._replied: anyio.Event | None = None

    def send(self, frame: bytes) -> None:
        """Drop it: it is no reply."""

    def reply(self, reply: Reply | None) -> None:
        """Keep the reply."""
        self._reply = reply
        self._over = True
        if self._replied is not None:
            self._replied.set()

    async def ready(self) -> None:
        """Return at once."""

    async def flush(self) -> None:
        """Do nothing."""

    async def replied(self, receiver: Receiver, receive: Receive) -> bool:
        """Return when the reply is there; false where none will come, as the client has left.

        Args:
            receiver: What replies; it is closed where nobody waits any more.
            receive: ASGI's way in.
        """
        if not self._over:
            self._replied = anyio.Event()
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._stop_when_left, receive, group.cancel_scope)
                    await self._replied.wait()
                    group.cancel_scope.cancel()
            finally:
                if not self._over:
                    receiver.close("the client has left")
        return self._reply is not None

    async def _stop_when_left(self, receive: Receive, scope: anyio.CancelScope) -> None:
        await left(receive, lambda: self._over)
        scope.cancel()

    async def respond(self, send: Send, *headers: tuple[bytes, bytes]) -> None:
        """Send the reply; the client's leaving, if there is none."""
        if self._reply is None:
            await respond(send, GONE)
        else:
            await respond(send, 200, self._reply.frame, JSON, *headers)
