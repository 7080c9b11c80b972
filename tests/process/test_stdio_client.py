"""`StdioServer` with real children: what they say when they die, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]
import pytest

from dedalus_mcp.transport import Duplex, Oversized
from dedalus_mcp_transports.stdio import StdioServer

TIMEOUT = 20

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('[]', flush=True); time.sleep(600)"
grandchild = subprocess.Popen([sys.executable, "-c", child])
print(grandchild.pid, flush=True)
time.sleep(600)
"""

ORPHANS = """
import subprocess, sys
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(grandchild.pid, flush=True)
sys.stdin.read()
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


def python(code: str, **options: Any) -> StdioServer:
    options.setdefault("stderr", subprocess.DEVNULL)
    return StdioServer(sys.executable, ["-c", code], **options)


@asynccontextmanager
async def opened(server: StdioServer) -> AsyncGenerator[Duplex]:
    with anyio.fail_after(TIMEOUT):
        connection = await server.open()
        try:
            yield connection
        finally:
            await connection.aclose()


async def take(connection: Duplex, count: int) -> list[bytes | Oversized]:
    frames: list[bytes | Oversized] = []
    while len(frames) < count:
        frames += await connection.receive()
    return frames


def gone(pid: int) -> bool:
    """Wait until a process has ended; a zombie that process 1 has not reaped yet has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for _ in range(TIMEOUT * 20):
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(0.05)
                return True
        return False
    return True


def holdings() -> tuple[int, list[str], list[psutil.Process]]:
    """What a leak would add to: descriptors, threads of ours, children."""
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("dedalus")]
    return len(list(Path("/proc/self/fd").iterdir())), threads, psutil.Process().children()


@pytest.fixture(autouse=True)
async def nothing_is_left(anyio_backend: str) -> AsyncGenerator[None]:
    await anyio.lowlevel.checkpoint()
    before = holdings()
    yield
    assert holdings() == before


async def test_frames_go_to_a_child_and_back() -> None:
    async with opened(python(ECHO)) as server:
        await server.send([b'{"a":1}', b'{"b":2}'])

        assert await take(server, 2) == [b'{"a":1}', b'{"b":2}']


async def test_eight_mebibytes_go_to_a_child_and_back() -> None:
    """B059."""
    big = b'"' + b"x" * (8 << 20) + b'"'
    async with opened(python(ECHO)) as server, anyio.create_task_group() as group:
        group.start_soon(server.send, [big])

        assert await take(server, 1) == [big]


async def test_a_frame_above_the_limit_is_reported_and_the_next_one_arrives() -> None:
    """B059."""
    async with opened(python(ECHO, max_frame=1000)) as server:
        await server.send([b"x" * 100_000, b"{}"])

        assert await take(server, 2) == [Oversized(1000, b"x" * 512, b"x" * 512), b"{}"]


async def test_other_line_breaks_carriage_returns_and_blank_lines() -> None:
    """B058, B065."""
    text = '"a\u2028b\u2029c\u0085d\x0b\x0c\x1c"'
    code = f"import sys; sys.stdout.buffer.write({text!r}.encode() + b'\\r\\n\\r\\n\\n[]')"
    async with opened(python(code)) as server:
        assert await take(server, 2) == [text.encode(), b"[]"]


async def test_a_child_that_dies_tells_its_exit_code_and_last_words() -> None:
    """B034."""
    code = "import os, sys; sys.stdin.readline(); print('one\\ntwo\\nthree', file=sys.stderr); os._exit(3)"
    async with opened(python(code)) as server:
        await server.send([b"{}"])

        for _ in range(2):
            with pytest.raises(anyio.EndOfStream) as caught:
                await server.receive()
            assert str(
                caught.value
            ) == f"the server {sys.executable!r} exited with code 3; the end of its stderr:\n" + ("one\ntwo\nthree")
        with pytest.raises(anyio.BrokenResourceError, match="exited with code 3; the end of its stderr:\none\ntwo"):
            await server.send([b"{}"])


async def test_a_child_that_exits_at_once_tells_why() -> None:
    """B062."""
    async with opened(python("import sys; sys.exit('boom')")) as server:
        with pytest.raises(anyio.EndOfStream, match=r"exited with code 1; the end of its stderr:\nboom$"):
            await server.receive()


async def test_a_signal_is_told_by_its_name() -> None:
    async with opened(python("import os; os.kill(os.getpid(), 9)")) as server:
        with pytest.raises(anyio.EndOfStream, match=r"was ended by SIGKILL$"):
            await server.receive()


async def test_a_child_that_only_closes_its_stdout_is_told_apart() -> None:
    async with opened(python("import os, sys; os.close(1); sys.stdin.read()")) as server:
        with pytest.raises(anyio.EndOfStream, match="closed its stdout and goes on running"):
            await server.receive()


async def test_the_last_words_are_bounded() -> None:
    code = "import sys; [print('x' * 200, i, file=sys.stderr) for i in range(10000)]; sys.exit(1)"
    async with opened(python(code)) as server:
        with pytest.raises(anyio.EndOfStream) as caught:
            await server.receive()

    assert len(str(caught.value)) < 2200
    assert str(caught.value).endswith("x 9999")


async def test_a_dead_child_is_noticed_while_its_own_child_holds_the_pipe() -> None:
    """B034: the end of the pipe alone would never come."""
    code = ORPHANS.replace("sys.stdin.read()", "sys.stdin.readline(); sys.exit(5)")
    async with opened(python(code)) as server:
        (pid,) = await take(server, 1)
        await server.send([b"{}"])

        with pytest.raises(anyio.EndOfStream, match="exited with code 5"):
            await server.receive()
    assert isinstance(pid, bytes)
    assert gone(int(pid))


@pytest.mark.parametrize("command", ["no-such-binary", "/no/such/binary"])
async def test_a_missing_command_is_named(command: str) -> None:
    """B062."""
    with pytest.raises(FileNotFoundError, match=command):
        await StdioServer(command).open()


async def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "server.txt").write_text("hello")
    with pytest.raises(PermissionError, match=r"server\.txt"):
        await StdioServer(str(tmp_path / "server.txt")).open()


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        await StdioServer(sys.executable, cwd=tmp_path / "nowhere").open()


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


async def test_a_server_that_ignores_everything_is_killed_with_its_children() -> None:
    """B061, STDIO-13."""
    connection = await python(STUBBORN, grace=0.1).open()
    frames = sorted(frame for frame in await take(connection, 2) if isinstance(frame, bytes))
    children = psutil.Process().children()
    with anyio.fail_after(5):
        await connection.aclose()

    assert frames[1] == b"[]"  # the grandchild ignores SIGTERM by now
    assert gone(int(frames[0]))
    assert all(gone(child.pid) for child in children)


async def test_children_that_a_server_leaves_behind_are_ended() -> None:
    """B061."""
    async with opened(python(ORPHANS)) as server:
        (pid,) = await take(server, 1)

    assert isinstance(pid, bytes)
    assert gone(int(pid))


async def test_only_harmless_variables_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    monkeypatch.setenv("LANG", "C.UTF-8")
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    async with opened(python(code, env={"MINE": "1", "LANG": "C"})) as server:
        (frame,) = await take(server, 1)

    assert isinstance(frame, bytes)
    assert b"SECRET_KEY" not in frame
    assert b'"PATH": ' in frame
    assert b'"MINE": "1"' in frame
    assert b'"LANG": "C"' in frame


async def test_the_directory_is_the_one_asked_for(tmp_path: Path) -> None:
    async with opened(python("import os, json; print(json.dumps(os.getcwd()))", cwd=tmp_path)) as server:
        assert await take(server, 1) == [f'"{tmp_path}"'.encode()]


def test_its_repr_holds_no_environment() -> None:
    assert "hunter2" not in repr(StdioServer("npx", ["x"], {"KEY": "hunter2"}))


SPEAK = "import sys; sys.stderr.buffer.write('é1\\n\\nzwei'.encode()); sys.stderr.flush(); sys.stdin.read()"


async def test_stderr_goes_to_a_function_line_by_line() -> None:
    """STDIO-05."""
    lines: list[str] = []
    async with opened(python(SPEAK, stderr=lines.append)):
        pass

    assert lines == ["é1", "zwei"]


@pytest.mark.parametrize("make", [io.StringIO, io.BytesIO], ids=["text", "bytes"])
async def test_stderr_goes_to_a_file(make: Callable[[], io.StringIO | io.BytesIO]) -> None:
    file = make()
    async with opened(python(SPEAK, stderr=file)):
        pass

    assert file.getvalue() in {"é1\n\nzwei", "é1\n\nzwei".encode()}


async def test_stderr_goes_to_ours(capfd: pytest.CaptureFixture[str]) -> None:
    async with opened(python(SPEAK, stderr=None)):
        pass

    assert capfd.readouterr() == ("", "é1\n\nzwei")


async def test_a_function_that_fails_is_left_alone_and_the_child_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(line: str) -> None:
        raise ValueError(line)

    code = "import sys; [print('x' * 1000, file=sys.stderr) for _ in range(1000)]; print('{}', flush=True)"
    async with opened(python(code, stderr=fail)) as server:
        assert await take(server, 1) == [b"{}"]

    assert [record.message for record in caplog.records] == ["the stderr of a server is not passed on any more"]


async def test_a_stderr_that_nobody_reads_does_not_stop_the_child() -> None:
    read, write = os.pipe()
    code = "import sys; [print('x' * 1000, file=sys.stderr) for _ in range(1000)]; print('{}', flush=True)"
    async with opened(python(code, stderr=write)) as server:
        assert await take(server, 1) == [b"{}"]
    os.close(read)
    os.close(write)


async def test_it_can_be_opened_again_and_again_and_side_by_side() -> None:
    """STDIO-16."""
    server = python(ECHO)
    async with opened(server) as first, opened(server) as second:
        await first.send([b"1"])
        await second.send([b"2"])
        assert (await take(first, 1), await take(second, 1)) == ([b"1"], [b"2"])
    async with opened(server) as third:
        await third.send([b"3"])
        assert await take(third, 1) == [b"3"]


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
        connection = await python(STUBBORN if stubborn else ECHO, grace=0.1 if stubborn else TIMEOUT).open()
        try:
            pids.append(psutil.Process().children()[0].pid)
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
    connection = await python(STUBBORN, grace=TIMEOUT).open()
    pids = [child.pid for child in psutil.Process().children()]
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
    async with opened(python(code)) as server:
        pid = psutil.Process().children()[0].pid
        assert await take(server, 1) == [f"[{pid}, {pid}]".encode()]
