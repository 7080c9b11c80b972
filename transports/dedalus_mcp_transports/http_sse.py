"""HTTP+SSE, the transport of 2024-11-05, the client: one stream for all that comes, a POST for all that goes.

    begin() ──▶ GET ──▶ the first event says where to POST ··· message events ──▶ inbox ──▶ receive()
    send(frame) ──▶ a POST there, accepted ──▶ its reply comes on the stream

The session is the stream: when that breaks, the connection is over, and there is nothing to resume.

Layer: L5.
Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from urllib.parse import urljoin

import anyio

from dedalus_mcp.errors import MCPConnectionError, RemoteProtocolError, TransportError
from dedalus_mcp.transport import Received, Undelivered
from dedalus_mcp_transports.http_inbox import Inbox
from dedalus_mcp_transports.http_outgoing import Outgoing, peek
from dedalus_mcp_transports.http_posts import Posts
from dedalus_mcp_transports.http_sender import Response, Sender, same_origin
from dedalus_mcp_transports.sse import Event, Events

__all__ = ("SseConnection",)

logger = logging.getLogger("dedalus_mcp")

# POSTs of calls that are under way at once; more wait.
MAX_POSTS = 256
# How long the server may take to say where messages go: it is the first thing that it has to say.
ENDPOINT_SECONDS = 10.0
# Longer than any real address by far.
MAX_ENDPOINT = 2048
# How long `initialized` may hold up all else.
INITIALIZED_SECONDS = 5.0
CLOSING_SECONDS = 1.0


class SseConnection:
    """A `Duplex` on one stream and many POSTs.  Await `begin` first.

    Args:
        sender: Sends its requests; closed with it.
        max_message: Bytes in one message of the server, at most.
    """

    def __init__(self, sender: Sender, *, max_message: int) -> None:
        self._sender = sender
        self._max_message = max_message
        self._events = Events(max_message)
        self._inbox = Inbox()
        sender.asking = self._inbox.asking
        self._posts = Posts(self._post)
        self._room = anyio.CapacityLimiter(MAX_POSTS)
        self._endpoint: str | None = None
        self._begun = anyio.Event()  # or failed
        self._fault: Exception | None = None
        self._closed = False
        self._over = anyio.Event()

    async def begin(self) -> None:
        """Open the stream and wait until the server has said where to send messages.

        Raises:
            MCPConnectionError: It cannot be opened, or is no such stream; nothing is left open.
        """
        self._posts.start(self._listen)
        try:
            with anyio.move_on_after(ENDPOINT_SECONDS):
                await self._begun.wait()
            if self._endpoint is None:
                raise self._fault or TransportError(f"{self._sender.where} does not say where to send messages")
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise

    # The duplex.

    async def receive(self) -> Sequence[Received]:
        """Wait for what has arrived."""
        return await self._inbox.take()

    async def send(self, frames: Sequence[bytes]) -> None:
        """Begin to send these frames; only `notifications/initialized` is waited for, within bounds."""
        for frame in frames:
            if self._closed:
                raise anyio.ClosedResourceError("the HTTP connection is closed")
            if self._fault is not None:
                raise anyio.BrokenResourceError(str(self._fault))
            out = peek(frame)
            if out.method is None:
                self._posts.post(out)
            elif out.id is not None:
                self._posts.start(partial(self._call, out, out.id))
            elif out.method == "notifications/initialized":
                await self._posts.deliver(out, INITIALIZED_SECONDS)
            else:
                self._posts.tell(out)

    async def aclose(self) -> None:
        """End the stream, and the session with it, within two seconds."""
        if self._closed:
            await self._over.wait()
            return
        self._closed = True
        self._inbox.close()
        try:
            self._posts.cancel()
            with anyio.move_on_after(CLOSING_SECONDS, shield=True):
                await self._posts.wait()
            await self._sender.aclose()
        finally:
            self._over.set()

    # What goes.

    async def _post(self, out: Outgoing) -> None:
        headers = {"content-type": "application/json"}
        async with self._sender.request("POST", headers, out.frame, url=self._endpoint) as response:
            await response.accepted(self._max_message, in_session=False)

    async def _call(self, out: Outgoing, id: int | str) -> None:
        async with self._room:
            try:
                await self._post(out)
            except Exception as error:  # noqa: BLE001 - raised where the call is waited for
                self._inbox.put([Undelivered(id, error)])

    # What comes.

    async def _listen(self) -> None:
        try:
            async with self._sender.request("GET", {"accept": "text/event-stream"}) as response:
                if response.status != 200 or response.media_type != "text/event-stream":
                    raise await response.refusal(None, in_session=False)
                await self._read(response)
            fault: Exception = self._fault or MCPConnectionError(f"{self._sender.where} ended the stream")
        except Exception as error:  # noqa: BLE001 - raised where the connection is used
            fault = error
        finally:
            self._begun.set()
        self._fault = fault
        self._inbox.end(str(fault))

    async def _read(self, response: Response) -> None:
        async def take(chunk: bytes) -> float | None:
            try:
                for event in self._events.feed(chunk):
                    self._take(event)
            except (RemoteProtocolError, MCPConnectionError) as error:
                self._fault = error
                return 0
            if self._inbox.full:
                await self._inbox.ready()
            return None

        await response.read(take)

    def _take(self, event: Event) -> None:
        if self._endpoint is None:
            self._endpoint = self._announced(event)
            self._begun.set()
        elif event.is_message:
            self._inbox.put([event.data])

    def _announced(self, event: Event) -> str:
        """Return where messages go; nowhere but to the stream's own origin.

        Raises:
            TransportError: It is not said, or is elsewhere.
        """
        where = self._sender.where
        if event.event != "endpoint":
            raise TransportError(f"{where} is no HTTP+SSE endpoint: its first event is {event.event!r:.40}")
        said = event.data[: MAX_ENDPOINT + 1].decode(errors="replace").strip()
        if not 0 < len(said) <= MAX_ENDPOINT or not said.isprintable():
            raise TransportError(f"{where} says no legal address to send messages to")
        try:
            endpoint = urljoin(self._sender.url, said)
        except ValueError:  # it is no URL
            endpoint = ""
        if not same_origin(self._sender.url, endpoint):
            raise TransportError(
                f"{where} wants messages to be sent to another origin, which is not done: {said!r:.160}"
            )
        return endpoint
