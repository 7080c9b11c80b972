"""Serving streamable HTTP as a whole program: the application, on uvicorn, with an end that comes.

ASGI servers wait on SIGTERM for every open stream, and tell the application nothing.  So the
application is drained first: its streams end, running calls get their time, and then nothing is
left to wait for.

Layer: L5.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings

if TYPE_CHECKING:
    import socket

    import uvicorn

__all__ = ("DEFAULT_PORT", "HttpServer", "port_of_environment")

DEFAULT_PORT = 8000


class HttpServer(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how to serve streamable HTTP; a `Host`.

    Attributes:
        host: The address to listen on.  Anything but loopback is reachable by others.
        port: The port; None for the environment's `PORT`, else 8000; 0 for any that is free.
        settings: The settings of the application.
        drain_seconds: How long running calls may go on once the program is told to stop.
        log_level: uvicorn's.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    settings: HttpSettings = HttpSettings()
    drain_seconds: float = 5.0
    log_level: str = "warning"

    async def serve(self, application: Application) -> None:
        """Serve until the program is told to stop (SIGINT, SIGTERM).

        Raises:
            ValueError: `PORT` is no number, or a setting is not legal.
            OSError: The address cannot be listened on.
        """
        import uvicorn  # noqa: PLC0415 - loaded where it is used

        app = HttpApp(application, self.settings, bound_host=self.host)
        config = uvicorn.Config(
            app,
            host=self.host,
            port=port_of_environment() if self.port is None else self.port,
            log_level=self.log_level,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=int(self.drain_seconds) + 2,
        )
        await _draining(app, self.drain_seconds)(config).serve()


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
            await app.aclose(seconds)
            await super().shutdown(sockets)

    return Server
