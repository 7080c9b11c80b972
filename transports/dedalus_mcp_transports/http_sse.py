"""HTTP+SSE, the transport of 2024-11-05, the client: one stream for all that comes, a POST for all that goes.

    begin() ──▶ GET ──▶ the first event says where to POST ··· message events ──▶ inbox ──▶ receive()
    send(frame) ──▶ a POST there, accepted ──▶ its reply comes on the stream
    it breaks ──▶ the session is lost ──▶ another `initialize` ──▶ another GET

The session is the stream: there is nothing to resume, only to begin anew.

Layer: L5.
Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from urllib.parse import urljoin

import anyio

from dedalus_mcp.errors import MCPConnectionError, RemoteProtocolError, SessionExpiredError, TransportError
from dedalus_mcp.transport import Undelivered
from dedalus_mcp_transports.http_duplex import HttpDuplex
from dedalus_mcp_transports.http_failures import reply_ids
from dedalus_mcp_transports.http_outgoing import Outgoing, peek
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


class _Stream:
    """One stream, which is one session.

    Attributes:
        scope: Ends it.
        endpoint: Where its messages go; None before the server has said so.
        settled: Set when that is known, or never will be.
        fault: What ended it; None as long as it has not.
        calls: The calls that wait for a reply on it, by their ids as text.
        greeted: Whether `initialize` was sent in it: the next one is for another.
    """

    def __init__(self, max_message: int) -> None:
        self.scope: anyio.CancelScope | None = None
        self.events = Events(max_message)
        self.endpoint: str | None = None
        self.settled = anyio.Event()
        self.fault: Exception | None = None
        self.calls: dict[str, int | str] = {}
        self.greeted = False

    @property
    def takes_messages(self) -> bool:
        """Whether it is known where messages go, and the server still listens."""
        return self.endpoint is not None and self.fault is None


class SseConnection(HttpDuplex):
    """A `Duplex` on one stream and many POSTs.  Await `begin` first.

    Args:
        sender: Sends its requests; closed with it.
        max_message: Bytes in one message of the server, at most.
    """

    def __init__(self, sender: Sender, *, max_message: int) -> None:
        super().__init__(sender, max_message)
        self._room = anyio.CapacityLimiter(MAX_POSTS)
        self._stream = _Stream(max_message)

    async def begin(self) -> None:
        """Open the stream and wait until the server has said where to send messages.

        Raises:
            MCPConnectionError: It cannot be opened, or is no such stream; nothing is left open.
        """
        try:
            await self._open()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise

    async def send(self, frames: Sequence[bytes]) -> None:
        """Begin to send these frames; only `notifications/initialized` is waited for, within bounds."""
        for frame in frames:
            self._check_open()
            out = peek(frame)
            if out.id is not None and out.method is not None:
                if out.method == "initialize":
                    self._posts.forget()
                self._posts.start(partial(self._call, out, out.id))
            elif not self._stream.takes_messages:
                logger.debug("%s is for a session that has ended", out.method or "a reply")
            elif out.method is None:
                self._posts.post(out)
            elif out.method == "notifications/initialized":
                await self._posts.deliver(out, INITIALIZED_SECONDS)
            else:
                self._posts.tell(out)

    # What goes.

    async def _post(self, out: Outgoing) -> None:
        await self._post_in(self._stream, out)

    async def _post_in(self, stream: _Stream, out: Outgoing) -> None:
        headers = {"content-type": "application/json"}
        async with self._sender.request("POST", headers, out.frame, url=stream.endpoint) as response:
            await response.accepted(self._max_message, in_session=stream.greeted)

    async def _call(self, out: Outgoing, id: int | str) -> None:
        # A new session must not wait for calls that may themselves be waiting for it.
        async with nullcontext() if out.method == "initialize" else self._room:
            stream = self._stream
            try:
                if out.method == "initialize":
                    stream = await self._greeted()
                elif not stream.takes_messages:
                    raise _expired(stream.fault or "there is no other yet")
                stream.calls[str(id)] = id
                await self._post_in(stream, out)
            except Exception as error:  # noqa: BLE001 - raised where the call is waited for
                stream.calls.pop(str(id), None)
                self._inbox.put([Undelivered(id, error)])

    async def _greeted(self) -> _Stream:
        """Return the stream of the session that begins: the first is open, any other is opened now."""
        if self._stream.greeted or not self._stream.takes_messages:
            if self._stream.scope is not None:
                self._stream.scope.cancel()
            self._stream = _Stream(self._max_message)
            await self._open()
        self._stream.greeted = True
        return self._stream

    # What comes.

    async def _open(self) -> None:
        stream = self._stream
        stream.scope = self._posts.start(partial(self._listen, stream))
        with anyio.move_on_after(ENDPOINT_SECONDS):
            await stream.settled.wait()
        if stream.endpoint is None:
            raise stream.fault or TransportError(f"{self._sender.where} does not say where to send messages")

    async def _listen(self, stream: _Stream) -> None:
        try:
            async with self._sender.request("GET", {"accept": "text/event-stream"}) as response:
                if response.status != 200 or response.media_type != "text/event-stream":
                    raise await response.refusal(None, in_session=False)
                await self._read(stream, response)
            fault: Exception = stream.fault or MCPConnectionError(f"{self._sender.where} ended the stream")
        except Exception as error:  # noqa: BLE001 - raised where the connection is used
            fault = error
        finally:
            stream.settled.set()
        stream.fault = fault
        lost = list(stream.calls.values())
        stream.calls.clear()
        self._inbox.put([Undelivered(id, _expired(fault, begun=True)) for id in lost])
        if stream.greeted and stream is self._stream:
            self._tell_lost(_expired(fault))

    async def _read(self, stream: _Stream, response: Response) -> None:
        async def take(chunk: bytes) -> float | None:
            try:
                for event in stream.events.feed(chunk):
                    self._take(stream, event)
            except (RemoteProtocolError, MCPConnectionError) as error:
                stream.fault = error
                return 0
            if self._inbox.full:
                await self._inbox.ready()
            return None

        await response.read(take)

    def _take(self, stream: _Stream, event: Event) -> None:
        if stream.endpoint is None:
            stream.endpoint = self._announced(event)
            stream.settled.set()
        elif event.is_message:
            for id in reply_ids(event.data):
                stream.calls.pop(id, None)
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


def _expired(fault: Exception | str, *, begun: bool = False) -> SessionExpiredError:
    """What a call of a session raises whose stream has ended; where it was `begun`, it may have run."""
    error = SessionExpiredError(f"the session ended with its stream: {fault}")
    error.begun = begun
    return error
