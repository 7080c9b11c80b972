"""Serving over HTTP as a program: its settings; what it does with them is tested on a real process."""

from __future__ import annotations

import logging
import re
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_security import TransportSecuritySettings
from dedalus_mcp_transports.http_serve import DEFAULT_PORT, HttpServer, port_of_environment
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.client.counting import back_to, living_tasks
from tests.interaction.server import make
from tests.process.http_client import client_at
from tests.transports.asgi import using


@pytest.mark.parametrize(("said", "port"), [("", DEFAULT_PORT), ("8080", 8080), ("0", 0), ("65535", 65535)])
def test_the_port_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, said: str, port: int) -> None:
    monkeypatch.setenv("PORT", said)

    assert port_of_environment() == port


@pytest.mark.parametrize("said", ["x", "-1", "65536", "80 80", "²"])
def test_a_port_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("PORT", said)

    with pytest.raises(ValueError, match="PORT is a port number"):
        port_of_environment()


def test_only_this_machine_is_served_unless_it_is_said() -> None:
    """HTTP-03."""
    assert HttpServer().host == "127.0.0.1"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_settings_that_contradict_each_other_are_told() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        await HttpServer(port=0, settings=HttpSettings(json_only=True, always_stream=True)).serve(Hosted(make()))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_address_that_is_taken_is_an_error_to_whoever_serves() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OSError, match="cannot listen on"):
            await make().serve("streamable-http", port=other.getsockname()[1])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_serving_ends_when_it_is_cancelled_and_gives_the_signals_back(caplog: pytest.LogCaptureFixture) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    caplog.set_level(logging.INFO, "dedalus_mcp")
    listens = anyio.Event()

    class Says(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            listens.set()
            return True

    caplog.handler.addFilter(Says())
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(make().serve, "http", port=0, path="/here"))
            await listens.wait()
            group.cancel_scope.cancel()

    assert re.fullmatch(r"Serving MCP at http://127\.0\.0\.1:\d+/here", caplog.messages[0])
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


class Told(logging.Handler):
    """Takes the address of what begins to serve."""

    def __init__(self) -> None:
        super().__init__()
        self.url = ""
        self.here = anyio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.url = record.getMessage().rpartition(" ")[2]
        self.here.set()


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Generator[Told]:
    logger, told = logging.getLogger("dedalus_mcp"), Told()
    caplog.set_level(logging.INFO, logger.name)
    logger.addHandler(told)
    yield told
    logger.removeHandler(told)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_serving_that_is_cancelled_takes_down_what_it_has_set_up(told: Told) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        yield
        log.append("left")

    @tool
    async def hold() -> None:
        await get_context().report_progress(1)
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cleaned up")

    server, before = MCPServer("test", lifespan=life), living_tasks()
    server.collect(hold)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(server.serve, "http", port=0))
            await told.here.wait()
            async with client_at(told.url, "2026-07-28") as client, client.stream(1, "hold") as call:
                await call.message()
                group.cancel_scope.cancel()

    assert log == ["cleaned up", "left"]
    await back_to(before)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_program_whose_lifespan_fails_does_not_start() -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        raise ValueError("no database")
        yield

    before = living_tasks()

    with anyio.fail_after(20), pytest.raises(ValueError, match="no database"):
        await MCPServer("x", lifespan=lifespan).serve("http", port=0)

    await back_to(before)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_program_whose_lifespan_takes_for_ever_can_be_ended() -> None:
    begun = anyio.Event()
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        begun.set()
        try:
            await anyio.sleep_forever()
            yield
        finally:
            log.append("left")

    before = living_tasks()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(MCPServer("x", lifespan=lifespan).serve, "http", port=0))
            await begun.wait()
            group.cancel_scope.cancel()

    assert log == ["left"]
    await back_to(before)


def test_serving_in_a_thread_leaves_the_signals_alone(told: Told) -> None:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    found: list[object] = []

    async def serve() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(make().serve, "http", port=0))
            await told.here.wait()
            async with client_at(told.url, "2025-11-25") as client:
                found.append(await client.tool(1, "echo", text="x"))
            found.append((signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)))
            group.cancel_scope.cancel()

    thread = threading.Thread(target=anyio.run, args=(serve,))
    thread.start()
    thread.join(10)

    assert found == ["x", handlers]


@pytest.mark.parametrize("transport", ["stdio", HttpServer(), "carrier-pigeon"])
async def test_settings_beside_what_takes_none_are_told(transport: Any) -> None:
    with pytest.raises(TypeError, match=r"Unsupported settings for .*: port; they go with 'streamable-http'"):
        await make().serve(transport, port=1)


def test_a_strange_setting_is_told_before_anything_runs() -> None:
    settings: Any = {"prot": 2}
    with pytest.raises(TypeError, match="Unsupported streamable HTTP settings: prot; legal are host, "):
        make().run("streamable-http", **settings)


def app(monkeypatch: pytest.MonkeyPatch, environment: str, server: str, setting: str) -> Any:
    """An application whose allowed host is said in these places."""
    monkeypatch.setenv("MCP_ALLOWED_HOSTS", environment)
    of_server, of_app = (
        TransportSecuritySettings(allowed_hosts=[each]) if each else None for each in (server, setting)
    )
    return MCPServer("test", http_security=of_server).asgi_app(security=of_app)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("environment", "server", "setting", "served"),
    [
        ("", "", "", "localhost"),
        ("a.example", "", "", "a.example"),
        ("a.example", "b.example", "", "b.example"),
        ("a.example", "b.example", "c.example", "c.example"),
    ],
)
async def test_what_is_said_nearest_to_the_application_counts(
    monkeypatch: pytest.MonkeyPatch, environment: str, server: str, setting: str, served: str
) -> None:
    """B080."""
    made = app(monkeypatch, environment, server, setting)
    async with using(made) as web:
        found = [await web.client().initialize("2025-11-25", host=f"{host}.example") for host in "abc"]
        found.append(await web.client().initialize("2025-11-25", host="localhost"))

    hosts = ["a.example", "b.example", "c.example", "localhost"]
    assert [host for host, exchange in zip(hosts, found, strict=True) if exchange.status == 200] == [served]


def test_an_environment_that_cannot_be_read_is_told_when_the_application_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ValueError, match=r"^MCP_ALLOWED_HOSTS: .*not 'http://x'"):
        app(monkeypatch, "http://x", "", "")


@pytest.mark.parametrize("port", ["8000", 80.5, -1, 65536])
def test_what_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(ValueError, match="port is a number from 0 to 65535, not"):
        HttpServer(port=port)
