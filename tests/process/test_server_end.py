"""How a server process ends: soon, quietly, with its cleanup done, whatever runs in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED, Child, child
from tests.sources import ROOT

BUSY = "tests.process.busy_server"
SOON = 4.0
"""Seconds in which a server ends by itself, with nothing running: twice what is promised, on a busy machine."""

ENDED = (0, 128 + signal.SIGINT, 128 + signal.SIGTERM)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def until(condition: Callable[[], bool]) -> None:
    """Wait for another process to do something that only a look can tell."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def began(running: Child, marks: Path, what: str, name: str, **arguments: object) -> None:
    running.say(id=what, method="tools/call", params={"name": name, "arguments": arguments})
    until(lambda: f"{what} began" in marks.read_text())


@pytest.mark.parametrize("before", ["nothing", "handshake", "modern"])
def test_end_of_stdin_ends_an_idle_server(before: str, marks: Path) -> None:
    """B050: exit code 0, cleanup done, a background task ended, nothing on stderr but what was printed."""
    with child(BUSY, str(marks)) as running:
        if before == "handshake":
            running.open()
        until(marks.exists)
        running.close_stdin()

        assert running.wait(SOON) == 0
    assert marks.read_text().splitlines()[1:] == ["background over", "down", "returned"]
    assert running.stderr.split() == ["before", "serving"]
    assert len(running.lines) == (1 if before == "handshake" else 0)


def test_end_of_stdin_lets_short_calls_finish_and_cancels_the_others(marks: Path) -> None:
    """B047, B050: the drain is bounded, and the cleanup of what is cancelled runs."""
    with child(BUSY, str(marks)) as running:
        running.open()
        began(running, marks, "hold", "hold")
        began(running, marks, "late", "late", seconds=0.1)
        running.close_stdin()

        assert running.reply("late")["result"]["content"][0]["text"] == "in time"
        assert running.wait(SOON) == 0
    assert "hold over\nbackground over\ndown\nreturned\n" in marks.read_text()
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("seconds", [1.0, 60.0], ids=["shortly", "long"])
def test_a_thread_that_blocks_does_not_keep_the_server_alive(seconds: float, marks: Path) -> None:
    """B050: it gets a little time to finish, and is then left behind."""
    with child(BUSY, str(marks)) as running:
        running.open()
        began(running, marks, "block", "block", seconds=seconds)
        running.close_stdin()

        assert running.wait(SOON + 2) == 0
    assert "down\n" in marks.read_text()
    assert ("block over" in marks.read_text()) == (seconds < 10)
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize(
    ("busy", "number"),
    [("idle", signal.SIGINT), ("hold", signal.SIGINT), ("hold", signal.SIGTERM), ("block", signal.SIGTERM)],
)
def test_one_signal_ends_the_server_quietly(number: signal.Signals, busy: str, marks: Path) -> None:
    """B052: with a pipe kept open; what runs is cancelled, and a thread that blocks is left behind."""
    with child(BUSY, str(marks)) as running:
        running.open()
        if busy != "idle":
            began(running, marks, busy, busy, **({"seconds": 60} if busy == "block" else {}))
        running.process.send_signal(number)

        assert running.wait(SOON) in ENDED
    assert "background over\ndown\n" in marks.read_text()
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("start", [[], ["--never-up"]], ids=["up", "starting"])
def test_one_signal_is_enough_in_a_terminal(number: signal.Signals, start: list[str], marks: Path) -> None:
    """B052: nobody has said a word yet; also while the lifespan has not begun to serve."""
    master, slave = os.openpty()
    try:
        with child(BUSY, str(marks), *start, stdin=slave) as running:
            until(lambda: marks.exists() and "up" in marks.read_text())
            running.process.send_signal(number)

            assert running.wait(SOON) in ENDED
    finally:
        os.close(master)
        os.close(slave)
    assert "background over\ndown\n" in marks.read_text()
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_a_server_on_trio_ends_likewise(number: signal.Signals | None, marks: Path) -> None:
    """B050, B052."""
    with child(BUSY, str(marks), "--trio") as running:
        running.open()
        began(running, marks, "hold", "hold")
        if number is None:
            running.close_stdin()
        else:
            running.process.send_signal(number)

        assert running.wait(SOON) in ENDED
    assert "hold over\nbackground over\ndown\n" in marks.read_text()
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_question_in_the_cleanup_of_a_call_keeps_no_server_alive(number: signal.Signals | None) -> None:
    """B050, B052: there is nobody left to ask, and the call is told so at once."""
    with child("tests.interaction.server") as running:
        running.open(capabilities={"elicitation": {}})
        running.say(id=1, method="tools/call", params={"name": "ask_at_the_end", "arguments": {"key": "k"}})
        running.tool(2, "until", what="k began")
        if number is None:
            running.close_stdin()
        else:
            running.process.send_signal(number)

        assert running.wait(SOON) in ENDED
    assert "Traceback" not in running.stderr


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-m", "tests.process.busy_server", sys.argv[1]], stdin=subprocess.PIPE)
time.sleep(600)
"""


def test_a_server_whose_host_was_killed_ends_too(marks: Path) -> None:
    """B050: no orphan is left."""
    host = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(marks)],
        cwd=ROOT,
        env={**INHERITED, **ENV},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: marks.exists() and marks.read_text().startswith("up ") and marks.read_text().endswith("\n"))
        server = psutil.Process(int(marks.read_text().split()[1]))
    finally:
        host.kill()
        host.wait()
    until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    assert "down" in marks.read_text()


def test_a_client_that_does_not_read_any_more_ends_the_server(marks: Path) -> None:
    """B047: a broken stdout ends it like the end of stdin."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", BUSY, str(marks)],
        cwd=ROOT,
        env={**INHERITED, **ENV},
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    os.close(reader)
    try:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        with process.stderr as stderr:
            said = stderr.read()
        assert process.wait(SOON + 2) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
    assert b"Traceback" not in said
    assert "down" in marks.read_text()
