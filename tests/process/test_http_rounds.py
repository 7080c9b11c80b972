"""Calls that ask, served by several processes: any of them goes on, also when another was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.interaction.raw import envelope
from tests.interaction.reach import ENV, PATIENCE
from tests.interaction.test_rounds import ABLE, MODERN, answering, text
from tests.process.child import INHERITED
from tests.process.ports import free_port, wait_until_it_listens
from tests.sources import ROOT


class Process:
    """One server process.

    Args:
        file: Where it writes what it does.
    """

    def __init__(self, file: Path) -> None:
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.process.rounds_server", str(self.port), str(file)],
            stdin=subprocess.DEVNULL,
            env={**INHERITED, **ENV},
            cwd=ROOT,
        )
        wait_until_it_listens(self.process, self.port)

    def call(self, **more: Any) -> Any:
        """Call the tool, or send its retry, and return the reply."""
        params = {"name": "buy", "arguments": {}, "_meta": envelope(MODERN, ABLE), **more}
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": "buy",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        url = f"http://127.0.0.1:{self.port}/mcp"
        return httpx.post(url, json=body, headers=headers, timeout=PATIENCE, trust_env=False).json()

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE)


@contextmanager
def two(file: Path) -> Generator[tuple[Process, Process]]:
    first, second = Process(file), Process(file)
    try:
        yield first, second
    finally:
        for each in (first, second):
            each.end(signal.SIGKILL)


@pytest.mark.parametrize("killed", [False, True], ids=["both alive", "the first killed between the rounds"])
def test_each_retry_reaches_the_other_process_and_the_step_runs_once(tmp_path: Path, *, killed: bool) -> None:
    """MRTR-22."""
    file = tmp_path / "did"
    with two(file) as (first, second):
        one = first.call()
        if killed:
            first.end(signal.SIGKILL)
        again = answering(one, seat=7)
        last = answering(second.call(**again), sure=1)
        end = (second if killed else first).call(**last)

        assert text(end) == f"7 1 {(second if killed else first).process.pid}"
    assert file.read_text() == "reserved 7\n"
