"""The applications that real web servers serve in tests.

python -m tests.process.http_app uvicorn PORT app           one of the servers, on that port
python -m tests.process.http_app own PORT                   the package's own way to serve
"""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from typing import Any

import anyio
import uvicorn
from fastapi import FastAPI
from granian.constants import Interfaces
from granian.server import Server
from hypercorn.config import Config
from hypercorn.run import run
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp_transports.http_serve import HttpServer
from tests.seeds.servers import elicitation

__all__ = ("SERVERS", "app", "by_sse", "framed", "mounted", "stateless")

SERVERS = ("uvicorn", "hypercorn", "granian")


def make() -> MCPServer:
    """The document on elicitation, and what tests of connections need besides."""
    server = elicitation()
    over: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)

    async def wait(key: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            over[key].set()

    with server.binding():

        @tool
        async def echo(text: str) -> str:
            return text

        @tool
        async def steps(count: int) -> str:
            for n in range(1, count + 1):
                await get_context().report_progress(n)
            return "done"

        @tool
        async def wait_silently(key: str) -> None:
            await wait(key)

        @tool
        async def wait_loudly(key: str) -> None:
            await get_context().report_progress(1)
            await wait(key)

        @tool
        async def until_over(key: str) -> str:
            await over[key].wait()
            return "over"

        @tool
        async def finish_in(seconds: float) -> str:
            await get_context().report_progress(1)
            await anyio.sleep(seconds)  # longer than the program takes to hear of its end
            return "finished"

    return server


def app() -> Any:
    """The application alone."""
    return make().asgi_app()


def stateless() -> Any:
    """The application without sessions, of a key that every process has."""
    return make().asgi_app(stateless=True, state_keys=[b"k" * 32])


def by_sse() -> Any:
    """The application with HTTP+SSE, below a prefix."""
    return Starlette(routes=[Mount("/x", app=make().asgi_app(sse_path="/sse"))])


def mounted() -> Any:
    """In Starlette and in FastAPI, below middlewares, with no lifespan wired; two servers in one program."""

    async def dispatch(request: Any, call_next: Any) -> Any:
        response = await call_next(request)
        response.headers["x-through"] = "middleware"
        return response

    fast = FastAPI()
    fast.mount("/fast", make().asgi_app())
    below = Starlette(
        routes=[Mount("/", app=make().asgi_app())],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=dispatch), Middleware(GZipMiddleware, minimum_size=10)],
    )
    return Starlette(routes=[Mount("/x", app=make().asgi_app()), Mount("/below", app=below), Mount("/", app=fast)])


def framed(which: str, port: int, target: str) -> None:
    """Serve on one of the servers, as its own command line would."""
    if which == "uvicorn":
        name = f"tests.process.http_app:{target}"
        uvicorn.run(name, factory=True, port=port, log_level="warning", timeout_graceful_shutdown=1)
    elif which == "hypercorn":
        config = Config()
        config.application_path = f"tests.process.http_app:{target}()"
        config.bind = [f"127.0.0.1:{port}"]
        config.loglevel = "WARNING"
        config.graceful_timeout = 1.0
        config.workers = 0
        run(config)
    else:
        Server(
            f"tests.process.http_app:{target}",
            factory=True,
            port=port,
            interface=Interfaces.ASGI,
            log_access=False,
            workers_kill_timeout=1,
        ).serve()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    if sys.argv[1] == "own":
        make().run(HttpServer(port=int(sys.argv[2]), drain_seconds=1.0))
    else:
        framed(sys.argv[1], int(sys.argv[2]), sys.argv[3])
