"""What the client's connections by HTTP have in common, whatever the transport: what comes, what goes, and an end.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio

from dedalus_mcp.errors import SessionExpiredError
from dedalus_mcp.transport import Received
from dedalus_mcp_transports.http_inbox import Inbox
from dedalus_mcp_transports.http_outgoing import Outgoing
from dedalus_mcp_transports.http_posts import Posts
from dedalus_mcp_transports.http_sender import Sender

__all__ = ("HttpDuplex",)

# How long what is under way, and the goodbye, may hold up the end.
CLOSING_SECONDS = 1.4


class HttpDuplex:
    """A `Duplex` but for `send`.

    Args:
        sender: Sends its requests; closed with it.
        max_message: Bytes in one message of the server, at most.
    """

    def __init__(self, sender: Sender, max_message: int) -> None:
        self._sender = sender
        self._max_message = max_message
        self._inbox = Inbox()
        sender.asking = self._inbox.asking
        self._posts = Posts(self._post)
        self._closed = False
        self._over = anyio.Event()
        self._lost: Callable[[SessionExpiredError], None] | None = None

    def when_lost(self, tell: Callable[[SessionExpiredError], None]) -> None:
        """See `Duplex`: a session may end while no call of ours is there to notice."""
        self._lost = tell

    async def receive(self) -> Sequence[Received]:
        """Wait for what has arrived over any of the streams."""
        return await self._inbox.take()

    async def aclose(self) -> None:
        """End every stream and the session, within two seconds."""
        if self._closed:
            await self._over.wait()
            return
        self._closed = True
        self._inbox.close()
        try:
            self._posts.cancel()
            with anyio.move_on_after(CLOSING_SECONDS, shield=True):
                await self._posts.wait()
                await self._say_goodbye()
            await self._sender.aclose()
        finally:
            self._over.set()

    def _check_open(self) -> None:
        if self._closed:
            raise anyio.ClosedResourceError("the HTTP connection is closed")

    def _tell_lost(self, error: SessionExpiredError) -> None:
        if self._lost is not None and not self._closed:
            self._lost(error)

    async def _post(self, out: Outgoing) -> None:
        """Send what has no reply."""
        raise NotImplementedError

    async def _say_goodbye(self) -> None:
        """Tell the server that this is the end; nothing where it can see that."""
