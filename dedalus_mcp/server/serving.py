"""How a server is reached: as a program, within one, and in a web application.

Layer: L4; these are doors to `dedalus_mcp.run`.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from dedalus_mcp.transport import Duplex, Host, Target

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer
    from dedalus_mcp_transports.http_options import AppOptions, ServeOptions

__all__ = ("ASGIApp", "Serving")


class ASGIApp(Protocol):
    """An application as ASGI defines it, with a beginning and an end for those who mount it."""

    async def __call__(self, scope: Any, receive: Any, send: Any, /) -> None:
        """Serve one ASGI connection."""
        ...

    def lifespan(self, host: Any = None, /) -> AbstractAsyncContextManager[None]:
        """Set up what is served on entering, and end it on leaving: `FastAPI(lifespan=app.lifespan)`."""
        ...

    async def aclose(self, drain: float = 0.0) -> None:
        """End every session and stream; running calls may go on for so many seconds."""
        ...


class Serving:
    """The part of `MCPServer` that serves."""

    def asgi_app(self, *, bound_host: str | None = None, **settings: Unpack[AppOptions]) -> ASGIApp:
        """Return an ASGI application that serves streamable HTTP, of every revision at one path.

        It mounts anywhere, needs no lifespan and answers one where it is offered.  Mounted at "/tools"
        it answers at "/tools/mcp" (with the setting `path` as it is), and at "/tools/" too.  Frameworks tell
        what is mounted neither of their beginning nor of their end: `FastAPI(lifespan=app.lifespan)` does.

        Args:
            bound_host: The host that it will be reached at, where that is known: then it is
                allowed besides loopback.
            settings: The fields of `dedalus_mcp.HttpSettings`; `host` and `port` are for what serves it.

        Raises:
            TypeError: There is no such setting.
            ValueError: A setting's value is not legal, or that of an environment variable.
        """
        from dedalus_mcp.run import asgi_app  # noqa: PLC0415 - the door: run knows the transports

        return asgi_app(self._server, bound_host, settings)

    async def serve(self, transport: str | Host | Target | Duplex = "stdio", **settings: Unpack[ServeOptions]) -> None:
        """Serve until the client ends, or the program is told to stop (SIGINT, SIGTERM), and return then.

        Args:
            transport: "stdio"; "streamable-http", or "http" for short, on 127.0.0.1 and port 8000 or `PORT`, with
                `settings`; an `HttpServer`, which has its own; something that opens the program's own
                connection, such as `ServerStdio(max_frame=...)`; or a connection (`Duplex`) to serve
                one client on, which no signal ends.  Also the name under which a distribution has
                what makes one of these, in the group of entry points `dedalus_mcp.transports`.
            settings: The fields of `HttpServer` and of `HttpSettings`, such as `host`, `port` and `path`.

        Raises:
            TypeError: There is no such setting.
            ValueError: There is no such transport, or a setting's value is not legal.
            OSError: The address cannot be listened on.
        """
        from dedalus_mcp.run import serve  # noqa: PLC0415 - the door: run knows the transports

        await serve(self._server, transport, settings)

    def run(self, transport: str | Host | Target | Duplex = "stdio", **settings: Unpack[ServeOptions]) -> None:
        """Serve, as a whole program: starts an event loop and returns when all is over.

        HTTP is served by httptools and uvloop where they are installed (`dedalus-mcp[fast]`).

        Args:
            transport: See `serve`.
            settings: See there.

        Raises:
            TypeError: There is no such setting.
            ValueError: There is no such transport, or a setting's value is not legal.
            OSError: The address cannot be listened on.
            RuntimeError: An event loop runs in this thread already; `serve` is for there.
        """
        from dedalus_mcp.run import run  # noqa: PLC0415 - the door: run knows the transports

        run(self._server, transport, settings)

    @property
    def _server(self) -> MCPServer:
        return cast("MCPServer", self)
