"""A client and its server process: whatever the process does, the client learns of it, and nothing is left behind."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, RequestTimeout, StdioServer
from tests.client.counting import back_to, living_tasks
from tests.interaction.reach import PATIENCE, script, text_of

SCRIPT = Path(__file__).with_name("scripted_server.py")


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The transport has its own tests on both; here it is the process that matters."""
    return str(request.param)


def server(way: str, *args: str, **settings: Any) -> StdioServer:
    settings.setdefault("stderr", subprocess.DEVNULL)
    return StdioServer(sys.executable, ["-I", "-S", str(SCRIPT), way, *args], **settings)


@pytest.mark.parametrize("way", ["plain", "crlf", "noisy", "exits-at-probe", "silent"])
async def test_a_client_gets_on_with_servers_of_many_ways(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """STDIO-03, VER-10, B055, B065: legacy ones that refuse the probe, ignore it or end at it; noise is skipped."""
    caplog.set_level(logging.WARNING)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server(way), probe_timeout=0.2 if way == "silent" else 5.0) as client:
            assert client.revision == "2025-06-18"
            assert text_of(await client.call_tool("a")) == "yes"
            assert text_of(await client.call_tool("a")) == "yes"
            await client.ping()
    assert (len(caplog.records) > 0) == (way == "noisy")


@pytest.mark.parametrize("revision", [None, "2025-06-18", "2026-07-28"])
async def test_a_server_that_exits_before_the_handshake_is_told_with_its_last_words(revision: str | None) -> None:
    """B034, B062."""
    with anyio.fail_after(PATIENCE):
        with pytest.raises(ConnectionLost) as lost:
            async with MCPClient.connect(server("exits"), revision=revision, timeout=None):
                raise AssertionError("connected")
    for part in ("exited with code 3", "boom", sys.executable):
        assert part in str(lost.value)


async def test_a_program_that_exits_at_once_is_told_likewise() -> None:
    """B062."""
    target = StdioServer(sys.executable, ["-c", "import sys; sys.exit('boom')"], stderr=subprocess.DEVNULL)
    with anyio.fail_after(PATIENCE):
        with pytest.raises(ConnectionLost, match="exited with code 1") as lost:
            await MCPClient.connect(target)
    assert "boom" in str(lost.value)


@pytest.mark.parametrize("command", ["no-such-binary", "/no/such/binary", str(SCRIPT)])
async def test_a_program_that_cannot_be_started_is_named(command: str) -> None:
    """B062, B155."""
    with pytest.raises(OSError, match=command):
        await MCPClient.connect(StdioServer(command))


async def test_a_server_that_is_killed_in_a_call_fails_it_and_all_after_it() -> None:
    """B034: without a timeout, and the error says by what."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server("killed-at-call"), timeout=None) as client:
            with pytest.raises(ConnectionLost, match=r"SIGKILL|signal 9|-9"):
                await client.call_tool("x")
            with pytest.raises(ConnectionLost):
                await client.call_tool("x")


async def test_a_server_that_exits_at_a_call_fails_it_and_all_after_it() -> None:
    """B034: with the exit code and the last lines; every open call, and at once."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server("exits-at-call"), timeout=None) as client:

            async def lost() -> None:
                with pytest.raises(ConnectionLost, match=r"exited with code 4(?s:.)*fatal: no more"):
                    await client.call_tool("a")

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(lost)
            await lost()
            with pytest.raises(ConnectionLost):
                await client.list_tools()


@pytest.mark.parametrize("revision", [None, "2025-06-18"])
async def test_a_server_that_says_nothing_at_all_runs_out_of_time(revision: str | None) -> None:
    """B034, B041: and is ended."""
    before = set(psutil.Process().children())
    with anyio.fail_after(PATIENCE):
        with pytest.raises(RequestTimeout, match="initialize"):
            await MCPClient.connect(server("sleeps", grace=0.1), revision=revision, timeout=0.2, probe_timeout=0.1)
    assert set(psutil.Process().children()) <= before


async def test_waiting_for_so_long_with_asyncio_leaves_no_server_and_a_quiet_loop() -> None:
    """B097: a server that never answers, and a connection without any timeout of its own."""
    before, tasks = set(psutil.Process().children()), living_tasks()
    with anyio.fail_after(PATIENCE):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(MCPClient.connect(server("sleeps", grace=0.1), timeout=None, probe_timeout=60), 0.2)
        assert set(psutil.Process().children()) <= before
        await back_to(tasks)
        await anyio.wait_all_tasks_blocked()
        async with MCPClient.connect(server("plain")) as client:
            await client.ping()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_each_step_of_a_client_may_be_in_a_task_of_its_own_in_any_order(revision: str) -> None:
    """B094: opened in one task, used in another, closed in a third, and not last in, first out."""
    target, tasks = script("tests.interaction.server"), living_tasks()

    async def connect() -> MCPClient:
        return await MCPClient.connect(target, revision=revision, tools_list_changed=print)

    with anyio.fail_after(PATIENCE):
        first, second = [await asyncio.create_task(connect()) for _ in range(2)]
        for client in (first, second):
            assert text_of(await asyncio.create_task(client.call_tool("echo", {"text": "x"}))) == "x"
        await asyncio.create_task(first.close())
        assert text_of(await second.call_tool("echo", {"text": "y"})) == "y"
        await asyncio.create_task(second.close())
    await back_to(tasks)


async def test_closing_ends_a_server_that_will_not_go_and_its_children(tmp_path: Path) -> None:
    """B061: it ignores the end of its stdin and SIGTERM, and has a child."""
    pids = tmp_path / "pids"
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server("stubborn", str(pids), grace=0.2), revision="2025-06-18") as client:
            await client.ping()
            processes = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
            assert all(process.is_running() for process in processes)
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


async def test_a_server_that_stops_reading_blocks_nobody_but_its_callers() -> None:
    """B059, B157: a call that cannot be written can be cancelled, and closing is bounded."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server("stops-reading", grace=0.1), revision="2025-06-18") as client:
            with anyio.move_on_after(0.2) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "a")
                    for _ in range(4):
                        group.start_soon(client.call_tool, "a", {"text": "x" * 4_000_000})
            assert scope.cancelled_caught


async def test_a_client_may_be_closed_from_any_task() -> None:
    """B023: open calls fail at once; closing again is nothing."""
    lost: list[Exception] = []

    async def hold(client: MCPClient) -> None:
        try:
            await client.call_tool("hold", {"key": "k"})
        except ConnectionLost as error:
            lost.append(error)

    with anyio.fail_after(PATIENCE):
        client = await MCPClient.connect(script("tests.interaction.server"))
        async with anyio.create_task_group() as group:
            group.start_soon(hold, client)
            await client.call_tool("until", {"what": "k began"})
            group.start_soon(client.close)
            group.start_soon(client.close)
        await client.close()
    assert len(lost) == 1


async def test_timeouts_from_outside_come_out_as_asyncios_own() -> None:
    """B157."""
    async with MCPClient.connect(script("tests.interaction.server")) as client:
        with pytest.raises(TimeoutError) as expired:
            async with asyncio.timeout(0.1):
                await client.call_tool("hold", {"key": "k"})
        assert not isinstance(expired.value, RequestTimeout)
        task = asyncio.ensure_future(client.call_tool("hold", {"key": "k2"}))
        await client.call_tool("until", {"what": "k2 began"})
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await client.call_tool("until", {"what": "k2 cancelled"})
