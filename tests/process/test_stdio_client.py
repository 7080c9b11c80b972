"""`StdioServer` with real children: what goes to them, what comes back, what they say when they die."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import pytest

from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.stdio import StdioServer
from tests.process.stdio_children import ECHO, ORPHANS, gone, holdings, opened, python, take


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


async def test_the_last_words_are_for_people_and_no_terminal_obeys_them() -> None:
    code = r"import sys; sys.exit('Traceback:\n\tat \x1b[2J\x9b1m\u202e caf\xe9')"
    async with opened(python(f"import sys; sys.stderr.reconfigure(encoding='utf-8'); {code}")) as server:
        with pytest.raises(anyio.EndOfStream) as caught:
            await server.receive()

    assert str(caught.value).endswith("stderr:\nTraceback:\n        at \\x1b[2J\\x9b1m\\u202e caf\xe9")


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


async def test_arguments_that_were_written_into_the_command_are_said_to_go_elsewhere() -> None:
    with pytest.raises(FileNotFoundError, match="arguments go into `args`"):
        await StdioServer("no-such-binary server.py").open()


async def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "server.txt").write_text("hello")
    with pytest.raises(PermissionError, match=r"server\.txt"):
        await StdioServer(str(tmp_path / "server.txt")).open()


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        await StdioServer(sys.executable, cwd=tmp_path / "nowhere").open()


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
