"""kill -9 of a server or of a client at each step of a question: who is left goes on, and nothing happens twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import psutil  # type: ignore[import-untyped]
import pytest
from anyio import to_thread

from dedalus_mcp import ConnectionLost, HttpServer, MCPClient, MCPConnectionError, StreamableHttp, types
from dedalus_mcp.run import Hosted
from dedalus_mcp.types.revisions import LEGACY
from dedalus_mcp_transports.http_sockets import listening
from dedalus_mcp_transports.http_stream import Reconnect
from tests.faults.program import MOMENTS, make
from tests.faults.scenes import left_on, until
from tests.faults.sweep import REVISIONS
from tests.interaction.reach import ENV, PATIENCE, script
from tests.process.child import INHERITED
from tests.process.ports import free_port, wait_until_it_listens
from tests.sources import ROOT

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

PROGRAM = "tests.faults.program"
BOUND = 3 * PATIENCE
"""Seconds for one moment: programs start in it."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "did").touch()
    return path


def noted(file: Path) -> Counter[str]:
    return Counter(file.read_text().splitlines())


def twice(file: Path) -> list[str]:
    return [line for line, count in noted(file).items() if count > 1]


def started(*args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", PROGRAM, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**INHERITED, **ENV},
        cwd=ROOT,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE)
    if process.stdout is not None:
        process.stdout.close()


# The server is killed.


class Killer:
    """Answers the questions of a server, and kills it meanwhile if that is the moment.

    Args:
        connected: Whether the client is, while it asks: then the question ends with the server.
    """

    def __init__(self, *, connected: bool) -> None:
        self._connected = connected
        self.moment = ""
        self.pid = 0
        self.asked: Counter[str] = Counter()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    async def __call__(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked[params.message] += 1
        if self.moment == "asked":
            self.kill()
            if self._connected:
                await anyio.sleep_forever()
        if self.moment == "travels":
            os.kill(self.pid, signal.SIGSTOP)  # the answer gets as far as the system
        return types.ElicitResult(action="accept", content={"confirm": True})


async def killed_in(client: MCPClient, killer: Killer, moment: str, file: Path) -> None:
    """Make a call during which its server is killed."""
    killer.moment = moment

    async def kill() -> None:
        if moment in ("before", "after"):
            await until(lambda: f"{moment} holds {moment}" in noted(file))
            killer.kill()
        elif moment == "travels":
            await until(lambda: psutil.Process(killer.pid).status() == psutil.STATUS_STOPPED)
            await anyio.wait_all_tasks_blocked()
            killer.kill()

    async with anyio.create_task_group() as group:
        group.start_soon(kill)
        with pytest.raises((ConnectionLost, MCPConnectionError)):
            await client.call_tool("ask", {"name": moment, "hold": moment})
    killer.moment = ""


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_on_stdio_that_is_killed_fails_the_call_at_once_and_another_takes_its_place(
    revision: str, file: Path
) -> None:
    """B034."""
    killer = Killer(connected=True)
    for moment in MOMENTS:
        with anyio.fail_after(BOUND):
            before = set(psutil.Process().children())
            target = script(PROGRAM, ["serve", str(file)])
            async with MCPClient.connect(target, revision=revision, elicitation=killer) as client:
                (child,) = set(psutil.Process().children()) - before
                killer.pid = child.pid
                if moment != MOMENTS[0]:  # this one takes the place of the one before
                    result = await client.call_tool("ask", {"name": f"next to {moment}"})
                    assert result.text == "done"
                await killed_in(client, killer, moment, file)
                assert client.ended is not None

    assert twice(file) == []
    assert max(killer.asked.values()) == 1


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_on_http_that_is_killed_fails_the_call_and_the_same_client_goes_on_with_the_next(
    revision: str, file: Path
) -> None:
    """B067."""
    killer, port = Killer(connected=revision in LEGACY), free_port()
    target = StreamableHttp(f"http://127.0.0.1:{port}/mcp", reconnect=Reconnect(first=0.01, longest=0.05))
    async with AsyncExitStack() as stack:
        client: MCPClient | None = None
        for moment in MOMENTS:
            process = started("serve", str(file), str(port))
            stack.callback(end, process)
            killer.pid = process.pid
            with anyio.fail_after(BOUND):
                await to_thread.run_sync(wait_until_it_listens, process, port)
                if client is None:
                    connecting = MCPClient.connect(target, revision=revision, elicitation=killer)
                    client = await stack.enter_async_context(connecting)
                else:  # whoever was connected to the one that was killed
                    assert (await client.call_tool("ask", {"name": f"next to {moment}"})).text == "done"
                await killed_in(client, killer, moment, file)
                await to_thread.run_sync(process.wait)

    assert twice(file) == []
    assert max(killer.asked.values()) == 1


# The client is killed.


async def killed(client: subprocess.Popen[bytes], moment: str, has_noted: Callable[[str], object]) -> None:
    """Kill a client at its moment."""
    if moment in ("before", "after"):
        await until(lambda: has_noted(f"{moment} holds {moment}"))
    else:
        assert client.stdout is not None
        assert await to_thread.run_sync(client.stdout.readline) == b"asked\n"
    client.kill()
    await to_thread.run_sync(client.wait)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_on_stdio_whose_client_is_killed_cleans_up_and_ends(revision: str, file: Path) -> None:
    """B047, B050."""
    for moment in MOMENTS:
        client = started("ask", moment, revision, "serve", str(file))
        try:
            with anyio.fail_after(BOUND):
                await until(lambda: f"{moment} reserved" in noted(file))  # noqa: B023 - it waits
                (server,) = psutil.Process(client.pid).children()
                await killed(client, moment, lambda line: line in noted(file))
                await to_thread.run_sync(psutil.wait_procs, [server], PATIENCE)
            assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE, moment
            assert noted(file)[f"{moment} over"] == 1, moment
        finally:
            end(client)

    assert twice(file) == []


@asynccontextmanager
async def serving(note: Callable[[str], None]) -> AsyncGenerator[tuple[str, Callable[[], Awaitable[list[str]]]]]:
    """Serve in this process; return the address, and what tells what is left once nothing waits any more."""
    server = make(note)
    host = HttpServer(port=0, drain_seconds=0).serving(Hosted(server))
    with listening("127.0.0.1", 0) as sockets:
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve, sockets)
            await until(lambda: host.started)
            service = host._app._service()  # pyright: ignore[reportPrivateUsage]
            yield (
                f"http://127.0.0.1:{sockets[0].getsockname()[1]}/mcp",
                lambda: left_on(service, server.parkings.here()),
            )
            host.should_exit = True


@pytest.mark.parametrize("revision", REVISIONS)
async def test_nothing_is_left_on_a_server_on_http_of_a_client_that_was_killed(revision: str) -> None:
    """HTTP-41: what waits for it ends with the session, or with the time that a round has."""
    did: list[str] = []
    async with serving(did.append) as (url, left):
        for moment in MOMENTS:
            client = started("ask", moment, revision, url)
            try:
                with anyio.fail_after(BOUND):
                    await killed(client, moment, did.__contains__)
                    assert await left() == [], moment
                    await until(lambda: f"{moment} over" in did)  # noqa: B023 - it waits
            finally:
                end(client)
        with anyio.fail_after(BOUND):
            async with MCPClient.connect(url, revision=revision, elicitation=Killer(connected=True)) as new:
                assert (await new.call_tool("ask", {"name": "new"})).text == "done"

    assert [line for line, count in Counter(did).items() if count > 1] == []
    assert {f"{moment} over" for moment in MOMENTS} < set(did)
