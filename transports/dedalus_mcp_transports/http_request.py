"""One HTTP request, as ASGI hands it over: its headers, its body within bounds, and short answers.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

import anyio

from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.messages import Failure
from dedalus_mcp_transports.http_headers import Headers

__all__ = (
    "BodyTooLarge",
    "Disconnected",
    "HttpRequest",
    "Receive",
    "Scope",
    "Send",
    "left",
    "respond",
    "respond_failure",
)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

logger = logging.getLogger("dedalus_mcp")

JSON = (b"content-type", b"application/json")
GONE = 499
"""The status of what nobody will read: many web servers' number for a client that has left."""

# Seconds until somebody between is asked again who says what was said already: not so often that it costs anything.
ASK_AGAIN_SECONDS = 0.1


class BodyTooLarge(Exception):
    """The body is longer than the limit."""


class Disconnected(Exception):
    """The client went away before its request was there."""


class HttpRequest:
    """One request; a `Carrier`.

    Attributes:
        scope: ASGI's description of it.
        fields: Its headers, for protocol checks.
        session_id: The legacy session that it belongs to, once that is known.
        principal: Who sent it, as far as that was proved.
        takes_json: Whether the client takes a JSON reply.
        takes_stream: Whether it takes an event stream.
    """

    __slots__ = ("_headers", "fields", "principal", "scope", "session_id", "takes_json", "takes_stream")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.fields = Headers(scope["headers"])
        self.session_id: str | None = None
        self.principal: str | None = None
        self.takes_json = self.takes_stream = True
        self._headers: Mapping[str, str] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers by lower-case name, for handlers; the last of a name wins."""
        if self._headers is None:
            pairs = self.scope["headers"]
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
        return self._headers

    async def body(self, receive: Receive, limit: int) -> bytes:
        """Read the whole body.

        Raises:
            BodyTooLarge: It is longer than `limit` bytes.
            Disconnected: The client went away.
        """
        message = await receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.request" and not message.get("more_body", False) and len(body) <= limit:
            return body  # the usual case: it is all there
        whole = bytearray(body)  # a list would take many times the limit, were the pieces tiny
        while True:
            if message["type"] == "http.disconnect":
                raise Disconnected
            if len(whole) > limit:
                raise BodyTooLarge
            if not message.get("more_body", False):
                return bytes(whole)
            message = await receive()
            whole += message.get("body", b"")


async def left(receive: Receive, over: Callable[[], bool]) -> None:
    """Return when the client has left, or the response is over.

    A server says the same of both.  But a middleware that has read the body may hand it over again
    and again, without ever waiting, and then nobody says anything.
    """
    pause = 0.0  # after the first, which may be a body that nobody has read
    while (await receive())["type"] != "http.disconnect" and not over():
        await anyio.sleep(pause)
        pause = ASK_AGAIN_SECONDS


async def respond(send: Send, status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
    """Send a whole response; a client that is gone takes none."""
    length = () if status == 204 else ((b"content-length", b"%d" % len(body)),)  # RFC 9110, 8.6
    start = {"type": "http.response.start", "status": status, "headers": [*length, *headers]}
    try:
        await send(start)
        await send({"type": "http.response.body", "body": body})
    except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
        logger.debug("a client has left: %r", error)


async def respond_failure(send: Send, status: int, failure: Failure, *headers: tuple[bytes, bytes]) -> None:
    """Send an error object as a whole response."""
    await respond(send, status, encode(failure), JSON, *headers)
