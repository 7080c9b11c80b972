"""One suite on real web servers, with a client that is none of ours: every server must serve alike."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED
from tests.process.http_app import SERVERS
from tests.process.http_client import MODERN, Client, Stream, client_at
from tests.sources import ROOT

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

ENDS = 15.0
"""Seconds that a program may take to end."""


class Program:
    """A web server as a child process.

    Args:
        args: Which, and what it serves.
        log: Where it writes what it has to say.
        port: Where it listens; any that is free if 0.
    """

    def __init__(self, args: tuple[str, str], log: Path, port: int = 0) -> None:
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            self.port = int(free.getsockname()[1])
        self.log = log
        self.paths = ["/mcp"]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.process.http_app", args[0], str(self.port), args[1]],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**INHERITED, **ENV},
                cwd=ROOT,
            )

    def wait_until_it_listens(self) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
            except OSError:
                assert self.process.poll() is None, self.said
                assert time.monotonic() < end, self.said
                time.sleep(0.02)
            else:
                return

    @property
    def said(self) -> str:
        """What it has written."""
        return self.log.read_text()

    def ends(self) -> int:
        """Wait for its end and return its exit code."""
        return self.process.wait(ENDS)


@contextmanager
def running(which: str, target: str, log: Path, port: int = 0) -> Generator[Program]:
    program = Program((which, target), log, port)
    try:
        program.wait_until_it_listens()
        yield program
    finally:
        program.process.terminate()
        try:
            program.process.wait(ENDS)
        except subprocess.TimeoutExpired:
            program.process.kill()
            program.process.wait()
            raise


@pytest.fixture(scope="module", params=[(which, target) for which in SERVERS for target in ("app", "mounted")], ids=str)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Program]:
    which, target = request.param
    with running(which, target, tmp_path_factory.mktemp("http") / "log") as program:
        program.paths = ["/mcp"] if target == "app" else ["/x/mcp", "/fast/mcp", "/below/mcp"]
        yield program


@asynccontextmanager
async def client_of(
    program: Program, revision: str, path: str = "/mcp", capabilities: dict[str, Any] | None = None
) -> AsyncGenerator[Client]:
    async with client_at(f"http://127.0.0.1:{program.port}{path}", revision, capabilities) as client:
        yield client


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_the_document_on_elicitation_over_http(program: Program, revision: str) -> None:
    """B010, B070."""
    for path in program.paths:
        async with (
            client_of(program, revision, path, {"elicitation": {}}) as client,
            client.stream(1, "params") as stream,
        ):
            question = await stream.message()
            assert question["method"] == "elicitation/create"
            content = {name: _some(kind) for name, kind in question["params"]["requestedSchema"]["properties"].items()}
            taken = await client.post({"id": question["id"], "result": {"action": "accept", "content": content}})
            (reply,) = await stream.rest()

            assert (taken.status_code, taken.content) == (202, b"")
            assert reply["result"]["content"][0]["text"].startswith("accept: {")


def _some(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "x", "integer": 1, "number": 1, "boolean": True}[schema["type"]]


@pytest.mark.parametrize("revision", ["2025-03-26", MODERN])
async def test_calls_one_after_the_other_on_one_connection(program: Program, revision: str) -> None:
    """B070, B083: two hundred requests, and nothing to be said about them."""
    for path in program.paths:
        async with client_of(program, revision, path) as client:
            for n in range(1, 1 + 100 // len(program.paths)):
                assert await client.tool(n, "echo", text=f"é{n}") == f"é{n}"
            async with client.stream(500, "steps", count=20) as stream:
                *progress, reply = await stream.rest()

            assert [each["params"]["progress"] for each in progress] == list(range(1, 21))
            assert reply["result"]["content"][0]["text"] == "done"
    assert _complaints(program) == []


@pytest.mark.parametrize("how", ["wait_silently", "wait_loudly"])
async def test_a_modern_client_that_leaves_cancels_its_call(program: Program, how: str) -> None:
    """HTTP-21, B047, B083."""
    path = program.paths[-1]
    async with client_of(program, MODERN, path) as client:
        if how == "wait_loudly":
            async with client.stream(1, how, key=how) as stream:
                await stream.message()
        else:
            with anyio.move_on_after(0.2):  # it says nothing, so there is nothing to wait for
                await client.tool(1, how, key=how)

        assert await client.tool(2, "until_over", key=how) == "over"
    assert _complaints(program) == []


async def test_a_legacy_client_that_leaves_can_have_the_rest(program: Program) -> None:
    """HTTP-20, HTTP-35, B047, B083."""
    path = program.paths[-1]
    async with client_of(program, "2025-11-25", path) as client:
        async with client.stream(1, "finish_in", seconds=0.1) as stream:
            assert (await stream.message())["params"]["progress"] == 1
            last = stream.events.last_event_id
        headers = {**client.headers, "last-event-id": last}
        async with client.http.stream("GET", client.url, headers=headers) as response:
            (reply,) = await Stream(response).rest()

        assert reply["result"]["content"][0]["text"] == "finished"
        assert (await client.http.delete(client.url, headers=client.headers)).status_code == 204
    assert _complaints(program) == []


def _complaints(program: Program) -> list[str]:
    return [line for line in program.said.splitlines() if any(word in line for word in ("WARN", "ERROR", "Traceback"))]


@pytest.mark.parametrize("which", SERVERS)
async def test_a_program_ends_when_it_is_told_to_though_a_stream_is_open(which: str, tmp_path: Path) -> None:
    if which == "hypercorn" and sys.version_info >= (3, 12):
        pytest.skip("since Python 3.12.1, hypercorn waits for open connections of any application without a limit")
    with running(which, "app", tmp_path / "log") as program:
        async with client_of(program, "2025-11-25") as client, client.stream(1, "wait_loudly", key="k") as stream:
            await stream.message()
            program.process.terminate()
            await anyio.to_thread.run_sync(program.ends)


async def test_our_own_program_finishes_what_runs_and_ends_its_streams(tmp_path: Path) -> None:
    with running("own", "app", tmp_path / "log") as program:
        async with (
            client_of(program, "2025-11-25") as client,
            client.stream(1, "finish_in", seconds=0.3) as call,
            client.stream(2, "wait_loudly", key="k") as endless,
            client.http.stream("GET", client.url, headers=client.headers) as response,
        ):
            await call.message()
            await endless.message()
            program.process.terminate()

            assert await Stream(response).rest() == []
            assert (await call.rest())[0]["result"]["content"][0]["text"] == "finished"
            assert await endless.rest() == []
        code = await anyio.to_thread.run_sync(program.ends)

        assert code == 0
        assert _complaints(program) == []
