"""`dedalus-mcp trace --proxy`: a host and its server do not notice, and every frame is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp import MCPClient, StdioServer
from tests.sources import PACKAGES

SERVER = """
from dedalus_mcp import MCPServer, tool
@tool
async def add(a: int, b: int) -> int:
    return a + b
server = MCPServer("behind")
server.collect(add)
server.run()
"""
TIMEOUT = 30
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root) for root in PACKAGES.values())}


def between(*command: str, options: tuple[str, ...] = ()) -> list[str]:
    return [sys.executable, "-m", "dedalus_mcp", "trace", "--proxy", *options, "--", *command]


def piped(command: list[str], input: bytes) -> Any:
    return subprocess.run(command, input=input, capture_output=True, env=PATHS, timeout=TIMEOUT, check=False)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the loop of the program between is its own
async def test_a_client_talks_to_the_server_as_if_nothing_were_between(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    command = between(sys.executable, "-c", SERVER, options=("--json", "--output", str(trace)))

    async with MCPClient.connect(StdioServer(command[0], command[1:], env=PATHS)) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"

    told = [json.loads(line) for line in trace.read_text().splitlines()]
    assert ("result", "tools/call") in {(each["kind"], each.get("method")) for each in told}
    assert told[-1] | {"at_ms": 0} == {
        "connection": 1, "at_ms": 0, "from": "server", "kind": "ended", "message": "exit code 0"
    }  # fmt: skip


def test_bytes_pass_untouched_whatever_they_are() -> None:
    """Blank lines, carriage returns, broken UTF-8, and a last line without its end."""
    said = b'{"id":1,"method":"a"}\r\n\n\xff\xfe\n  {"id" : 1, "result":{}}\nrest' + b"x" * 300_000

    done = piped(between("cat"), said)

    assert done.stdout == said
    assert done.returncode == 0
    assert b"junk" in done.stderr


def test_the_exit_code_of_the_server_is_ours() -> None:
    assert piped(between("sh", "-c", "exit 7"), b"").returncode == 7
    assert piped(between("sh", "-c", "kill -9 $$"), b"").returncode == 137


def test_a_server_that_cannot_be_started_is_told() -> None:
    done = piped(between("no-such-program"), b"")

    assert done.returncode == 3
    assert b"no-such-program" in done.stderr
    assert done.stdout == b""


def test_a_server_that_closes_its_stdout_and_stays_is_ended() -> None:
    done = piped(between("sh", "-c", "exec >&-; trap '' TERM; while :; do sleep 0.05; done"), b"")

    assert done.returncode == 137


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_sigterm_reaches_the_server_which_ends_as_it_likes() -> None:
    program = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    command = between("sh", "-c", program)

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=PATHS) as process:
        assert process.stdout is not None, "piped"
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        rest = process.stdout.read()

        assert process.wait(TIMEOUT) == 9
        assert rest == b"bye\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_sigterm_ends_the_wait_for_what_a_dead_server_has_left_behind() -> None:
    command = between("sh", "-c", "sleep 60 & echo $!; exit 4")

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=PATHS) as process:
        assert process.stdout is not None, "piped"
        left = int(process.stdout.readline())
        try:
            for _ in range(TIMEOUT * 10):  # until it is known to be dead
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
                    break
        finally:
            os.kill(left, signal.SIGKILL)

        # asyncio loses the code of a child that was looked at as it ended; the last SIGTERM may find nobody who hears
        assert process.returncode in (4, 255, -signal.SIGTERM)
