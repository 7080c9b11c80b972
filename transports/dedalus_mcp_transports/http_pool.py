"""The connections of an HTTP client with many requests at once: a transport for httpx.

httpx's own pool looks at every connection for each request, and again when it is over: with 64
requests at once that takes longer than they do.  This one takes the connection that was used last.

    request ──take──▶ connection ──▶ response ──closed──▶ idle ──▶ the next request's, or closed

Layer: L5; httpx, and httpcore below it.
"""

from __future__ import annotations

import logging
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol, TypeAlias, cast

import anyio
import httpcore
import httpx

from dedalus_mcp_transports.http_one_piece import OnePiece

__all__ = ("Body", "Pool")

logger = logging.getLogger("dedalus_mcp")

_Place: TypeAlias = tuple[bytes, bytes, int]

# As long as httpx keeps a connection that nobody uses: what is between here and the server forgets it without a word.
IDLE_SECONDS = 5.0
NETWORK = OnePiece()


class Pool(httpx.AsyncBaseTransport):
    """Connections over HTTP/1.1, as many as there are requests under way; a connection has one at a time.

    Args:
        tls: What `https` is spoken with.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._idle: dict[_Place, deque[_Connection]] = {}  # the longest idle first
        self._open: set[_Connection] = set()
        self._closed = False

    async def send(self, request: httpcore.Request) -> tuple[Any, Body]:
        """Send a request, and return the response of httpcore, and its body, which is still to be read.

        Raises:
            httpx.TransportError: That failed.
            RuntimeError: The pool is closed.
        """
        connection = await self._take(request.url.origin)
        try:
            with _as_httpx():
                response: Any = await connection.handle_async_request(request)
        except BaseException:
            await self._close(connection)
            raise
        return response, Body(self, connection, response.stream)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request of httpx: see `send`."""
        url = request.url
        sent = httpcore.Request(
            request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=cast("AsyncIterable[bytes]", request.stream),
            extensions=request.extensions,
        )
        response, body = await self.send(sent)
        return httpx.Response(response.status, headers=response.headers, stream=body, extensions=response.extensions)

    async def give_back(self, connection: _Connection) -> None:
        """A response is closed: keep its connection for later, and close those that nobody has used for a while."""
        if self._closed or not connection.is_idle():  # it broke, or not all was read
            await self._close(connection)
            return
        connection.idle_since = now = monotonic()
        self._idle.setdefault(connection.place, deque()).append(connection)
        for idle in list(self._idle.values()):
            while idle and idle[0].idle_since <= now - IDLE_SECONDS:
                await self._close(idle.popleft())

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        self._closed = True
        self._idle.clear()
        async with anyio.create_task_group() as group:
            for connection in list(self._open):
                group.start_soon(self._close, connection)

    async def _take(self, origin: httpcore.Origin) -> _Connection:
        """Return the connection that was used last and is still good, or a new one.

        Raises:
            RuntimeError: All are closed for good.
        """
        if self._closed:
            raise RuntimeError("the HTTP client is closed")
        idle = self._idle.get((origin.scheme, origin.host, origin.port))
        while idle:
            connection = idle.pop()
            if not connection.has_expired():
                return connection
            await self._close(connection)
        connection = _Connection(origin, self._tls)
        self._open.add(connection)
        return connection

    async def _close(self, connection: _Connection) -> None:
        self._open.discard(connection)
        try:
            with anyio.CancelScope(shield=True):
                await connection.aclose()
        except Exception as error:  # noqa: BLE001 - whatever sockets raise: it is of no use any more
            logger.debug("closing an HTTP connection failed: %r", error)


class _Connection(httpcore.AsyncHTTPConnection):
    """A connection.

    Attributes:
        place: Where to.
        idle_since: Since when nobody uses it, by `monotonic`.
    """

    def __init__(self, origin: httpcore.Origin, tls: ssl.SSLContext) -> None:
        super().__init__(origin, tls, keepalive_expiry=IDLE_SECONDS, network_backend=NETWORK)
        self.place: _Place = (origin.scheme, origin.host, origin.port)
        self.idle_since = 0.0


class _Stream(Protocol):
    """What httpcore reads a body from."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Body(httpx.AsyncByteStream):
    """The body of a response; once it is closed, its connection is for others."""

    def __init__(self, pool: Pool, connection: _Connection, stream: _Stream) -> None:
        self._pool = pool
        self._connection = connection
        self._stream = stream
        self._closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        with _as_httpx():
            async for piece in self._stream:
                yield piece

    async def aclose(self) -> None:
        """Give the connection back; the second time, nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            with _as_httpx():
                await self._stream.aclose()
        finally:
            await self._pool.give_back(self._connection)


@contextmanager
def _as_httpx() -> Generator[None]:
    """Raise the errors of httpcore as those of httpx, which have the same names."""
    try:
        yield
    except Exception as error:
        known = getattr(httpx, type(error).__name__, None)
        if not (type(error).__module__.startswith("httpcore") and isinstance(known, type)):
            raise
        raise cast("type[httpx.TransportError]", known)(str(error)) from error
