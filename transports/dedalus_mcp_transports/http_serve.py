"""Serving streamable HTTP as a whole program: the application, on uvicorn, with an end that comes.

ASGI servers wait on SIGTERM for every open stream, and tell the application nothing.  So the
application is drained first: its streams end, running calls get their time, and then nothing is
left to wait for.  Then `serve` returns, so that what the program has to do afterwards is done.

Layer: L5.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import anyio
import msgspec

from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.http_sockets import address_of, listening

if TYPE_CHECKING:
    import uvicorn

__all__ = ("DEFAULT_PORT", "HttpServer", "port_of_environment")

DEFAULT_PORT = 8000
LOG_LEVELS = ("critical", "error", "warning", "info", "debug", "trace")
CLOSING_SECONDS = 2
"""How long uvicorn waits for connections after the drain, in seconds; by then none has anything to say."""

logger = logging.getLogger("dedalus_mcp")


class HttpServer(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how to serve streamable HTTP; a `Host`.

    Attributes:
        host: The address to listen on.  Anything but loopback is reachable by others.
        port: The port; None for the environment's `PORT`, else 8000; 0 for any that is free.
        uds: The path of a Unix socket to listen on instead.
        fd: The descriptor of a socket to listen on instead, as a service manager hands one over.
        ssl_certfile: The file with the certificate, for TLS.
        ssl_keyfile: The file with its key, where that is another.
        settings: The settings of the application.
        drain_seconds: How long running calls may go on once the program is told to stop.
        log_level: uvicorn's: critical, error, warning, info, debug or trace.

    Raises:
        ValueError: A value is not legal.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    uds: str | None = None
    fd: int | None = None
    ssl_certfile: str | os.PathLike[str] | None = None
    ssl_keyfile: str | os.PathLike[str] | None = None
    settings: HttpSettings = HttpSettings()
    drain_seconds: float = 5.0
    log_level: str = "warning"

    def __post_init__(self) -> None:
        if self.port is not None and not 0 <= self.port <= 65535:
            raise ValueError(f"port is a number from 0 to 65535, not {self.port!r:.40}")
        if self.drain_seconds < 0:
            raise ValueError(f"drain_seconds is not negative, as {self.drain_seconds!r:.40} is")
        if self.log_level not in LOG_LEVELS:
            raise ValueError(f"log_level is one of {', '.join(LOG_LEVELS)}, not {self.log_level!r:.40}")
        if self.ssl_keyfile is not None and self.ssl_certfile is None:
            raise ValueError("ssl_keyfile goes with ssl_certfile")

    async def serve(self, application: Application) -> None:
        """Serve until the program is told to stop (SIGINT, SIGTERM), and return then.

        Raises:
            ValueError: `PORT` is no port number, or a setting is not legal.
            OSError: The address cannot be listened on, or a file of TLS cannot be read.
        """
        app = HttpApp(application, self.settings, bound_host=self.host)
        config = self._config(app)
        port = port_of_environment() if self.port is None else self.port
        with listening(self.host, port, uds=self.uds, fd=self.fd) as sockets:
            self._announce(sockets)
            await _draining(app, self.drain_seconds)(config).serve(sockets)

    def _config(self, app: HttpApp) -> uvicorn.Config:
        import uvicorn  # noqa: PLC0415 - loaded where it is used

        config = uvicorn.Config(
            app,
            log_level=self.log_level,
            access_log=False,
            lifespan="off",
            ws="none",
            h11_max_incomplete_event_size=self.settings.max_head,
            ssl_certfile=self.ssl_certfile,
            ssl_keyfile=self.ssl_keyfile,
            timeout_graceful_shutdown=int(self.drain_seconds) + CLOSING_SECONDS,
        )
        config.load()  # now, while whoever starts the program still hears what is wrong with it
        return config

    def _announce(self, sockets: list[socket.socket]) -> None:
        """Say where clients find it, to people who have set up no logging too."""
        scheme = "http" if self.ssl_certfile is None else "https"
        line = f"Serving MCP at {scheme}://{address_of(sockets, self.host)}{self.settings.path}"
        if logger.hasHandlers():
            logger.info(line)
        elif sys.stderr is not None:
            sys.stderr.write(f"{line}\n")


def port_of_environment() -> int:
    """Return the port that `PORT` names, or the default.

    Raises:
        ValueError: It is no port number.
    """
    said = os.environ.get("PORT", "")
    if not said:
        return DEFAULT_PORT
    if not (said.isascii() and said.isdigit()) or int(said) > 65535:
        raise ValueError(f"PORT is a port number, not {said!r:.40}")
    return int(said)


def _draining(app: HttpApp, seconds: float) -> type[uvicorn.Server]:
    """A uvicorn server that drains the application before it waits for its connections."""
    import uvicorn  # noqa: PLC0415 - loaded where it is used

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for server in getattr(self, "servers", ()):
                server.close()  # no new connections while the old ones are drained
            with self._drain:
                await app.aclose(seconds)
            await super().shutdown(sockets)

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            self._loop, self._drain = asyncio.get_running_loop(), anyio.CancelScope()
            with _handled(self.handle_exit):  # uvicorn's own raises the signal again in the end, which kills us
                yield

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            if self.force_exit:  # Ctrl-C again
                self._loop.call_soon_threadsafe(self._drain.cancel)

    return Server


@contextmanager
def _handled(handle: Callable[[int, FrameType | None], None]) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there signals can be had
        yield
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
