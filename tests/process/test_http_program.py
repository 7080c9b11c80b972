"""Programs that serve HTTP by `run`, as their users start and stop them."""

from __future__ import annotations

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp_transports.http_pool import Pool
from tests.interaction.raw import envelope
from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED
from tests.process.http_client import MODERN, client_at
from tests.sources import ROOT

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

SERVING = re.compile(r"^Serving MCP at (\S+)$", re.MULTILINE)


class Program:
    """A child that runs `tests.process.http_program`.

    Args:
        log: Where it writes what it has to say.
        settings: What it calls `run` with.
        environment: What it finds there besides.
        more: What `Popen` takes.
    """

    def __init__(self, log: Path, settings: dict[str, Any], environment: dict[str, str], more: dict[str, Any]) -> None:
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.process.http_program", json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**INHERITED, **ENV, **environment},
                cwd=ROOT,
                **more,
            )

    @property
    def said(self) -> str:
        """What it has written."""
        return self._log.read_text()

    def until(self, is_so: Callable[[], object]) -> None:
        """Return when it is so."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, self.said
            time.sleep(0.01)

    @property
    def url(self) -> str:
        """Where it serves, once it says so."""
        self.until(lambda: SERVING.search(self.said) or self.process.poll() is not None)
        found = SERVING.search(self.said)
        assert found is not None, self.said
        return found[1]

    async def ends(self) -> tuple[int, list[str]]:
        """Wait for its end; return its exit code and the lines that it has written but for the first."""
        code = await anyio.to_thread.run_sync(self.process.wait, PATIENCE)
        return code, self.said.splitlines()[1:]


@contextmanager
def running(
    log: Path, more: dict[str, Any] | None = None, environment: dict[str, str] | None = None, **settings: Any
) -> Generator[Program]:
    program = Program(log, {"port": 0, **settings}, environment or {}, more or {})
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_program_that_is_told_to_stop_finishes_and_returns(
    log: Path, number: signal.Signals, revision: str
) -> None:
    """What comes after `run` is run, and the exit code is that of a program that has done its work."""
    with running(log, path="/here") as program:
        assert program.url.endswith("/here")
        async with client_at(program.url, revision) as client, client.stream(1, "finish_in", seconds=0.3) as call:
            await call.message()
            program.process.send_signal(number)

            (reply,) = await call.rest()
            assert reply["result"]["content"][0]["text"] == "finished"

        assert await program.ends() == (0, ["entered", "left", "returned"])


async def test_a_program_that_never_served_anybody_ends_too(log: Path) -> None:
    with running(log) as program:
        assert program.url.startswith("http://127.0.0.1:")
        program.process.terminate()

        code, lines = await program.ends()

    assert (code, lines[-1]) == (0, "returned")
    assert lines.count("entered") == lines.count("left")  # it may be told before it has begun


async def test_a_second_interrupt_ends_the_waiting(log: Path) -> None:
    with running(log, drain_seconds=1000.0) as program:
        async with client_at(program.url, MODERN) as client, client.stream(1, "never_ends") as call:
            await call.message()
            program.process.send_signal(signal.SIGINT)
            await anyio.to_thread.run_sync(program.until, lambda: _refuses(program.url))
            program.process.send_signal(signal.SIGINT)
            code, said = await program.ends()

        assert code == 0
        assert said == ["entered", "cleaned up", "left", "returned"]


def _refuses(url: str) -> bool:
    """Whether nobody is accepted there any more, which is how its draining begins."""
    parts = httpx.URL(url)
    try:
        socket.create_connection((parts.host, parts.port or 80), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return True
    return False


async def test_an_address_that_is_taken_is_the_programs_error(log: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with running(log, port=other.getsockname()[1]) as program:
            code, said = await program.ends()

    assert code == 1
    assert "cannot listen on ('127.0.0.1', " in said[-1]
    assert "returned" not in said


async def test_a_strange_setting_is_the_programs_error(log: Path) -> None:
    with running(log, prot=8000) as program:
        code, said = await program.ends()

    assert code == 1
    assert said[-1].startswith("TypeError: Unsupported streamable HTTP settings: prot; legal are host, port, ")


async def test_a_unix_socket_is_served(log: Path, tmp_path: Path) -> None:
    """SEC-13."""
    path = tmp_path / "socket"
    with running(log, uds=str(path)) as program:
        assert program.url == f"http://unix:{path}/mcp"
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(path)), timeout=PATIENCE) as http:
            answer = await http.post("http://localhost/mcp", json={}, headers={"accept": "application/json"})
            assert answer.status_code == 400
        program.process.terminate()

        assert (await program.ends())[0] == 0
    assert not path.exists()


async def test_a_socket_that_is_handed_over_is_served(log: Path) -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
        with running(log, {"pass_fds": [own.fileno()]}, fd=own.fileno()) as program:
            async with client_at(program.url, "2025-11-25") as client:
                assert await client.tool(1, "pid") == str(program.process.pid)


async def test_tls_is_served(log: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    await anyio.run_process(["openssl", *command.split(), "-keyout", str(key), "-out", str(certificate)])
    with running(log, ssl_certfile=str(certificate), ssl_keyfile=str(key)) as program:
        assert program.url.startswith("https://127.0.0.1:")
        trusting, strangers = ssl.create_default_context(cafile=certificate), ssl.create_default_context()
        async with httpx.AsyncClient(transport=Pool(trusting), timeout=PATIENCE) as http:
            for _ in range(2):
                answer = await http.post(program.url, json={}, headers={"accept": "application/json"})
                assert answer.status_code == 400
        async with httpx.AsyncClient(transport=Pool(strangers), timeout=PATIENCE) as http:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await http.post(program.url, json={})


async def test_a_certificate_that_is_not_there_is_told_before_anybody_is_served(log: Path, tmp_path: Path) -> None:
    with running(log, ssl_certfile=str(tmp_path / "none.pem")) as program:
        code, said = await program.ends()

    assert code == 1
    assert said[-1].startswith("FileNotFoundError")
    assert SERVING.search(program.said) is None


HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def answer_to(url: str, request: bytes) -> bytes:
    """Send this and no more; return all that comes until the server closes the connection."""
    parts = httpx.URL(url)
    with socket.create_connection((parts.host, parts.port or 80), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (HEAD + b"Content-Length: 10\r\n\r\n{", b"408"),
        (HEAD + b"Content-Length: 10\r\n\r\n", b"408"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"408"),
        (HEAD + b"Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", b"413"),
        (HEAD + b"X: " + b"x" * 3000 + b"\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", b"431"),
    ],
    ids=["slow", "no body", "slow chunks", "too long", "long header"],
)
async def test_a_client_that_sends_too_much_or_too_slowly_is_let_go(
    log: Path, request_bytes: bytes, status: bytes
) -> None:
    with running(log, body_seconds=0.2, max_body=1000, max_head=2000) as program:
        answer = await anyio.to_thread.run_sync(answer_to, program.url, request_bytes)

        assert answer.split(b" ", 2)[1] == status
        program.process.terminate()
        code, said = await program.ends()

    assert code == 0
    assert not [line for line in said if "ERROR" in line or "Traceback" in line]


@pytest.mark.parametrize("begun", [b"", HEAD], ids=["nothing", "half a head"])
async def test_a_client_that_never_finishes_its_head_is_let_go(log: Path, begun: bytes) -> None:
    with running(log, body_seconds=0.2) as program:
        assert await anyio.to_thread.run_sync(answer_to, program.url, begun) == b""
        async with client_at(program.url, MODERN) as client:
            assert await client.tool(1, "pid") == str(program.process.pid)


async def test_a_client_that_reads_nothing_or_sends_no_more_does_not_disturb_the_end(log: Path) -> None:
    with running(log, drain_seconds=0) as program, ExitStack() as connections:
        parts = httpx.URL(program.url)
        call = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "never_stops_telling", "_meta": {**envelope(), "progressToken": 1}},
            }
        ).encode()
        modern = f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: never_stops_telling\r\n"
        for sent in (
            HEAD + b"Content-Length: 10\r\n\r\n{",
            HEAD + modern.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(call), call),
        ):
            connection = connections.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((parts.host, parts.port or 80))
            connection.sendall(sent)
        program.until(lambda: "told much" in program.said)
        program.process.terminate()
        code, said = await program.ends()

    assert code == 0
    assert said[-1] == "returned"
    assert not [line for line in said if "ERROR" in line or "Traceback" in line]


async def test_a_second_interrupt_ends_a_lifespan_that_never_ends(log: Path) -> None:
    with running(log, environment={"NEVER_LEAVES": "1"}) as program:
        async with client_at(program.url, MODERN) as client:
            await client.tool(1, "pid")
        program.process.send_signal(signal.SIGINT)
        program.until(lambda: "leaving" in program.said)
        program.process.send_signal(signal.SIGINT)
        code, said = await program.ends()

    assert code == 0
    assert said[-1] == "returned"


def sent_before_it_was_cut(url: str, limit: int) -> int:
    """Send a header that never ends; return how many bytes of it were taken."""
    parts, sent = httpx.URL(url), 0
    with socket.create_connection((parts.host, parts.port or 80), timeout=PATIENCE) as connection:
        connection.sendall(HEAD + b"X: ")
        with suppress(OSError):  # the server has closed the connection
            while sent < limit:
                sent += connection.send(b"x" * 65536)
    return sent


async def test_a_head_that_never_ends_is_not_kept(log: Path) -> None:
    """With whichever parser is installed."""
    limit = 64 << 20  # more than all buffers of a connection
    with running(log, max_head=2000) as program:
        assert await anyio.to_thread.run_sync(sent_before_it_was_cut, program.url, limit) < limit
