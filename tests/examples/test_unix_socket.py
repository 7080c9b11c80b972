"""The transport on a Unix socket: the rules of transports, servers and clients on it, and who may connect."""

from __future__ import annotations

import signal
import socket
import stat
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, tool
from dedalus_mcp.testing import check_transport
from dedalus_mcp.types import ElicitRequestParams
from examples import unix_socket
from examples.unix_socket import UnixServer, UnixTransport
from tests.examples.programs import command, said, started
from tests.interaction.reach import PATIENCE


@tool
async def shout(text: str, ctx: Context) -> str:
    return text.upper() if await ctx.confirm("Really?") else text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "desk.sock"


@asynccontextmanager
async def served(path: Path) -> AsyncGenerator[None]:
    server = MCPServer("loud")
    server.collect(shout)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            await group.start(unix_socket.serve, server, path)
            yield
            group.cancel_scope.cancel()


def yes(params: ElicitRequestParams) -> dict[str, bool]:
    return {"confirm": True}


async def test_it_keeps_every_rule_of_transports() -> None:
    async def make_pair() -> tuple[UnixTransport, UnixTransport]:
        near, far = socket.socketpair(socket.AF_UNIX)
        return UnixTransport(near), UnixTransport(far)

    await check_transport(make_pair)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_server_on_it_serves_many_clients_and_asks(revision: str, path: Path) -> None:
    async with served(path), MCPClient.connect(UnixServer(path), revision=revision, elicitation=yes) as one:
        async with MCPClient.connect(UnixServer(path), elicitation=yes) as two:
            assert (await two.call_tool("shout", {"text": "b"})).text == "B"
        assert (await one.call_tool("shout", {"text": "a"})).text == "A"


async def test_its_file_is_its_owners_alone_and_goes_with_the_server(path: Path) -> None:
    async with served(path):
        assert stat.S_IMODE((await anyio.Path(path).stat()).st_mode) == 0o600
    assert not await anyio.Path(path).exists()


@pytest.mark.parametrize("said", [b"", b"\x00\xff", b"{}\n", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 1000])
async def test_a_client_that_talks_nonsense_and_goes_disturbs_no_other(said: bytes, path: Path) -> None:
    async with served(path):
        with socket.socket(socket.AF_UNIX) as rude:
            rude.connect(str(path))
            rude.sendall(said)
        async with MCPClient.connect(UnixServer(path), elicitation=yes) as client:
            assert (await client.call_tool("shout", {"text": "a"})).text == "A"


async def test_connections_beyond_the_bound_wait_until_one_ends(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix_socket, "CONNECTIONS", 1)
    async with served(path), anyio.create_task_group() as group:
        first = await MCPClient.connect(UnixServer(path), elicitation=yes)
        connected = anyio.Event()

        async def second() -> None:
            async with MCPClient.connect(UnixServer(path), revision="2025-11-25", elicitation=yes):
                connected.set()

        group.start_soon(second)
        assert (await first.call_tool("shout", {"text": "a"})).text == "A"
        assert not connected.is_set()
        await first.close()
        await connected.wait()


async def test_a_file_that_a_dead_server_left_is_replaced_and_that_of_a_living_one_is_not(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with served(path):
        with pytest.raises(OSError, match="in use"):
            await unix_socket.serve(MCPServer("second"), path)
        async with MCPClient.connect(UnixServer(path), elicitation=yes) as client:
            await client.ping()


async def test_a_client_is_told_where_nobody_listens(path: Path) -> None:
    with pytest.raises(OSError, match=f"no server at {path}"):
        await MCPClient.connect(UnixServer(path))


def test_two_programs_talk_over_it_and_an_interrupt_leaves_no_file(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started(command("unix_socket.py", "serve", str(path)), log) as server:
        wait_until_it_listens(path)
        assert said("unix_socket.py", "call", str(path), "add", '{"a": 20, "b": 22}') == "42\n"
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 130

    assert not path.exists()
    assert log.read_text() == f"serving at {path}\n"


def wait_until_it_listens(path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not unix_socket.answers(path):
        assert time.monotonic() < end, "it does not listen"
        time.sleep(0.02)
