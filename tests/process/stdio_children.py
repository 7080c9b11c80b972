"""Children to talk to over stdio, and ways to tell that nothing of them is left."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil  # type: ignore[import-untyped]

from dedalus_mcp.transport import Duplex, Received
from dedalus_mcp_transports.stdio import StdioServer

TIMEOUT = 20

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""

ORPHANS = """
import subprocess, sys
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(grandchild.pid, flush=True)
sys.stdin.read()
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


async def take(connection: Duplex, count: int) -> list[Received]:
    frames: list[Received] = []
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


def holdings() -> tuple[int, list[threading.Thread], list[psutil.Process]]:
    """What a leak would add to: descriptors, threads of ours, children."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("dedalus")]
    for thread in threads:  # it ends with its child, or a moment later
        thread.join(5)
    threads = [thread for thread in threads if thread.is_alive()]
    return len(list(Path("/proc/self/fd").iterdir())), threads, psutil.Process().children()
