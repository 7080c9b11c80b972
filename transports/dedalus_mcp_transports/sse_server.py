"""HTTP+SSE, the transport of 2024-11-05, the server's side: a stream, and an endpoint for what clients send.

    GET ──▶ a stream that begins with the endpoint's URI ──▶ one conversation, until the client leaves
    POST to that URI ──▶ 202; what it causes goes out on the stream

A POST without a conversation is refused with 405, by which clients of later revisions find out
where they are (HTTP-77, HTTP-78).

Layer: L5.
Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from __future__ import annotations

from urllib.parse import parse_qs, quote

import anyio

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.messages import Failure, Malformed
from dedalus_mcp.transport import Application, Receiver
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.http_bodies import Bodies
from dedalus_mcp_transports.http_early import EarlyCancellations
from dedalus_mcp_transports.http_headers import accepts, is_json
from dedalus_mcp_transports.http_life import Pulse
from dedalus_mcp_transports.http_posted import is_replied_to
from dedalus_mcp_transports.http_refusals import refuse
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Scope, Send, respond, respond_failure
from dedalus_mcp_transports.http_session import SessionNotFound, Sessions, SessionsFull
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.http_sweep import Sweep
from dedalus_mcp_transports.pair_stream import PairStream

__all__ = ("SseServer",)

# What may stand in the path of a URI besides letters and digits (RFC 3986, 3.3).
PATH_CHARACTERS = "/-._~!$&'()*+,;=:@"


class _Pair:
    """A stream, and the conversation on it."""

    __slots__ = ("held", "receiver", "stream")

    def __init__(self, receiver: Receiver, stream: PairStream) -> None:
        self.receiver = receiver
        self.stream = stream
        self.held = False

    def close(self, reason: str) -> None:
        """End both: what is queued still goes out.  Idempotent."""
        self.receiver.close(reason)
        self.stream.end()


class SseServer:
    """The conversations of clients of HTTP+SSE.

    Args:
        application: What is served.
        settings: How.
        bodies: Reads the bodies of requests.
        pulse: Keeps silent streams alive.
    """

    def __init__(self, application: Application, settings: HttpSettings, bodies: Bodies, pulse: Pulse) -> None:
        self._application = application
        self._pulse = pulse
        self._bodies = bodies
        self._pairs: Sessions[_Pair] = Sessions(settings.max_sessions, settings.session_idle_seconds)
        self._sweep = Sweep(self._pairs, lambda pair: pair.close("there was no handshake"))
        self._early = EarlyCancellations()
        self._stopped: list[_Pair] = []

    async def serve(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            ConflictingHeader: A header that has one value came with several.
        """
        id = _named(request.scope)
        method = request.scope["method"]
        if method == "GET":
            await self._open(request, receive, send)
        elif method == "POST" and id is not None:
            await self._post(request, id, receive, send)
        else:
            await respond(send, 405, b"", (b"allow", b"GET"))

    def stop(self) -> list[Receiver]:
        """Take nothing more, and return the conversations; what they have to say still goes out."""
        self._stopped = self._pairs.close()
        self._sweep.stop()
        return [pair.receiver for pair in self._stopped]

    def close(self, reason: str) -> None:
        """End the conversations that were stopped."""
        stopped, self._stopped = self._stopped, []
        for pair in stopped:
            pair.close(reason)

    async def _open(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Begin a conversation, and end it when its stream does."""
        if not accepts(request.fields.joined(b"accept"))[1]:
            await refuse(send, 406, INVALID_REQUEST, "Accept must allow text/event-stream")
            return
        self._sweep.now()
        stream = PairStream(request)
        pair = _Pair(self._application.converse(stream), stream)
        try:
            id = self._pairs.add(pair, request.principal, anyio.current_time())
        except SessionsFull as full:
            pair.close("there are too many sessions")
            await refuse(send, 503, INTERNAL_ERROR, str(full))
            return
        self._sweep.start()
        request.session_id = id
        endpoint = sse.event(_uri(request.scope, id).encode(), event="endpoint")
        try:
            await stream.standing.serve(receive, send, self._pulse, endpoint)
        finally:
            self._pairs.remove(id)
            pair.close("the client closed the stream")

    async def _post(self, request: HttpRequest, id: str, receive: Receive, send: Send) -> None:
        """Take a message; calls wait while their client does not read what it was sent."""
        if not is_json(request.fields.joined(b"content-type")):
            await refuse(send, 415, INVALID_REQUEST, "Content-Type must be application/json")
            return
        body = await self._bodies.read(request, receive, send)
        if body is None:
            return
        message = decode(body)
        if isinstance(message, Malformed):
            await respond_failure(send, 400, Failure(None if message.is_reply else message.id, message.error))
            return
        try:
            pair = self._pairs.get(id, request.principal, anyio.current_time())
            while is_replied_to(message) and pair.stream.full:
                await pair.stream.ready()
                self._pairs.get(id, request.principal, anyio.current_time())  # unless it has ended meanwhile
        except SessionNotFound as error:
            await refuse(send, 404, INVALID_REQUEST, str(error), message)
            return
        request.session_id = id
        wanted = self._early.sift(id, message, pair.receiver.runs)
        if wanted is not None:
            pair.receiver.take(wanted, pair.stream.carrying(request))
        if not pair.held and pair.receiver.revision is not None:  # from its handshake on it lasts as long as its stream
            pair.held = True
            self._pairs.hold(id)
        await respond(send, 202)


def _named(scope: Scope) -> str | None:
    """The conversation that a request is for; None for none."""
    query: bytes = scope.get("query_string", b"")
    named = parse_qs(query.decode("latin-1")).get("session", [])
    return named[0] if len(named) == 1 else None


def _uri(scope: Scope, id: str) -> str:
    """Where the client sends its messages: this very path, as it sees it, wherever we are mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    whole = path if path.startswith(root) else root + path
    return f"{quote(whole, safe=PATH_CHARACTERS)}?session={id}"
