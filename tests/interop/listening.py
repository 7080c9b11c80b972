"""Servers that listen, ours and other people's, each in a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import IO

from tests.interop.install import MCP2, python
from tests.interop.peers import EVERYTHING, SCRIPTS, TYPESCRIPT_SERVER
from tests.sources import PACKAGES, ROOT

__all__ = ("everything", "ours", "theirs", "typescript")


@contextmanager
def ours(program: str) -> Generator[str]:
    """Run a Python program from the root of the repository that serves MCP over HTTP on port 0, and give its URL."""
    path = os.pathsep.join(str(root) for root in (ROOT, *PACKAGES.values(), ROOT / "dedalus_mcp" / "_names"))
    command = [sys.executable, "-W", "error", "-c", program]
    yield from _running(command, r"MCP at (http://\S+)", PYTHONPATH=path)


@contextmanager
def theirs() -> Generator[str]:
    """Run `scripts/official_server.py`, and give its URL."""
    command = [str(python(MCP2)), str(SCRIPTS / "official_server.py"), "0"]
    for origin in _running(command, r"running on (http://\S+)"):
        yield f"{origin}/mcp"


@contextmanager
def everything(kind: str) -> Generator[str]:
    """Run the reference server over "streamableHttp" or "sse", and give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = {"streamableHttp": "mcp", "sse": "sse"}[kind]
    for _ in _running([*EVERYTHING[:-1], kind], rf"\b({port})\b", PORT=str(port)):
        yield f"http://127.0.0.1:{port}/{path}"


@contextmanager
def typescript() -> Generator[str]:
    """Run `scripts/typescript_server.mjs`, and give its URL."""
    yield from _running([*TYPESCRIPT_SERVER, "0"], r"MCP at (http://\S+)")


def _running(command: Sequence[str], ready: str, **environment: str) -> Generator[str]:
    """Run a server, give what `ready` finds in what it says once it listens, and end it."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        try:
            yield _found(process.stdout, ready, said)
        finally:
            process.terminate()


def _found(output: IO[str], ready: str, said: list[str]) -> str:
    for line in output:
        said.append(line)
        if (found := re.search(ready, line)) is not None:
            threading.Thread(target=output.read, daemon=True).start()  # so that it never waits for a reader
            return found[1]
    raise AssertionError("".join(said))
