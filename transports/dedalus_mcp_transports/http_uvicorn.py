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

CLOSING_SECONDS = 2
"""How long uvicorn waits for connections after the drain, in seconds; by then none has anything to say."""


class DrainingServer(uvicorn.Server):
    """A server that ends when it is told to, and lets its program go on.

    Args:
        app: What it serves.
        drain: How long running calls may go on once it is told to end, in seconds.
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
        supervisor: int | None = None,
        **settings: Any,
    ) -> None:
        config = uvicorn.Config(
            app,
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
        self._supervisor = supervisor

    async def on_tick(self, counter: int) -> bool:
        """Whether it is to end."""
        return await super().on_tick(counter) or (self._supervisor is not None and os.getppid() != self._supervisor)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Drain, and close what is left."""
        for server in self.servers:
            server.close()  # no new connections while the old ones are drained
        with self._draining:
            await self._app.aclose(self._drain)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Handle signals meanwhile; uvicorn's own raises them again in the end, which ends the program."""
        self._loop, self._draining = asyncio.get_running_loop(), anyio.CancelScope()
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
        if self.force_exit:  # Ctrl-C again
            self._loop.call_soon_threadsafe(self._draining.cancel)
