"""Serving streamable HTTP as a whole program: the application, on uvicorn, with an end that comes.

ASGI servers wait on SIGTERM for every open stream, and tell the application nothing.  So the
application is drained first: its streams end, running calls get their time, and then nothing is
left to wait for.  Then `serve` returns, so that what the program has to do afterwards is done.

Layer: L5.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from dedalus_mcp.transport import Application, Host
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.http_sockets import address_of, listening
from dedalus_mcp_transports.http_workers import Supervisor

if TYPE_CHECKING:
    from dedalus_mcp_transports.http_uvicorn import DrainingServer

__all__ = ("DEFAULT_PORT", "HttpServer", "port_of_environment")

DEFAULT_PORT = 8000
LOG_LEVELS = ("critical", "error", "warning", "info", "debug", "trace")
ENDING_SECONDS = 6
"""How long a worker may take to end after the drain, in seconds: handlers, connections, threads have their grace."""

logger = logging.getLogger("dedalus_mcp")


class HttpServer(Struct, frozen=True, kw_only=True):
    """Where and how to serve streamable HTTP; a `Host`.

    Attributes:
        host: The address to listen on.  Anything but loopback is reachable by others.
        port: The port; None for the environment's `PORT`, else 8000; 0 for any that is free.
        uds: The path of a Unix socket to listen on instead.
        fd: The descriptor of a socket to listen on instead, as a service manager hands one over.
        ssl_certfile: The file with the certificate, for TLS.
        ssl_keyfile: The file with its key, where that is another.
        settings: The settings of the application.
        workers: How many processes serve, of those that `MCPServer.run` starts.  More than one need `state_keys`,
            which they share; clients of revisions with sessions are served without (`stateless`) then.  What they
            are asked in the middle of a call waits in one process, which their answer may miss: only clients of
            2026-07-28 can be asked reliably.  Changes are told to those whom the same process serves.
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
    workers: int = 1
    drain_seconds: float = 5.0
    log_level: str = "warning"

    def __post_init__(self) -> None:
        if self.port is not None and self.port not in range(65536):
            raise ValueError(f"port is a number from 0 to 65535, not {self.port!r:.40}")
        if self.workers < 1:
            raise ValueError(f"workers must be at least 1, not {self.workers!r:.40}")
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
        if self.workers > 1:
            raise ValueError("workers= goes with MCPServer.run: processes are forked before an event loop runs")
        server = self.serving(application)
        with self._listening() as sockets:
            self._announce(sockets)
            await server.serve(sockets)

    def prefork(self, application: Application, run: Callable[[Host], object]) -> None:
        """Serve in several processes, each of which calls `run`, until the program is told to stop.

        Args:
            application: What is to be served; only looked at here.
            run: Serves it on the host that it is given, in an event loop of its own.

        Raises:
            ValueError: As for `serve`; or there are no `state_keys`, or no way to make processes here.
            OSError: As for `serve`.
            RuntimeError: A worker ended again and again.
        """
        if not self.settings.state_keys:
            raise ValueError(
                f"workers={self.workers} needs state_keys=[...]: any worker may get the next request of a client, and "
                "must be able to read what another has given it. Make one by secrets.token_hex(32), keep it "
                "secret, and give it here or by DEDALUS_MCP_STATE_KEYS"
            )
        ready = structs.replace(self, workers=1, settings=structs.replace(self.settings, stateless=True))
        ready.serving(application)  # now, while whoever starts the program still hears what is wrong
        with self._listening() as sockets:
            worker = _Worker(ready, sockets)
            supervisor = Supervisor(self.workers, lambda: run(worker), self.drain_seconds + ENDING_SECONDS)
            self._announce(sockets)
            supervisor.run()

    def serving(self, application: Application, supervisor: int | None = None) -> DrainingServer:
        """Return what serves an application once it is given sockets.

        Args:
            application: The application.
            supervisor: The process that looks after this one, where there is such.

        Raises:
            ValueError: A setting is not legal.
            OSError: A file of TLS cannot be read.
        """
        from dedalus_mcp_transports.http_uvicorn import DrainingServer  # noqa: PLC0415 - loads uvicorn

        return DrainingServer(
            HttpApp(application, self.settings, bound_host=self.host),
            drain=self.drain_seconds,
            patience=self.settings.body_seconds,
            supervisor=supervisor,
            log_level=self.log_level,
            h11_max_incomplete_event_size=self.settings.max_head,
            ssl_certfile=self.ssl_certfile,
            ssl_keyfile=self.ssl_keyfile,
        )

    def _listening(self) -> AbstractContextManager[list[socket.socket]]:
        port = port_of_environment() if self.port is None else self.port
        return listening(self.host, port, uds=self.uds, fd=self.fd)

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


class _Worker:
    """A `Host`: what one of several processes serves on, with what it has from the one that started it."""

    def __init__(self, server: HttpServer, sockets: list[socket.socket]) -> None:
        self._server = server
        self._sockets = sockets
        self._supervisor = os.getpid()

    async def serve(self, application: Application) -> None:
        """Serve until the supervisor says so, or is gone."""
        await self._server.serving(application, self._supervisor).serve(self._sockets)
