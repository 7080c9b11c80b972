"""How the child of a `StdioServer` ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import anyio
import psutil  # type: ignore[import-untyped]
import pytest

from dedalus_mcp.transport import Duplex
from tests.process.stdio_children import ECHO, ORPHANS, TIMEOUT, gone, holdings, opened, python, take

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('[]', flush=True); time.sleep(600)"
grandchild = subprocess.Popen([sys.executable, "-c", child])
print(grandchild.pid, flush=True)
time.sleep(600)
"""

WELL_BEHAVED = """
import signal, sys
def say(number, frame):
    print("signal", number, file=sys.stderr, flush=True)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, say)
print("{}", flush=True)
sys.stdin.read()
print("x" * 1_000_000)   # fills the pipe: somebody has to read it
print("cleaned up", file=sys.stderr)
"""


@pytest.fixture(autouse=True)
async def nothing_is_left(anyio_backend: str) -> AsyncGenerator[None]:
    await anyio.lowlevel.checkpoint()
    before = holdings()
    yield
    assert holdings() == before


async def test_a_well_behaved_server_gets_no_signal_and_may_finish_writing() -> None:
    """B061, STDIO-13."""
    said: list[str] = []
    async with opened(python(WELL_BEHAVED, stderr=said.append, grace=TIMEOUT)) as server:
        await take(server, 1)

    assert said == ["cleaned up"]


async def test_a_server_that_ignores_the_end_of_stdin_is_terminated() -> None:
    """STDIO-13."""
    said: list[str] = []
    code = """
import signal, sys, time
def end(*_):
    print("terminated", file=sys.stderr)
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("{}", flush=True)
time.sleep(600)
"""
    async with opened(python(code, stderr=said.append, grace=0.1)) as server:
        await take(server, 1)

    assert said == ["terminated"]


def children() -> set[int]:
    """The processes that this one has started, those of other tests among them."""
    return {child.pid for child in psutil.Process().children()}


async def test_a_server_that_ignores_everything_is_killed_with_its_children() -> None:
    """B061, STDIO-13."""
    before = children()
    connection = await python(STUBBORN, grace=0.1).open()
    frames = sorted(frame for frame in await take(connection, 2) if isinstance(frame, bytes))
    born = children() - before
    with anyio.fail_after(20):
        await connection.aclose()

    assert frames[1] == b"[]"  # the grandchild ignores SIGTERM by now
    assert gone(int(frames[0]))
    assert len(born) == 1
    assert all(map(gone, born))


async def test_children_that_a_server_leaves_behind_are_ended() -> None:
    """B061."""
    async with opened(python(ORPHANS)) as server:
        (pid,) = await take(server, 1)

    assert isinstance(pid, bytes)
    assert gone(int(pid))


async def test_any_task_may_use_and_close_it() -> None:
    connections: list[Duplex] = []

    async def start() -> None:
        connections.append(await python(ECHO).open())

    async def use() -> None:
        await connections[0].send([b"{}"])
        assert await take(connections[0], 1) == [b"{}"]

    for step in (start, use):
        async with anyio.create_task_group() as group:
            group.start_soon(step)
    async with anyio.create_task_group() as group:
        for _ in range(10):  # B100
            group.start_soon(connections[0].aclose)


async def test_cancelled_opening_leaves_nothing() -> None:
    """B097."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await python(ECHO).open()

    assert scope.cancelled_caught


@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancelled_use_leaves_nothing(stubborn: bool) -> None:
    """B097: cancelled while it receives, while it sends, and while it closes."""
    pids: list[int] = []

    async def use() -> None:
        before = children()
        connection = await python(STUBBORN if stubborn else ECHO, grace=0.1 if stubborn else TIMEOUT).open()
        try:
            pids.extend(children() - before)
            async with anyio.create_task_group() as inner:
                inner.start_soon(connection.send, [b"x" * 10_000_000])
                while True:
                    await connection.receive()
        finally:
            await connection.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        while not pids:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert gone(pids[0])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_by_asyncio_itself_leaves_nothing() -> None:
    """B097: `Task.cancel` breaks the shield of anyio; the server is killed then, on the spot."""
    before = children()
    connection = await python(STUBBORN, grace=TIMEOUT).open()
    pids = list(children() - before)
    await take(connection, 2)
    pids += [child.pid for child in psutil.Process(pids[0]).children()]
    closing = asyncio.ensure_future(connection.aclose())
    await anyio.wait_all_tasks_blocked()
    closing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await closing
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


async def test_it_leads_a_session_of_its_own() -> None:
    """So that Ctrl-C in a terminal reaches the client alone."""
    code = "import json, os; print(json.dumps([os.getsid(0), os.getpgid(0)]))"
    before = children()
    async with opened(python(code)) as server:
        (pid,) = children() - before
        assert await take(server, 1) == [f"[{pid}, {pid}]".encode()]
