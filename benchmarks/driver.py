"""Drives a server with frames made beforehand and no SDK; what it costs is the same for every server.

`Driver` only says what to send next.  `in_child` runs it over the pipes of a process, `in_memory` over one end
of a pair.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.bare import Frames

__all__ = (
    "CASES",
    "CONFIRM_IN_ROUNDS",
    "CONFIRM_IN_THREAD",
    "ECHO",
    "ENVIRONMENT",
    "LARGE",
    "LEGACY",
    "MODERN",
    "OPEN",
    "Case",
    "Child",
    "Driver",
    "child_command",
    "in_child",
    "in_memory",
    "tool_case",
)

HERE = Path(__file__).parent
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parent / "transports")]),
}
"""For child processes: they import this checkout, installed or not, compiled as an installed one would be."""

PEER = b'{"name":"driver","version":"1"}'
META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":%b,'
    b'"io.modelcontextprotocol/clientCapabilities":{}}' % PEER
)
OPEN = [
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{"elicitation":{"form":{}}},"clientInfo":%b}}' % PEER,
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
]
LEGACY, MODERN = "2025-11-25", "2026-07-28"


class Case(msgspec.Struct, frozen=True):
    """A call: the frame with a gap for its id, and what a right reply holds."""

    name: str
    frame: bytes
    expected: bytes


def tool_case(name: str, params: bytes, expected: bytes) -> Case:
    """Return a call of a tool."""
    return _case(name, b"tools/call", params, expected)


def _case(name: str, method: bytes, params: bytes, expected: bytes) -> Case:
    return Case(name, b'{"jsonrpc":"2.0","id":%%d,"method":"%b","params":{%b}}' % (method, params), expected)


ECHO = b'"name":"echo","arguments":{"text":"the quick brown fox"}'
CASES = {
    LEGACY: [
        _case("void", b"ping", b"", b'"result":{}'),
        _case("echo", b"tools/call", ECHO, b'"text":"the quick brown fox"'),
        _case("confirm", b"tools/call", b'"name":"confirm","arguments":{}', b'"text":"True"'),
    ],
    MODERN: [
        _case("discover", b"server/discover", META, b'"2026-07-28"'),
        _case("echo", b"tools/call", ECHO + b"," + META, b'"text":"the quick brown fox"'),
    ],
}


LARGE = _case("1 MiB", b"tools/call", b'"name":"large","arguments":{"size":1048576}', b"x" * 100)
"""A call whose result is 1 MiB; not among the cases, which are small."""
_ABLE = META.replace(b'clientCapabilities":{}', b'clientCapabilities":{"elicitation":{}}')
CONFIRM_IN_ROUNDS = _case(
    "confirm in rounds", b"tools/call", b'"name":"confirm","arguments":{},' + _ABLE, b'"text":"True"'
)
"""Not among the cases: the bare loops ask in no rounds."""
CONFIRM_IN_THREAD = _case(
    "confirm in a thread", b"tools/call", b'"name":"confirm_in_thread","arguments":{},' + _ABLE, b'"text":"True"'
)


class _Asked(msgspec.Struct):
    id: int | None = None


class _Round(msgspec.Struct):
    inputRequests: dict[str, msgspec.Raw]
    requestState: str


class _Reply(msgspec.Struct):
    result: _Round


_decode_asked = msgspec.json.Decoder(_Asked).decode
_decode_reply = msgspec.json.Decoder(_Reply).decode


def _retry(case: Case, frame: bytes, id: int) -> bytes:
    """Answer a round with yes."""
    round = _decode_reply(frame).result
    ((name, question),) = round.inputRequests.items()
    field = b"confirm" if b'"confirm"' in bytes(question) else b"sure"
    return (case.frame % id)[:-2] + (
        b',"inputResponses":{"%b":{"action":"accept","content":{"%b":true}}},"requestState":"%b"}}'
        % (name.encode(), field, round.requestState.encode())
    )


class Driver:
    """Keeps `width` calls of one case open until `calls` have been answered, rightly.

    Raises:
        RuntimeError: A reply is not what it should be.
    """

    def __init__(self, case: Case, calls: int, width: int) -> None:
        self._case = case
        self._calls = max(calls, width)
        self._width = width
        self._sent = 0
        self._retries = 0
        self.open = 0

    def start(self) -> list[bytes]:
        """Return the first frames to send."""
        return [self._next() for _ in range(self._width)]

    def take(self, frames: Sequence[bytes]) -> list[bytes]:
        """Take what came, and return what to send."""
        out: list[bytes] = []
        for frame in frames:
            if b'"input_required"' in frame:
                self._retries += 1
                out.append(_retry(self._case, frame, -self._retries))  # ids below zero are none of the calls'
                continue
            if b'"method"' in frame:
                asked = _decode_asked(frame).id
                if asked is None:  # a notice
                    continue
                out.append(b'{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"sure":true}}}' % asked)
                continue
            if self._case.expected not in frame:
                raise RuntimeError(f"{self._case.name}: {frame!r:.300}")
            self.open -= 1
            if self._sent < self._calls:
                out.append(self._next())
        return out

    def _next(self) -> bytes:
        self._sent += 1
        self.open += 1
        return self._case.frame % self._sent


class Child:
    """A server in a process of its own.  Reads and writes block: there is nothing else to do."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=ENVIRONMENT,
        )
        assert self._process.stdin is not None, "asked for above"
        assert self._process.stdout is not None, "asked for above"
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._rest = b""
        self.send(OPEN)
        self.opened = self.receive()
        while not any(b'"id":0' in line for line in self.opened):  # some say other things first
            self.opened += self.receive()

    def send(self, frames: Sequence[bytes]) -> None:
        if frames:
            self._stdin.write(b"\n".join(frames) + b"\n")

    def receive(self) -> list[bytes]:
        """Wait for lines and return all that are there."""
        while True:
            chunk = os.read(self._stdout.fileno(), 65536)
            if not chunk:
                raise RuntimeError(f"{self._process.args!r} ended")
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if lines:
                return lines

    @property
    def cpu(self) -> float:
        """The CPU time that the process has used, in seconds; nanosecond resolution, Linux only."""
        clock = (~self._process.pid << 3) | 2  # what clock_getcpuclockid(3) returns
        return time.clock_gettime(clock)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def close(self) -> None:
        self._stdin.close()
        self._process.wait(10)
        self._stdout.close()


def child_command(name: str, *args: str) -> list[str]:
    """Return the command that starts a server of this folder."""
    return [sys.executable, str(HERE / name), *args]


def in_child(child: Child, driver: Driver) -> None:
    """Drive a process."""
    child.send(driver.start())
    while driver.open:
        child.send(driver.take(child.receive()))


async def in_memory(duplex: Frames, driver: Driver) -> None:
    """Drive the other end of a pair."""
    await duplex.send(driver.start())
    while driver.open:
        await duplex.send(driver.take(await duplex.receive()))
