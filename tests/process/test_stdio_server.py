"""`ServerStdio` in a real process: nothing but frames on stdout, whatever stdin and stdout are."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "transports"), os.environ.get("PYTHONPATH", "")]),
}
TIMEOUT = 20

SEND_TO_NOBODY = """
import os, sys, anyio
from dedalus_mcp_transports.stdio import ServerStdio

async def main():
    wire = await ServerStdio().open()
    async with anyio.create_task_group() as group:
        sent = anyio.Event()
        async def send():
            await wire.send([b"x" * 8_000_000])
            sent.set()
        group.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        assert not sent.is_set()
        os.write(2, b"the loop runs\\n")
        await wire.receive()   # the parent reads now
        await sent.wait()
    await wire.aclose()

anyio.run(main, backend=sys.argv[1])
"""


@contextmanager
def running(
    *argv: str, stdin: int | IO[Any] = subprocess.PIPE, stdout: int | IO[Any] = subprocess.PIPE
) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, *argv]
    with subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=ENV) as process:
        alarm = threading.Timer(TIMEOUT, process.kill)  # bounds every read below
        alarm.start()
        try:
            yield process
        finally:
            alarm.cancel()
            process.kill()


def read(fd: int, size: int) -> bytes:
    assert select.select([fd], [], [], TIMEOUT)[0], "nothing to read"
    return os.read(fd, size)


def echo(data: bytes, anyio_backend: str, *options: str) -> tuple[bytes, str]:
    with running(str(HERE / "stdio_echo_server.py"), anyio_backend, *options) as process:
        out, err = process.communicate(data, TIMEOUT)

    assert process.returncode == 0, err.decode()
    return out, err.decode()


def test_every_way_to_print_ends_on_stderr(anyio_backend: str) -> None:
    """STDIO-02, STDIO-04, B053."""
    out, err = echo(b'{"a":1}\n"print"\n{"b":2}\n', anyio_backend)

    assert out == b'{"a":1}\n"nothing to read"\n{"b":2}\n'
    assert set(err.splitlines()) == {
        "before serving",
        "from print",
        "from sys.stdout",
        "from descriptor 1",
        "from a child",
        "end of stdin",
    }


def test_a_child_process_can_neither_eat_nor_write_the_wire(anyio_backend: str) -> None:
    """B053."""
    out, err = echo(b'"eat"\n{"after":1}\n', anyio_backend)

    assert out == b'0\n{"after":1}\n'
    assert "child read 0\n" in err
    assert "child err\n" in err


def test_closing_gives_the_standard_streams_back(anyio_backend: str) -> None:
    out, err = echo(b"{}\n", anyio_backend, "--host")

    assert out == b"{}\nstdout is back\n"
    assert "stdout is back" not in err


def test_serving_twice_in_one_process_works_but_not_at_once(anyio_backend: str) -> None:
    code = """
import os, sys, anyio
from dedalus_mcp_transports.stdio import ServerStdio

async def main():
    descriptors = set(os.listdir("/proc/self/fd"))
    for _ in range(2):
        wire = await ServerStdio().open()
        try:
            await ServerStdio().open()
        except RuntimeError as error:
            print(error)
        await wire.send(await wire.receive())
        for _ in range(2):
            await wire.aclose()
    assert set(os.listdir("/proc/self/fd")) == descriptors
    assert sys.stdout is sys.__stdout__
    print("back", input())

anyio.run(main, backend=sys.argv[1])
"""
    with running("-c", code, anyio_backend) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"1\n", b"2\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
        out, err = process.communicate(b"3\n", TIMEOUT)

    assert out == b"back 3\n"
    assert err.decode() == "the standard streams are being served already\n" * 2


def test_text_with_other_line_breaks_and_carriage_returns_passes(anyio_backend: str) -> None:
    """B058, B065, STDIO-01."""
    text = '"a\u2028b\u2029c\u0085d\x0b\x0c\x1c"'.encode()
    out, _ = echo(b"\xef\xbb\xbf" + text + b"\r\n\r\n\n[]", anyio_backend)

    assert out == text + b"\n[]\n"


def test_eight_mebibytes_pass(anyio_backend: str) -> None:
    """B059."""
    line = b'"' + b"x" * (8 << 20) + b'"\n'
    out, _ = echo(line + b"{}\n", anyio_backend)

    assert out == line + b"{}\n"


@pytest.mark.parametrize("kind", ["file", "null", "closed"])
def test_stdin_that_cannot_be_waited_for_is_read_to_its_end(kind: str, tmp_path: Path, anyio_backend: str) -> None:
    data = b"" if kind in {"null", "closed"} else b'{"a":1}\n[2]'
    (tmp_path / "in").write_bytes(data)
    redirection = {"file": f"<{tmp_path}/in", "null": "</dev/null", "closed": "<&-"}[kind]
    command = f"exec '{sys.executable}' '{HERE}/stdio_echo_server.py' {anyio_backend} {redirection}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, env=ENV, timeout=TIMEOUT, check=False)

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == (b'{"a":1}\n[2]\n' if data else b"")


def test_a_terminal_serves_as_stdin_and_stdout(anyio_backend: str) -> None:
    here, there = pty.openpty()
    attributes = termios.tcgetattr(there)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(there, termios.TCSANOW, attributes)
    with running(str(HERE / "stdio_echo_server.py"), anyio_backend, stdin=there, stdout=there) as process:
        os.write(here, b'{"a":1}\n')
        assert read(here, 100) == b'{"a":1}\n'
        assert not fcntl.fcntl(there, fcntl.F_GETFL) & os.O_NONBLOCK

        os.write(here, b"\x04")  # Ctrl-D
        assert process.wait(TIMEOUT) == 0
    os.close(here)
    os.close(there)


def test_a_terminal_that_is_closed_ends_the_server(anyio_backend: str) -> None:
    here, there = pty.openpty()
    with running(str(HERE / "stdio_echo_server.py"), anyio_backend, stdin=there) as process:
        os.close(there)
        os.write(here, b"{}\n")
        assert process.stdout is not None
        assert process.stdout.readline() == b"{}\n"

        os.close(here)
        assert process.wait(TIMEOUT) == 0


def test_stdout_to_a_file_is_appended_where_the_file_stood(tmp_path: Path, anyio_backend: str) -> None:
    with (tmp_path / "out").open("wb") as out:
        out.write(b"written before\n")
        out.flush()
        with running(str(HERE / "stdio_echo_server.py"), anyio_backend, stdout=out) as process:
            process.communicate(b"{}\n", TIMEOUT)

    assert process.returncode == 0
    assert (tmp_path / "out").read_bytes() == b"written before\n{}\n"


def test_a_closed_stdout_is_an_error_that_says_so(anyio_backend: str) -> None:
    command = f"exec '{sys.executable}' '{HERE}/stdio_echo_server.py' {anyio_backend} >&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, env=ENV, timeout=TIMEOUT, check=False)

    assert done.returncode == 1
    assert b"cannot serve on stdio: stdout is closed" in done.stderr


@contextmanager
def streams(kind: str) -> Generator[tuple[int, int, int, int]]:
    """Our end to write, the server's stdin, our end to read, the server's stdout."""
    if kind == "pipe":
        (stdin, ours_out), (ours_in, stdout) = os.pipe(), os.pipe()
    elif kind == "socket":
        first, second = socket.socketpair(), socket.socketpair()
        (ours_out, stdin), (ours_in, stdout) = ([end.detach() for end in pair] for pair in (first, second))
    else:
        stdin, ours_out = os.pipe()
        ours_in, stdout = pty.openpty()
    try:
        yield ours_out, stdin, ours_in, stdout
    finally:
        for fd in (ours_out, stdin, ours_in, stdout):
            os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "socket", "terminal"])
def test_a_client_that_does_not_read_blocks_no_loop_and_no_file_is_left_non_blocking(
    kind: str, anyio_backend: str
) -> None:
    with (
        streams(kind) as (ours_out, stdin, ours_in, stdout),
        running("-c", SEND_TO_NOBODY, anyio_backend, stdin=stdin, stdout=stdout) as process,
    ):
        assert process.stderr is not None
        assert process.stderr.readline() == b"the loop runs\n"
        for fd in (stdin, stdout):
            assert not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK

        os.write(ours_out, b"{}\n")
        received = bytearray()
        while not received.endswith(b"\n"):
            received += read(ours_in, 1 << 20)
        assert received.strip() == b"x" * 8_000_000
        assert process.wait(TIMEOUT) == 0


def test_a_reader_thread_that_is_stuck_does_not_hold_up_the_exit(anyio_backend: str) -> None:
    """As on Windows, where no event loop can wait for stdin: here, no selector will take it."""
    code = """
import selectors, sys, anyio

class Unable(selectors.DefaultSelector):
    def register(self, fileobj, events, data=None):
        raise PermissionError

import dedalus_mcp_transports.stdio_files as files
files.selectors = type("selectors", (), {"DefaultSelector": Unable, "EVENT_READ": 1})
from dedalus_mcp_transports.stdio import ServerStdio

async def main():
    wire = await ServerStdio().open()
    await wire.send(await wire.receive())
    with anyio.move_on_after(0.01):
        await wire.receive()
    await wire.aclose()

anyio.run(main, backend=sys.argv[1])
"""
    with running("-c", code, anyio_backend) as process:
        assert process.stdin is not None
        process.stdin.write(b"{}\n")
        process.stdin.flush()

        assert process.wait(TIMEOUT) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"{}\n"


def test_a_client_that_is_gone_breaks_the_connection_not_the_process(anyio_backend: str) -> None:
    code = """
import sys, anyio
from dedalus_mcp_transports.stdio import ServerStdio

async def main():
    wire = await ServerStdio().open()
    await wire.receive()
    try:
        while True:
            await wire.send([b"x" * 1000])
    except anyio.BrokenResourceError as error:
        print(error)
    await wire.aclose()

anyio.run(main, backend=sys.argv[1])
"""
    with running("-c", code, anyio_backend) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"{}\n")
        process.stdin.flush()

        assert process.stderr.read() == b"the other side does not read any more: [Errno 32] Broken pipe\n"
        assert process.wait(TIMEOUT) == 0
