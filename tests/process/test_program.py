"""`MCPServer.run`: a whole program, on a bad day."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "transports"), os.environ.get("PYTHONPATH", "")]),
}
TIMEOUT = 20

SERVER = """
import logging, sys, threading
import anyio
from dedalus_mcp import MCPServer, get_context, tool

logging.basicConfig(level=logging.INFO)
server = MCPServer("program")
with server.binding():
    @tool
    async def say(how):
        if how == "log":
            logging.info("x" * 200_000)
        elif how == "print":
            print("x" * 200_000)
        elif how == "old stdout":
            sys.__stdout__.write("x" * 200_000)
        else:
            raise RuntimeError("x" * 200_000)

    @tool
    async def never_ends():
        await get_context().info("begun")
        while True:
            try:
                await anyio.sleep_forever()
            except BaseException:
                pass

    @tool
    def stuck():
        anyio.from_thread.run(get_context().info, "begun")
        server_is_gone.wait()

server_is_gone = threading.Event()
server.run()
"""

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class Program:
    """A running server; every read is bounded by `running`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.ask("initialize", **INITIALIZE)

    def begin(self, method: str, **params: Any) -> None:
        assert self.process.stdin is not None
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(call).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, **params: Any) -> Any:
        self.begin(method, **params)
        return self.hear()


@contextmanager
def running(*, stderr: bool = True) -> Generator[Program]:
    command = ["sh", "-c", 'exec "$0" "$@"' + ("" if stderr else " 2>&-"), sys.executable, "-c", SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=ENV) as process:
        alarm = threading.Timer(TIMEOUT, process.kill)
        alarm.start()
        try:
            yield Program(process)
        finally:
            alarm.cancel()
            process.kill()


@pytest.mark.parametrize("how", ["log", "print", "old stdout", "traceback"])
def test_calls_are_answered_though_nobody_reads_stderr(how: str) -> None:
    """B152."""
    with running() as program:
        for _ in range(3):
            assert "result" in program.ask("tools/call", name="say", arguments={"how": how})
        program.process.stdin.close()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]

        assert program.process.wait(TIMEOUT) == 0


@pytest.mark.parametrize("end", ["end of stdin", "signal"])
@pytest.mark.parametrize(("tool", "stderr"), [("never_ends", True), ("stuck", True), ("stuck", False)])
def test_nothing_that_a_tool_does_keeps_the_process_alive(tool: str, end: str, *, stderr: bool) -> None:
    """B050: also a tool that swallows its cancellation, a thread, and a process without stderr."""
    with running(stderr=stderr) as program:
        assert program.ask("tools/call", name=tool)["params"]["data"] == {"msg": "begun"}
        if end == "signal":
            program.process.send_signal(signal.SIGTERM)
        else:
            program.process.stdin.close()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]

        assert program.process.wait(TIMEOUT) == 0
