"""What a streamable HTTP server is under one event loop, and what a request leads to.

    POST ──▶ body ──▶ classify ──▶ modern: `http_modern`
                              └──▶ legacy: `http_stateful`, or `http_stateless`
    GET, DELETE ──▶ legacy
    the path of HTTP+SSE ──▶ `sse_server`

The ASGI task waits for the client to leave: a modern call is cancelled then, a legacy one goes on.
Handlers run in tasks of the conversation and send by themselves (`http_channel`).

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

from collections.abc import Awaitable

import anyio

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.tasks import one_step
from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_bodies import Bodies
from dedalus_mcp_transports.http_channel import Form
from dedalus_mcp_transports.http_classify import Refused, classify
from dedalus_mcp_transports.http_headers import accepts, is_json
from dedalus_mcp_transports.http_life import Life, Pulse, end_all
from dedalus_mcp_transports.http_modern import Modern
from dedalus_mcp_transports.http_refusals import refuse, refuse_while_draining
from dedalus_mcp_transports.http_request import (
    HttpRequest,
    Receive,
    Send,
    respond,
    respond_failure,
)
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.http_stateful import Stateful
from dedalus_mcp_transports.http_stateless import Stateless
from dedalus_mcp_transports.sse_server import SseServer

__all__ = ("Service",)

# How long handlers may take to clean up once the server has ended them.
CLOSING_SECONDS = 1.0


class Service:
    """What an `HttpApp` is under one event loop.

    Args:
        application: What is served.
        settings: How.

    Attributes:
        ready: Whether what is served is set up.
        draining: Whether the server is about to end, and takes no more requests.
    """

    def __init__(self, application: Application, settings: HttpSettings) -> None:
        self.ready = False
        self.draining = False
        self._life = Life(application, self._broke)
        self._bodies = Bodies(settings.max_body, settings.body_seconds)
        self._pulse = pulse = Pulse(settings.keep_alive_seconds)
        form = Form.JSON if settings.json_only else Form.STREAM if settings.always_stream else Form.LATE
        self._modern = Modern(application, form, pulse)
        legacy = Stateless if settings.stateless else Stateful
        self._legacy: Stateless | Stateful = legacy(application, settings, form, pulse)
        self._oldest = SseServer(application, settings, self._bodies, pulse)

    async def begin(self) -> None:
        """Set up what is served; it is not `ready` then where the server has been ended meanwhile.

        Raises:
            Exception: What that raised.
        """
        self.ready = await self._life.enter()

    def _broke(self) -> None:
        self.ready = False

    def serve(self, request: HttpRequest, receive: Receive, send: Send, *, by_sse: bool = False) -> Awaitable[None]:
        """Answer one request.

        Args:
            request: The request.
            receive: ASGI's way in.
            send: ASGI's way out.
            by_sse: Whether it is one of HTTP+SSE.

        Raises:
            ConflictingHeader: A header that has one value came with several.
        """
        if by_sse:
            return self._oldest.serve(request, receive, send)
        match request.scope["method"]:
            case "POST":
                return self._post(request, receive, send)
            case "GET":
                return self._legacy.get(request, receive, send)
            case "DELETE":
                return self._legacy.delete(request, send)
            case _:
                return respond(send, 405, b"", (b"allow", b"GET, POST, DELETE"))

    async def aclose(self, drain: float) -> None:
        """End everything: see `HttpApp.aclose`."""
        self.draining = True
        await one_step()  # what was let in before that begins
        receivers = [*self._modern.stop(), *self._legacy.stop(), *self._oldest.stop()]
        for receiver in receivers:
            receiver.drain()
        with anyio.move_on_after(drain):
            for receiver in receivers:
                await receiver.idle()
        reason = "the server is shutting down"
        unanswered = [*self._modern.close(reason), *self._legacy.close(reason)]
        self._oldest.close(reason)
        with anyio.move_on_after(CLOSING_SECONDS):
            await end_all(unanswered, 503)
            for receiver in receivers:
                await receiver.idle()
        self._bodies.stop()
        self._pulse.stop()
        await self._life.leave()
        self.ready = self.draining = False

    async def _post(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Take a message, or a batch."""
        if not is_json(request.fields.joined(b"content-type")):
            await refuse(send, 415, INVALID_REQUEST, "Content-Type must be application/json")
            return
        request.takes_json, request.takes_stream = accepts(request.fields.joined(b"accept"))
        if not (request.takes_json or request.takes_stream):
            await refuse(send, 406, INVALID_REQUEST, "Accept must allow application/json and text/event-stream")
            return
        body = await self._bodies.read(request, receive, send)
        if body is None:
            return
        if self.draining:  # since this request began
            await refuse_while_draining(send)
            return
        message = decode(body)
        route = classify(message, request.fields)
        if isinstance(route, Refused):
            await respond_failure(send, route.status, route.failure)
        elif route == "modern":
            await self._modern.post(request, message, receive, send)
        else:
            await self._legacy.post(request, message, route, receive, send)
