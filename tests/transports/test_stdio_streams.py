"""`FrameStream` over real pipes, sockets, and a real child process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from dedalus_mcp.testing import check_transport
from dedalus_mcp.transport import Duplex, Oversized, Received
from dedalus_mcp_transports.stdio import StdioServer
from dedalus_mcp_transports.stdio_files import file_sink, file_source, socket_stream
from dedalus_mcp_transports.stdio_streams import FrameStream

ROOT = Path(__file__).parents[2]


async def pipes() -> tuple[Duplex, Duplex]:
    (here_in, there_out), (there_in, here_out) = os.pipe(), os.pipe()
    return (
        FrameStream(file_source(here_in), file_sink(here_out)),
        FrameStream(file_source(there_in), file_sink(there_out)),
    )


async def sockets() -> tuple[Duplex, Duplex]:
    here, there = socket.socketpair()
    return socket_stream(here), socket_stream(there)


async def inherited_sockets() -> tuple[Duplex, Duplex]:
    """As from a parent that gives sockets to its children instead of pipes: node does."""
    here, there = socket.socketpair()
    fd = there.detach()
    return socket_stream(here), FrameStream(file_source(os.dup(fd)), file_sink(fd))


async def test_pipes_keep_every_rule_of_a_duplex() -> None:
    await check_transport(pipes)


async def test_sockets_keep_every_rule_of_a_duplex() -> None:
    """STDIO-18."""
    await check_transport(sockets)


async def test_inherited_sockets_keep_every_rule_of_a_duplex() -> None:
    await check_transport(inherited_sockets)


async def test_a_real_child_keeps_every_rule_of_a_duplex(anyio_backend: str) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "transports"), os.environ.get("PYTHONPATH", "")])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        port = listener.getsockname()[1]
        server = StdioServer(
            sys.executable,
            [str(Path(__file__).with_name("relay.py")), str(port), anyio_backend],
            {"PYTHONPATH": path},
            stderr=subprocess.DEVNULL,
        )

        async def child() -> tuple[Duplex, Duplex]:
            near = await server.open()
            connection, _ = listener.accept()
            return near, socket_stream(connection)

        await check_transport(child)


async def test_a_frame_above_the_limit_leaves_the_rest_in_order() -> None:
    """B059."""
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    stream = FrameStream(file_source(read), file_sink(null), max_frame=1000)
    os.write(write, b"1\n" + b"x" * 5000 + b"\n2\n")
    os.close(write)

    assert await stream.receive() == [b"1", Oversized(1000, b"x" * 512, b"x" * 512), b"2"]
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    await stream.aclose()


async def test_a_last_line_without_newline_arrives_before_the_end() -> None:
    """B059."""
    read, write = os.pipe()
    stream = FrameStream(file_source(read), file_sink(os.open(os.devnull, os.O_RDWR)))
    os.write(write, b"{}\r\n\r\n[]")
    os.close(write)

    assert [*await stream.receive(), *await stream.receive()] == [b"{}", b"[]"]
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    await stream.aclose()


async def test_a_frame_cut_by_cancellation_is_finished_by_the_next_send_even_if_that_is_cancelled_too() -> None:
    here, there = await pipes()
    big = b"x" * 1_000_000
    for frame in (big, b"never begun"):
        async with anyio.create_task_group() as group:
            group.start_soon(here.send, [frame])
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    received: list[Received] = []
    async with anyio.create_task_group() as group:
        group.start_soon(here.send, [b"last"])
        while received[-1:] != [b"last"]:
            received += await there.receive()
    assert received == [big, b"last"]
    await here.aclose()
    await there.aclose()


async def test_two_tasks_may_not_send_at_once() -> None:
    here, there = await pipes()
    async with anyio.create_task_group() as group:
        group.start_soon(here.send, [b"x" * 1_000_000])
        await anyio.wait_all_tasks_blocked()

        with pytest.raises(anyio.BusyResourceError):
            await here.send([b"{}"])
        group.cancel_scope.cancel()
    await here.aclose()
    await there.aclose()


@pytest.mark.parametrize("rest", [b'{"jsonrpc": "2.0", "id": 1, "resu', b"{", b'{"a": {}', b"\xe2\x80"], ids=repr)
async def test_a_message_that_the_stream_ended_in_the_middle_of_was_never_said(rest: bytes) -> None:
    """Whoever wrote it has died over it: that is the news, and not that it is no JSON."""
    read, write = os.pipe()
    stream = FrameStream(file_source(read), file_sink(os.open(os.devnull, os.O_WRONLY)))
    os.write(write, b"{}\n" + rest)
    os.close(write)

    assert await stream.receive() == [b"{}"]
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    await stream.aclose()


@pytest.mark.parametrize("last", [b'{"id": 1}', b"[]\r", b"[" * 100_000], ids=["an object", "a batch", "too deep"])
async def test_a_whole_last_message_needs_no_newline(last: bytes) -> None:
    read, write = os.pipe()
    stream = FrameStream(file_source(read), file_sink(os.open(os.devnull, os.O_WRONLY)))
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, _write_all, write, last)

        assert await stream.receive() == [last.removesuffix(b"\r")]
    await stream.aclose()


def _write_all(fd: int, data: bytes) -> None:
    with os.fdopen(fd, "wb") as file:
        file.write(data)
