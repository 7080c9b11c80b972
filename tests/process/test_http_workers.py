"""Several processes behind one port: all of them answer, one that dies is replaced, and none is left in the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]
import pytest

from dedalus_mcp import MCPServer
from dedalus_mcp_transports.http_workers import MAX_FAILURES
from tests.interaction.raw import envelope
from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED
from tests.process.http_client import MODERN, client_at
from tests.process.test_http_program import Program, running
from tests.sources import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")

WORKERS: dict[str, Any] = {"workers": 2, "state_keys": ["k" * 32]}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def workers_of(program: Program) -> list[psutil.Process]:
    """Its workers, once both are there."""
    parent = psutil.Process(program.process.pid)
    until(lambda: len(parent.children()) == 2)
    found: list[psutil.Process] = parent.children()
    return found


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_client_is_served_by_whichever_process_is_free(log: Path, tmp_path: Path, revision: str) -> None:
    """While one worker does nothing else than to hold its event loop, the other one answers the same client."""
    holds, until_then = tmp_path / "holds", tmp_path / "until"
    with running(log, **WORKERS) as program:
        url = program.url
        workers = workers_of(program)
        async with client_at(url, revision) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(_hold, url, revision, holds, until_then)
                await anyio.to_thread.run_sync(until, lambda: holds.exists() and holds.read_text())
                async with client_at(url, revision) as another:
                    assert int(await another.tool(1, "pid")) in _without(holds, workers)
                until_then.touch()
            assert int(await client.tool(2, "pid")) in {worker.pid for worker in workers}
        program.process.terminate()
        assert (await program.ends())[0] == 0
    assert all_gone(workers)


def _without(holds: Path, workers: list[psutil.Process]) -> set[int]:
    """The processes of the workers but for the one that says here that it is busy."""
    return {worker.pid for worker in workers} - {int(holds.read_text())}


async def _hold(url: str, revision: str, holds: Path, until_then: Path) -> None:
    async with client_at(url, revision) as client:
        await client.tool(1, "hold_the_loop", says=str(holds), until=str(until_then))


async def test_a_worker_that_is_killed_is_replaced(log: Path) -> None:
    with running(log, **WORKERS) as program:
        url = program.url
        first, second = workers_of(program)
        first.kill()
        until(lambda: not first.is_running())
        workers = workers_of(program)

        assert second in workers
        async with client_at(url, "2025-11-25") as client:
            assert int(await client.tool(1, "pid")) in {worker.pid for worker in workers}
        program.process.terminate()
        code, said = await program.ends()

    assert code == 0
    assert [line for line in said if "by signal 9; another follows" in line]
    assert said[-1] == "returned"
    assert all_gone([first, *workers])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_all_workers_finish_what_runs_and_then_the_program_goes_on(log: Path, number: signal.Signals) -> None:
    with running(log, **WORKERS) as program:
        url, workers = program.url, workers_of(program)
        async with client_at(url, MODERN) as client, client.stream(1, "finish_in", seconds=0.3) as call:
            await call.message()
            program.process.send_signal(number)
            (reply,) = await call.rest()

            assert reply["result"]["content"][0]["text"] == "finished"
        code, lines = await program.ends()
        assert (code, lines[-1]) == (0, "returned")
        assert lines.count("entered") == lines.count("left") > 0  # a worker may be told before it has begun
    assert all_gone(workers)


async def test_ctrl_c_in_a_terminal_ends_everything_in_order(log: Path) -> None:
    """A terminal sends SIGINT to every process of the group; only the supervisor says what it means."""
    with running(log, {"start_new_session": True}, **WORKERS) as program:
        url, workers = program.url, workers_of(program)
        async with client_at(url, MODERN) as client, client.stream(1, "finish_in", seconds=0.3) as call:
            await call.message()
            for process in (*workers, program.process):
                process.send_signal(signal.SIGINT)
            (reply,) = await call.rest()

            assert reply["result"]["content"][0]["text"] == "finished"
        code, lines = await program.ends()
        assert (code, lines[-1]) == (0, "returned")
        assert lines.count("entered") == lines.count("left") > 0  # a worker may be told before it has begun
    assert all_gone(workers)


async def test_a_second_interrupt_ends_it_at_once(log: Path) -> None:
    with running(log, drain_seconds=1000.0, **WORKERS) as program:
        url, workers = program.url, workers_of(program)
        async with client_at(url, MODERN) as client, client.stream(1, "never_ends") as call:
            await call.message()
            program.process.send_signal(signal.SIGINT)
            until(lambda: sum(not worker.is_running() for worker in workers) == 1)  # the idle one has ended
            program.process.send_signal(signal.SIGINT)

            assert (await program.ends())[0] == 0
    assert all_gone(workers)


async def test_workers_whose_supervisor_is_killed_end_by_themselves(log: Path) -> None:
    with running(log, **WORKERS) as program:
        assert program.url
        workers = workers_of(program)
        program.process.kill()
        program.process.wait()

        until(lambda: all_gone(workers))


@pytest.mark.parametrize("keys", [{}, {"state_keys": []}], ids=str)
async def test_workers_without_keys_refuse_to_start_and_say_why(log: Path, keys: dict[str, Any]) -> None:
    with running(log, workers=2, **keys) as program:
        code, said = await program.ends()

    assert code == 1
    assert said[-1].startswith("ValueError: workers=2 needs state_keys=[...]: any worker may get the next request")


async def test_processes_are_not_forked_from_a_running_loop() -> None:
    with pytest.raises(ValueError, match=r"workers= goes with MCPServer\.run"):
        await MCPServer("test").serve("streamable-http", port=0, workers=2)


async def test_a_call_that_asks_goes_on_though_the_worker_that_asked_is_gone(log: Path) -> None:
    with running(log, **WORKERS) as program:
        url, workers = program.url, workers_of(program)
        params: dict[str, Any] = {"name": "asks", "arguments": {}}
        params["_meta"] = envelope(MODERN, {"elicitation": {}})
        names = {"mcp-method": "tools/call", "mcp-name": "asks"}
        async with client_at(url, MODERN) as client:
            message = {"id": 1, "method": "tools/call", "params": params}
            asked = (await client.post(message, **names)).json()["result"]
        (asker,) = (int(line.split()[1]) for line in program.said.splitlines() if line.startswith("asks "))
        assert asker in {worker.pid for worker in workers}
        psutil.Process(asker).kill()
        until(lambda: not psutil.pid_exists(asker))
        (key,) = asked["inputRequests"]
        params["inputResponses"] = {key: {"action": "accept", "content": {"sure": True}}}
        params["requestState"] = asked["requestState"]
        async with client_at(url, MODERN) as client:
            message = {"id": 2, "method": "tools/call", "params": params}
            result = (await client.post(message, **names)).json()["result"]

        said, pid = result["content"][0]["text"].split()
        assert (said, int(pid) != asker) == ("accept", True)


# The supervisor, with other work than to serve.


@contextmanager
def forking(what: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "error", "-m", "tests.process.forking", what]
    with subprocess.Popen(command, env={**INHERITED, **ENV}, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ready(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its two workers, once they say that they are ready."""
    assert process.stderr is not None
    found: list[psutil.Process] = []
    while len(found) < 2:
        word, _, pid = process.stderr.readline().partition(" ")
        if word == "ready":
            found.append(psutil.Process(int(pid)))
    return found


def test_work_that_fails_again_and_again_is_given_up() -> None:
    with forking("dies") as process:
        _, said = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert said.splitlines()[-1].count(f" ended {MAX_FAILURES} times in a row, each time within 10 seconds") == 1
    assert MAX_FAILURES <= said.splitlines().count("began") <= 2 * MAX_FAILURES
    assert "KeyError: 'no luck'" in said


def test_a_worker_that_will_not_end_is_killed() -> None:
    with forking("stubborn") as process:
        workers = ready(process)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert "workers have not ended in 0.3 seconds, and are killed" in said
    assert said.endswith("returned\n")
    assert all_gone(workers)


def test_a_worker_that_ends_though_nobody_told_it_to_is_replaced() -> None:
    with forking("ends") as process:
        first, second = ready(process)
        first.terminate()
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
        process.terminate()
        process.communicate(timeout=PATIENCE)

    assert said[0].endswith("ended with exit code 0; another follows\n")
    assert said[1] == "began\n"
    assert process.returncode == 0
    assert all_gone([first, second])
