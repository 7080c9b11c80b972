"""Idle sessions over HTTP: the memory of one, what many of them cost a call, and what dropped ones leave behind.

The driver writes requests made beforehand on blocking sockets, and reads the memory of the server from `/proc`.
"""

from __future__ import annotations

import re
import resource
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.driver import CASES, ENVIRONMENT, LEGACY, OPEN, child_command
from benchmarks.measure import Effort, Row, take

__all__ = ("TITLE", "run")

TITLE = "Sessions over HTTP that are open and idle"
SERVING = re.compile(rb"http://([^:]+):(\d+)(\S+)")
SESSION = re.compile(rb"mcp-session-id: (\S+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
WARM = 50
"""Sessions opened and dropped before anything is measured: what is made once is no session's."""


class Server:
    """A server as a child process, and one connection to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(child_command("ours.py", "--http"), env=ENVIRONMENT, stderr=subprocess.PIPE)
        assert self._process.stderr is not None
        found = SERVING.search(self._process.stderr.readline())
        assert found is not None
        self._address = (found[1].decode(), int(found[2]))
        self._path = found[3]
        self._connection = self.connect()
        self._sessions: list[bytes] = []
        self._streams: list[socket.socket] = []
        self.churn(WARM)

    def connect(self) -> socket.socket:
        """Open one more connection."""
        return socket.create_connection(self._address)

    def open(self) -> None:
        """Open a session."""
        found = SESSION.search(self.ask(b"POST", OPEN[0]))
        assert found is not None
        self._sessions.append(found[1])
        self.ask(b"POST", OPEN[1], found[1])

    def listen(self) -> None:
        """Open the stream of each session."""
        for id in self._sessions:
            stream = self.connect()
            stream.sendall(self._request(b"GET", b"", id))
            self._streams.append(stream)
        for stream in self._streams:
            assert b" 200 " in stream.recv(65536)

    def drop(self) -> None:
        """End every session."""
        for stream in self._streams:
            stream.close()
        for id in self._sessions:
            self.ask(b"DELETE", b"", id)
        self._sessions.clear()
        self._streams.clear()

    def churn(self, many: int) -> None:
        """Open and drop so many sessions, a few at a time."""
        for _ in range(many // WARM):
            for _ in range(WARM):
                self.open()
            self.drop()

    def call(self, number: int) -> None:
        """Make a call in the last session."""
        case = next(case for case in CASES[LEGACY] if case.name == "echo")
        assert case.expected in self.ask(b"POST", case.frame % number, self._sessions[-1])

    def ask(self, method: bytes, body: bytes, session: bytes = b"") -> bytes:
        """Send a request and return its response, head and all."""
        self._connection.sendall(self._request(method, body, session))
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._connection.recv(65536)
        length = LENGTH.search(data)
        end = data.index(b"\r\n\r\n") + 4 + (int(length[1]) if length else 0)
        while len(data) < end:
            data += self._connection.recv(65536)
        return data

    def _request(self, method: bytes, body: bytes, session: bytes) -> bytes:
        head = (
            b"%b %b HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n" % (method, self._path, len(body))
        )
        return b"%b%b\r\n%b" % (head, b"Mcp-Session-Id: %b\r\n" % session if session else b"", body)

    @property
    def memory(self) -> float:
        """Its resident memory in KiB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

    @property
    def cpu(self) -> int:
        """The CPU time that it has had, in nanoseconds."""
        return int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[0])

    def close(self) -> None:
        """End it."""
        self._connection.close()
        for stream in self._streams:
            stream.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


def run(effort: Effort) -> list[Row]:
    """Measure."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a stream is a descriptor, here and there
    many, dropped = effort.times(2500), effort.times(25_000)
    idle = Row(f"memory of one of {many}", "KiB", {"ours": [of_one(many) for _ in range(effort.rounds)]})
    listening = Row(
        f"memory of one of {many}, its stream open",
        "KiB",
        {"ours": [of_one(many, streams=True) for _ in range(effort.rounds)]},
    )
    left = Row(f"memory left by {dropped} more, dropped", "KiB", {"ours": [left_by(dropped)]})
    return [idle, listening, while_open(many, effort), left]


def of_one(many: int, *, streams: bool = False) -> float:
    """Memory in KiB of one session of so many."""
    server = Server()
    try:
        before = server.memory
        for _ in range(many):
            server.open()
        if streams:
            server.listen()
        return (server.memory - before) / many
    finally:
        server.close()


def left_by(dropped: int) -> float:
    """Memory in KiB that is not given back after so many sessions, beyond what as many needed before."""
    server = Server()
    try:
        server.churn(dropped)
        before = server.memory
        server.churn(dropped)
        return server.memory - before
    finally:
        server.close()


def while_open(many: int, effort: Effort) -> Row:
    """CPU of one call while so many sessions are open, and while it is the only one."""
    servers: Mapping[str, Server] = {"ours": Server(), "one session": Server()}
    try:
        for _ in range(many):
            servers["ours"].open()
        servers["one session"].open()
        calls = effort.times(2500)
        samplers = {who: partial(calling, server, calls) for who, server in servers.items()}
        return take(f"a call while {many} are open, cpu", "us", samplers, effort.rounds)
    finally:
        for server in servers.values():
            server.close()


def calling(server: Server, calls: int) -> float:
    """CPU of one call in microseconds."""
    start = server.cpu
    for number in range(1, calls + 1):
        server.call(number)
    return (server.cpu - start) / calls / 1000
