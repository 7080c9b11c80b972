"""The program as a process of its own, at a terminal and without one."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.sources import PACKAGES, ROOT

SERVER = str(ROOT / "examples" / "deploy.py")
PATIENCE = 20
ENV = {
    **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")},
    "PYTHONPATH": os.pathsep.join(str(root) for root in PACKAGES.values()),
    "TERM": "xterm-256color",
}
PROGRAM = [sys.executable, "-W", "error", "-m", "dedalus_mcp"]


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *argv],
        capture_output=True,
        text=True,
        check=False,
        env=ENV,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )


class Screen:
    """A program at a terminal: what it writes is read here, and what is typed goes there."""

    def __init__(self, argv: Sequence[str], env: dict[str, str]) -> None:
        self._near, far = pty.openpty()
        self.process = subprocess.Popen(
            [*PROGRAM, *argv], stdin=far, stdout=far, stderr=far, env={**ENV, **env}, start_new_session=True
        )
        os.close(far)
        self.shown = ""

    def read(self, text: str) -> None:
        """Return when the program has written that after what was typed last."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            ready, _, _ = select.select([self._near], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} is not in {self.shown!r}"
            self.shown += self._chunk()

    def _chunk(self) -> str:
        try:
            return os.read(self._near, 4096).decode()
        except OSError:  # its other end is closed
            return ""

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self._near, text.encode())

    def end(self) -> tuple[int, str]:
        """Return the exit code, and all that was written since."""
        while chunk := self._chunk():
            self.shown += chunk
        return self.process.wait(PATIENCE), self.shown

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._near)


@contextmanager
def screen(*argv: str, **env: str) -> Generator[Screen]:
    opened = Screen(argv, env)
    try:
        yield opened
    finally:
        opened.close()


def test_a_form_is_filled_in_at_a_terminal() -> None:
    with screen("call", SERVER, "configure") as at:
        at.read("deploy at ")
        at.read("[c]ancel: ")
        at.type("y\n")
        at.read("characters): ")
        at.type("api\n")
        at.read("[2]: ")
        at.type("12\n")
        at.read("replicas: expected an integer, >= 1, <= 9")
        at.read("[2]: ")
        at.type("3\n")
        at.read("[small]: ")
        at.type("2\n")
        at.read("dry_run (yes or no) [leave out]: ")
        at.type("\n")
        at.read("Send it? [Y]es, [e]dit, [n]o, [c]ancel: ")
        at.type("\n")
        status, shown = at.end()

    assert status == 0
    assert 'Got: {"name": "api", "replicas": 3, "size": "large"}' in shown


def test_control_d_cancels_the_question() -> None:
    with screen("call", SERVER, "deploy", "env=eu") as at:
        at.read("[c]ancel: ")
        at.type("\x04")
        status, shown = at.end()

    assert (status, "Deployment cancelled" in shown) == (4, True)


def test_control_c_at_a_question_ends_the_program_and_the_server() -> None:
    with screen("call", SERVER, "deploy", "env=eu") as at:
        at.read("[c]ancel: ")
        at.process.send_signal(signal.SIGINT)  # what a terminal does at Ctrl-C
        status, shown = at.end()

    assert (status, "interrupted" in shown, "Traceback" in shown) == (130, True, False)


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_that_want_them(env: dict[str, str], coloured: bool) -> None:
    with screen("inspect", SERVER, **env) as at:
        status, shown = at.end()

    assert status == 0
    assert ("\x1b[1;32mdeploy" in shown, "Deploy to environment" in shown) == (coloured, True)


def test_without_a_terminal_there_are_no_colours_and_nobody_is_asked() -> None:
    done = run("call", SERVER, "deploy", "env=eu")

    assert (done.returncode, done.stdout) == (4, "Deployment cancelled\n")
    assert "--answer confirm=... would" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_command_may_follow_two_dashes() -> None:
    done = run(
        "call",
        "deploy",
        "env=eu",
        "--answer",
        "confirm=yes",
        "--json",
        "--env",
        "PYTHONPATH",
        "--",
        sys.executable,
        SERVER,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"][0]["text"] == "Deployed to eu"


def test_what_a_server_prints_while_it_is_imported_is_not_on_the_wire(tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text(
        "import os, subprocess, sys\nprint('to stdout')\nos.system('echo from a child')\n"
        "print('\\x1b[31mred\\x1b[2J', file=sys.stderr)\n"
        "from dedalus_mcp import MCPServer\nserver = MCPServer('noisy')\n"
    )

    done = run("inspect", str(path), "--json")

    assert json.loads(done.stdout)["server"]["name"] == "noisy"
    assert [line for line in ("to stdout", "from a child", "red\\x1b[2J") if line not in done.stderr] == []


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/null"])
def test_nor_is_it_where_there_is_no_stderr(closed: str, tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text(
        "import os\nprint('to stdout')\nos.system('echo from a child')\n"
        "from dedalus_mcp import MCPServer\nserver = MCPServer('noisy')\n"
    )
    line = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'

    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *PROGRAM, "run", str(path)],
        input=line,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=ENV,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stdout) == (0, '{"jsonrpc":"2.0","id":1,"result":{}}\n')


def test_a_server_that_cannot_be_imported_ends_it_with_3_and_its_own_traceback(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("raise ValueError('a broken desk')\n")

    done = run("inspect", str(path))

    assert (done.returncode, done.stdout) == (3, "")
    assert "ValueError: a broken desk" in done.stderr
    assert "dedalus_mcp/cli" not in done.stderr


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    process = subprocess.Popen(
        [*PROGRAM, "inspect", SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    )
    assert process.stdout is not None
    process.stdout.close()

    assert process.stderr is not None
    with process.stderr:
        err = process.stderr.read()

    assert (process.wait(PATIENCE), err) == (141, "")


@contextmanager
def serving(*argv: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Serve over HTTP, and give the process and its URL."""
    process = subprocess.Popen(
        [*PROGRAM, "run", *argv, "--transport", "http", "--port", "0"], stderr=subprocess.PIPE, text=True, env=ENV
    )
    try:
        yield process, announced(process)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def announced(process: subprocess.Popen[str]) -> str:
    """Return the URL that the program says it serves at next."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("Serving MCP at "):
            return line.removeprefix("Serving MCP at ").strip()
    raise AssertionError(lines)


def test_a_file_is_served_over_http_and_ended_by_control_c() -> None:
    with serving(SERVER, "--path", "/desk") as (process, url):
        done = run("prompt", url, "translate", "text=hello", "--revision", "2025-06-18")
        process.send_signal(signal.SIGINT)
        status = process.wait(PATIENCE)

    assert url.endswith("/desk")
    assert done.stdout.endswith("user:\nTranslate this to English: hello\n")
    assert status == 0


def test_with_reload_a_change_starts_the_server_anew(tmp_path: Path) -> None:
    path = tmp_path / "desk.py"
    text = "from dedalus_mcp import MCPServer\nserver = MCPServer('NAME')\n"
    path.write_text(text.replace("NAME", "one"))
    with serving(str(path), "--reload") as (process, url):
        first = run("inspect", url, "--json")
        path.write_text("broken = \n")
        assert process.stderr is not None
        assert next(line for line in process.stderr if "SyntaxError" in line)
        path.write_text(text.replace("NAME", "two"))
        second = run("inspect", announced(process), "--json")
        process.send_signal(signal.SIGTERM)
        status = process.wait(PATIENCE)

    assert [json.loads(done.stdout)["server"]["name"] for done in (first, second)] == ["one", "two"]
    assert status == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(url)


def test_listening_ends_with_0_at_control_c() -> None:
    process = subprocess.Popen([*PROGRAM, "listen", SERVER], stderr=subprocess.PIPE, text=True, env=ENV)
    assert process.stderr is not None
    with process.stderr:
        assert "Listening to deploy" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        status = process.wait(PATIENCE)

    assert status == 0
