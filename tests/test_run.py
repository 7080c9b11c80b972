"""`run`: servers joined to connections, in this process and as whole programs."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, MCPServer, StdioServer, tool
from dedalus_mcp.reaching import InMemory, open_target
from dedalus_mcp.run import serve, serve_duplex
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.memory import pair
from tests.client.counting import back_to, living_tasks
from tests.interaction.raw import Raw, envelope
from tests.interaction.reach import ENV
from tests.sources import ROOT


@tool
async def wait() -> None:
    await anyio.sleep_forever()


def offering(**settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(wait)
    return server


def test_whatever_can_be_connected_to_becomes_a_target() -> None:
    stdio = StdioServer("python")
    near, _ = pair()

    assert isinstance(open_target(offering()), InMemory)
    assert open_target(stdio) is stdio
    assert callable(open_target(near).open)


@pytest.mark.parametrize("thing", [7, None, object(), ["python", "server.py"]], ids=lambda thing: type(thing).__name__)
def test_anything_else_is_refused_with_what_is_legal(thing: Any) -> None:
    with pytest.raises(TypeError, match=f"cannot connect to {type(thing).__name__}: legal are .*StdioServer"):
        open_target(thing)


@pytest.mark.parametrize("kind", [MCPServer, StdioServer])
def test_a_class_is_not_what_it_makes(kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"cannot connect to the class {kind.__name__}: make one of it"):
        open_target(kind)


async def test_a_connection_is_taken_once() -> None:
    near, _ = pair()
    target = open_target(near)

    assert await target.open() is near
    with pytest.raises(ConnectionError, match="used already"):
        await target.open()


@pytest.mark.parametrize("how", [serve, serve_duplex])
async def test_one_client_is_served_until_it_ends(how: Any) -> None:
    """The lifespan is held for as long, and the connection closed in the end."""
    log: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        log.append("in")
        yield
        log.append("out")

    near, far = pair()
    before = living_tasks()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(how, offering(lifespan=life), far)
            async with MCPClient.connect(near) as client:
                await client.ping()
                assert log == ["in"]

    assert log == ["in", "out"]
    with pytest.raises(anyio.ClosedResourceError):
        await far.receive()
    await back_to(before)


class Opened:
    """A connection that is there already, as a `Target`."""

    def __init__(self, far: Duplex) -> None:
        self._far = far

    async def open(self) -> Duplex:
        return self._far


async def test_a_target_is_opened_and_served() -> None:
    near, far = pair()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(offering().serve, Opened(far))
            async with MCPClient.connect(near) as client:
                await client.ping()


async def test_a_transport_of_somebody_elses_is_found_by_the_name_that_its_distribution_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "from dedalus_mcp_transports.memory import pair\nnear, far = pair()\ndef fly(): return far\n"
    (tmp_path / "carrier_pigeon.py").write_text(made)
    info = tmp_path / "carrier_pigeon-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier-pigeon\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[dedalus_mcp.transports]\npigeon = carrier_pigeon:fly\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "carrier_pigeon", raising=False)

    with pytest.raises(ValueError, match=r"'stdio', .*'pigeon', or a transport object"):
        await serve(offering(), "swallow")
    with pytest.raises(TypeError, match="Unsupported settings for 'pigeon': port"):
        await serve(offering(), "pigeon", {"port": 1})
    near = importlib.import_module("carrier_pigeon").near
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(serve, offering(), "pigeon")
            async with MCPClient.connect(near, revision="2025-11-25") as client:
                await client.ping()


@pytest.mark.parametrize("how", ["a program", "HTTP"])
async def test_a_server_with_nothing_to_offer_says_so_when_it_begins(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def registering(server: MCPServer) -> AsyncGenerator[None]:
        server.collect(wait)
        yield

    for server in (MCPServer("empty"), offering(), MCPServer("late", lifespan=registering)):
        if how == "HTTP":
            async with server.asgi_app().lifespan():
                pass
        else:
            near, far = pair()
            await near.aclose()
            await server.serve(Opened(far))

    assert [record.message for record in caplog.records] == [
        "server 'empty' offers nothing: functions are registered by server.collect(...)"
    ]


async def test_cancelling_what_serves_ends_it_in_order() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        yield
        log.append("left")

    @tool
    async def hold() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cleaned up")

    server = MCPServer("test", lifespan=life)
    server.collect(hold)
    near, far = pair()
    raw = Raw(near)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(serve_duplex, server, far)
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="hold")
            await raw.barrier()
            group.cancel_scope.cancel()
        with pytest.raises(anyio.EndOfStream):
            await raw.hear()

    assert log == ["cleaned up", "left"]


@pytest.mark.parametrize("when", ["in", "out"])
async def test_what_a_lifespan_raises_comes_out_of_serving_as_itself(when: str) -> None:
    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        if when == "in":
            raise KeyError(when)
        yield
        raise KeyError(when)

    near, far = pair()
    await near.aclose()
    with anyio.fail_after(20), pytest.raises(KeyError, match=when):
        await serve(offering(lifespan=life), far)


async def test_a_lifespan_that_breaks_ends_the_connection_and_comes_out_of_serving() -> None:
    """A program that lost what it lives by ends, and whoever watches over it starts another."""
    broken = anyio.Event()

    async def fail() -> None:
        await broken.wait()
        raise KeyError("lost the database")

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(fail)
            yield
            group.cancel_scope.cancel()

    near, far = pair()
    raw = Raw(near)
    errors: list[BaseException] = []

    async def serving() -> None:
        try:
            await serve(offering(lifespan=life), far)
        except ExceptionGroup as error:
            errors.append(error)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(serving)
            await raw.open("2025-11-25")
            broken.set()
            with pytest.raises(anyio.EndOfStream):
                await raw.hear()

    assert "lost the database" in repr(errors[0])


@pytest.mark.parametrize(
    "error",
    [KeyError("cannot save"), SystemExit("cannot save"), BaseExceptionGroup("two", [SystemExit("cannot save")])],
    ids=repr,
)
async def test_a_connected_client_is_not_blamed_for_how_a_lifespan_ends(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """On trio, what leaves the task that serves would end the program."""

    @asynccontextmanager
    async def life(server: MCPServer) -> AsyncGenerator[None]:
        yield
        raise error

    async with MCPClient.connect(offering(lifespan=life)) as client:
        await client.ping()
    assert "the lifespan of server 'test' failed" in caplog.text
    assert "cannot save" in caplog.text


async def test_a_handler_that_swallows_its_cancellation_does_not_keep_the_client_open() -> None:
    may_go, gone, before = anyio.Event(), anyio.Event(), living_tasks()

    @tool
    async def stubborn() -> None:
        with anyio.CancelScope(shield=True):
            await may_go.wait()
        gone.set()

    server = MCPServer("test")
    server.collect(stubborn)
    with anyio.fail_after(20):
        client = await MCPClient.connect(server)
        with anyio.move_on_after(0.01):
            await client.call_tool("stubborn")
        await client.close()
        may_go.set()
        await gone.wait()
    await back_to(before)


# Whole programs.


class Program:
    """A child that serves on stdio."""

    def __init__(self, *args: str) -> None:
        command = [sys.executable, "-m", "tests.process.lifespan_server", *args]
        self.child = subprocess.Popen(
            command, cwd=ROOT, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def call(self, name: str) -> None:
        assert self.child.stdin is not None
        params = {"name": name, "_meta": envelope()}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def says(self, word: str) -> None:
        assert self.child.stderr is not None
        assert self.child.stderr.readline().decode().strip() == word

    def ends(self) -> tuple[int, str]:
        """The exit code, and the rest of stderr."""
        _, errors = self.child.communicate(timeout=10)
        return self.child.returncode, errors.decode()


@contextmanager
def program(*args: str) -> Generator[Program]:
    running = Program(*args)
    try:
        yield running
    finally:
        running.child.kill()
        running.child.communicate()


def test_a_program_ends_with_its_client_and_leaves_in_order() -> None:
    """LIFE-17, B071."""
    with program() as served:
        served.says("entered")
        served.call("wait")
        served.says("waiting")

        assert served.ends() == (0, "cleaned up\nleft\nreturned\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_ends_at_a_signal_and_leaves_in_order(number: signal.Signals) -> None:
    with program() as served:
        served.says("entered")
        served.call("wait")
        served.says("waiting")
        served.child.send_signal(number)

        assert served.ends() == (0, "cleaned up\nleft\nreturned\n")


def test_a_program_whose_thread_never_returns_ends_all_the_same() -> None:
    with program() as served:
        served.says("entered")
        served.call("block")
        served.says("blocking")

        assert served.ends() == (0, "left\n")


@pytest.mark.parametrize(("when", "said"), [("fail-in", "no database"), ("fail-out", "cannot save")])
def test_a_program_whose_lifespan_fails_ends_with_its_traceback(when: str, said: str) -> None:
    with program(when) as served:
        code, errors = served.ends()

    assert code == 1
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith(f"KeyError: '{said}'")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_never_gets_ready_ends_at_a_signal(number: signal.Signals) -> None:
    with program("never-ready") as served:
        served.says("entered")
        served.child.send_signal(number)

        assert served.ends() == (0, "returned\n")
