"""Streamable HTTP, the server: every revision at one endpoint, as a plain ASGI callable.

    request ──▶ path ──▶ guard ──▶ what is served is set up ──▶ `http_service`

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import anyio

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_REQUEST
from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_cors import Cors
from dedalus_mcp_transports.http_headers import ConflictingHeader
from dedalus_mcp_transports.http_refusals import refuse, refuse_while_draining
from dedalus_mcp_transports.http_request import (
    HttpRequest,
    Receive,
    Scope,
    Send,
    respond,
)
from dedalus_mcp_transports.http_security import Guard, Refusal, TransportSecuritySettings
from dedalus_mcp_transports.http_service import Service
from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("HttpApp",)

logger = logging.getLogger("dedalus_mcp")


class HttpApp:
    """An ASGI application; it mounts anywhere, and needs no lifespan.  Where it has one, it sets up with that.

    Args:
        application: What is served.
        settings: How.
        bound_host: The host that it will listen on, where that is known.

    Raises:
        ValueError: An allowed host or origin is not written as one, in the settings or in the environment;
            or a page that CORS is to allow is not.
    """

    def __init__(
        self, application: Application, settings: HttpSettings | None = None, *, bound_host: str | None = None
    ) -> None:
        self._settings = settings or HttpSettings()
        self._application = application
        self._path = self._settings.path.rstrip("/")
        security = self._settings.security or TransportSecuritySettings.from_environment(os.environ)
        self._cors = Cors(self._settings.cors_origins) if self._settings.cors_origins else None
        self._guard = Guard(security, bound_host, self._cors.origins if self._cors else None)
        self._services = PerLoop(lambda: Service(self._application, self._settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            request = HttpRequest(scope)
            if self._cors is None:
                await self._serve(request, receive, send)
            else:
                await self._serve_pages(self._cors, request, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # before it was accepted: the server answers with 403

    async def begin(self) -> None:
        """Set up what is served now, and not with the first request: so a program that cannot serve does not start.

        Raises:
            Exception: What the application raised; the first request tries again.
        """
        await self._service().begin()

    @asynccontextmanager
    async def lifespan(self, host: object = None, /) -> AsyncGenerator[None]:
        """Set up what is served on entering, and end it on leaving: for an application that mounts this one.

        Args:
            host: That application, which frameworks pass; not looked at.

        Raises:
            Exception: What setting up raised.
        """
        await self.begin()
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.aclose()

    async def aclose(self, drain: float = 0.0) -> None:
        """End every session and stream, and take down what the application has set up.

        Args:
            drain: How long running calls may go on, in seconds; new ones are refused meanwhile.
        """
        await self._service().aclose(drain)

    def _service(self) -> Service:
        return self._services.here()

    async def _serve_pages(self, cors: Cors, request: HttpRequest, receive: Receive, send: Send) -> None:
        """Serve a request with what browsers ask and want to read besides."""
        origin = _one(request, b"origin")
        more = cors.headers(origin)

        async def telling(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        preflight = cors.preflight(request.scope["method"], request.fields)
        if preflight is None or origin is None or not (self._is_here(request.scope) or self._is_sse(request.scope)):
            await self._serve(request, receive, telling)
        elif (refusal := self._refusal(request)) is not None:
            await refuse(telling, refusal.status, INVALID_REQUEST, refusal.message)
        else:
            await respond(telling, 204, b"", *preflight)

    def _refusal(self, request: HttpRequest) -> Refusal | None:
        """Return why the request may not go on; None if it may."""
        scope = request.scope
        headers = scope["headers"]
        size = len(scope["path"]) + len(scope.get("query_string", b"")) + sum(map(len, chain.from_iterable(headers)))
        if len(headers) > self._settings.max_headers or size > self._settings.max_head:
            limits = f"{self._settings.max_headers} headers and {self._settings.max_head} bytes"
            return Refusal(431, f"The headers are too many or too long; the limits are {limits}")
        try:
            refusal = self._guard.check(request.fields.one(b"host"), request.fields.one(b"origin"))
        except ConflictingHeader as error:
            return Refusal(400, str(error))
        if refusal is not None:
            logger.info("refused with status %d: %s", refusal.status, refusal.message)
        return refusal

    async def _serve(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        by_sse = self._is_sse(request.scope)
        if not by_sse and not self._is_here(request.scope):
            await respond(send, 404, b"Not found: MCP is served at another path, by default /mcp")
            return
        refusal = self._refusal(request)
        if refusal is not None:
            await refuse(send, refusal.status, INVALID_REQUEST, refusal.message)
            return
        service = self._service()
        try:
            request.principal = self._settings.principal(request.scope)
            if not (service.ready or service.draining):
                await service.begin()
        except Exception:  # of the application's making: the client learns nothing of it
            logger.exception("setting up what is served, or telling who asks for it, failed")
            await refuse(send, 500, INTERNAL_ERROR, "Internal error")
            return
        if service.draining or not service.ready:
            await refuse_while_draining(send)
            return
        try:
            await service.serve(request, receive, send, by_sse=by_sse)
        except ConflictingHeader as error:
            await refuse(send, 400, INVALID_REQUEST, str(error))

    def _is_here(self, scope: Scope) -> bool:
        path: str = scope["path"]
        if path == self._path:
            return True
        root: str = scope.get("root_path", "")
        inner = path.removeprefix(root)
        if root and inner in ("", "/"):  # mounted right at the endpoint
            return True
        return self._path in (path.rstrip("/"), inner.rstrip("/"))

    def _is_sse(self, scope: Scope) -> bool:
        path: str = scope["path"]
        sse = self._settings.sse_path
        return sse is not None and path.removeprefix(scope.get("root_path", "")).rstrip("/") == sse.rstrip("/")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.begin()
                except Exception as error:
                    logger.exception("setting up what is served failed")
                    await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _one(request: HttpRequest, name: bytes) -> str | None:
    """The value of a header; None too where it is refused later, since it came with several."""
    try:
        return request.fields.one(name)
    except ConflictingHeader:
        return None
