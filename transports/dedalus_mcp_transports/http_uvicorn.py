"""uvicorn, with an end that comes: it drains the application before it waits for its connections.

Imported where HTTP is served, since it loads uvicorn.

Layer: L5.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from socket import socket
from types import FrameType
from typing import Any

import anyio
import uvicorn

from dedalus_mcp_transports.http_server import HttpApp

__all__ = ("DrainingServer",)

DEFAULT_MAX_HEAD = 64 << 10
"""Bytes of a head that is not complete: h11's own default."""
CLOSING_SECONDS = 2
"""How long connections may take to close after the drain, in seconds; by then none has anything to say."""
SIGNAL_SECONDS = 0.1
"""How long a signal goes unnoticed while what is served is set up, at most, in seconds."""
TICKS = 10
"""Ticks of uvicorn, of a tenth of a second, between two looks at the connections."""


class DrainingServer(uvicorn.Server):
    """A server that ends when it is told to, and lets its program go on.

    Args:
        app: What it serves.
        drain: How long running calls may go on once it is told to end, in seconds.
        patience: How long a connection may be open without a whole head of a request, in seconds, at least.
        supervisor: The process that looks after this one, if any.  Then it alone says when to end, by
            SIGTERM, since a terminal's SIGINT goes to all; or by its own end.
        settings: uvicorn's.

    Raises:
        OSError: A file of TLS cannot be read.
    """

    def __init__(
        self,
        app: HttpApp,
        *,
        drain: float,
        patience: float,
        supervisor: int | None = None,
        **settings: Any,
    ) -> None:
        config = uvicorn.Config(
            app,
            http=_http_protocol(),
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=int(drain) + CLOSING_SECONDS,
            **settings,
        )
        config.load()  # now, while whoever starts the program still hears what is wrong
        super().__init__(config)
        self._app = app
        self._drain = drain
        self._patience = patience
        self._silent: dict[Any, tuple[object, float]] = {}  # connections, the last request of each, and since when
        self._supervisor = supervisor
        self._draining: anyio.CancelScope | None = None
        self._over = False

    async def serve(self, sockets: list[socket] | None = None) -> None:
        """Serve until it is told to end; when it is cancelled, it ends at once, and in order."""
        try:
            await super().serve(sockets)
        finally:
            if self.started and not self._over:
                self.force_exit = True
                with anyio.move_on_after(CLOSING_SECONDS, shield=True):
                    await self.shutdown(sockets)

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Set up what is served, and listen.  It may be told to end meanwhile.

        Raises:
            Exception: What is served could not be set up.
        """
        beginning = asyncio.ensure_future(self._app.begin())
        try:
            while not (beginning.done() or self.should_exit):
                await asyncio.wait((beginning,), timeout=SIGNAL_SECONDS)
            if beginning.done():
                beginning.result()
                await super().startup(sockets)
        finally:
            if not self.started:
                beginning.cancel()
                with anyio.CancelScope(shield=True):
                    await self._app.aclose()

    async def on_tick(self, counter: int) -> bool:
        """Whether it is to end."""
        if counter % TICKS == 0:
            self._let_go_of_the_silent(asyncio.get_running_loop().time())
        return await super().on_tick(counter) or (self._supervisor is not None and os.getppid() != self._supervisor)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drain, and close what is left."""
        for server in self.servers:
            server.close()  # no new connections while the old ones are drained
        with anyio.CancelScope() as self._draining:
            await self._app.aclose(0.0 if self.force_exit else self._drain)
        if self._draining.cancelled_caught:
            with anyio.move_on_after(CLOSING_SECONDS):  # what was set up may take for ever to be taken down
                await self._app.aclose()
        await self._let_go()
        await super().shutdown(sockets)
        self._over = True

    async def _let_go(self) -> None:
        """Close the connections, in the end also those whose clients read nothing, or never finish their request."""
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with anyio.move_on_after(0 if self.force_exit else CLOSING_SECONDS):
            while self.server_state.connections:  # noqa: ASYNC110 - uvicorn's own set, which tells nobody
                await anyio.sleep(0.05)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    def _let_go_of_the_silent(self, now: float) -> None:
        """Close connections on which no request was begun, or not to the end of its head, for too long."""
        silent: dict[Any, tuple[object, float]] = {}
        for connection in list(self.server_state.connections):
            cycle = getattr(connection, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                continue
            last, since = self._silent.get(connection, (cycle, now))
            if last is not cycle:
                since = now
            if now - since > self._patience:
                connection.transport.close()
            else:
                silent[connection] = cycle, since
        self._silent = silent

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Handle signals meanwhile; uvicorn's own raises them again in the end, which ends the program."""
        self._loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():  # only there signals can be had
            yield
            return
        numbers = (signal.SIGTERM,) if self._supervisor is not None else (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        super().handle_exit(sig, frame)
        if self.force_exit and self._draining is not None:  # Ctrl-C again
            self._loop.call_soon_threadsafe(self._draining.cancel)


def _http_protocol() -> Any:
    """Return httptools' parser where it is installed, with a bound that it lacks; else h11's, which has one."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: PLC0415 - needs an extra
    except ImportError:
        return "h11"

    class Bounded(HttpToolsProtocol):
        _head: int | None = None  # bytes of a head that is not complete, but for the piece it began in

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._head = 0

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            if self._head is not None:
                self._head += len(data)
            super().data_received(data)
            limit = self.config.h11_max_incomplete_event_size or DEFAULT_MAX_HEAD
            if self._head is not None and self._head > limit and not self.transport.is_closing():
                self._head = None
                self.send_400_response("The head of the request is too long")

    return Bounded
