"""A good client beside a storm, in a process of its own: it calls as often as it is told, one call after another.

python -m tests.soak.neighbour URL       each line of stdin is a number of calls, each of stdout their times in ms
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from tests.interaction.reach import ENV
from tests.process.child import INHERITED
from tests.sources import ROOT

__all__ = ("Neighbour", "neighbour")

VERSION = "2026-07-28"
META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BODY = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "good day"}, "_meta": META},
    }
)
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "echo",
}


class Neighbour:
    """The process, seen from outside."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def calls(self, many: int) -> list[float]:
        """Let it make so many calls; return how long each took, in milliseconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"%d\n" % many)
        took: list[float] = json.loads(await self._process.stdout.readline())
        return took


@asynccontextmanager
async def neighbour(url: str) -> AsyncGenerator[Neighbour]:
    """Run one."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, url, stdin=pipe, stdout=pipe, env={**INHERITED, **ENV}, cwd=ROOT, limit=1 << 20
    )
    try:
        yield Neighbour(process)
    finally:
        process.kill()
        await process.wait()


def main(url: str) -> None:
    """Do as stdin says."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc)
    for line in sys.stdin:
        took: list[float] = []
        for _ in range(int(line)):
            began = time.perf_counter()
            connection.request("POST", address.path, BODY, HEADERS)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or b"good day" not in body:
                raise RuntimeError(f"{answer.status} {body!r:.200}")
            took.append((time.perf_counter() - began) * 1000)
        connection.close()  # the server does not keep it for ever; with the next call it is opened anew
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
