"""A server on stdio whose client writes, and reads nothing before it has written all."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from tests.interaction.raw import INFO
from tests.interaction.reach import ENV
from tests.process.child import INHERITED
from tests.soak.places import LEGACY, MODULE
from tests.sources import ROOT

__all__ = ("unread",)

SECONDS = 120.0
"""After so long the server is ended, so that nothing hangs."""


def unread(calls: int, size: int) -> tuple[Counter[str], int]:
    """Write so many calls, each with a reply of that size, and only then read.

    Returns:
        How many were answered, and with which errors; and the memory of the server in MiB before anything was read.
    """
    command = [sys.executable, "-m", MODULE, "stdio"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={**INHERITED, **ENV}, cwd=ROOT) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        ending = threading.Timer(SECONDS, server.kill)
        ending.start()
        try:
            server.stdin.writelines(_handshake())
            server.stdin.flush()
            assert b'"open"' in server.stdout.readline()
            for id in range(calls):
                arguments = {"text": f"{id} " + "x" * size}
                server.stdin.write(_line(id=id, method="tools/call", params={"name": "echo", "arguments": arguments}))
            server.stdin.flush()
            memory = Path(f"/proc/{server.pid}/status").read_text().partition("VmRSS:")[2].split()[0]
            return _replies(server.stdout, calls), int(memory) >> 10
        finally:
            ending.cancel()
            server.kill()


def _handshake() -> Iterator[bytes]:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}
    yield _line(id="open", method="initialize", params=params)
    yield _line(method="notifications/initialized")


def _line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _replies(stdout: IO[bytes], calls: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    waited_for = set(range(calls))
    while waited_for:
        reply = json.loads(stdout.readline())
        waited_for.remove(reply["id"])
        if "error" in reply:
            seen[f"{reply['error']['code']} {reply['error']['message']}"] += 1
        else:
            assert reply["result"]["content"][0]["text"].startswith(f"{reply['id']} ")
            seen["answered"] += 1
    return seen
