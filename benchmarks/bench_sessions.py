"""Idle sessions over HTTP: the memory of one, what many of them cost a call, and what dropped ones leave behind.

The driver writes requests made beforehand on blocking sockets, and reads the memory of the server from `/proc`.
"""

from __future__ import annotations

import resource
import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from benchmarks.driver import CASES, LEGACY, child_command
from benchmarks.http_driver import HttpChild
from benchmarks.measure import Effort, Row, take

__all__ = ("TITLE", "run")

TITLE = "Sessions over HTTP that are open and idle"
WARM = 50
"""Sessions opened and dropped before anything is measured: what is made once is no session's."""
LARGE_IN_HEAP = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20), "MALLOC_TRIM_THRESHOLD_": str(8 << 20)}
"""Lets glibc keep the 256 KiB that asyncio reads each request into.

Else it depends on what else is in memory, sessions or anything, whether they are mapped anew for each request: that
costs 45 us, and says nothing of sessions.
"""


class Server(HttpChild):
    """Ours, and the sessions that are open."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(child_command("ours.py", "--http"), environment)
        self._sessions: list[bytes] = []
        self._streams: list[socket.socket] = []
        self.churn(WARM)

    def begin(self) -> None:
        """Open a session."""
        self._sessions.append(self.open())

    def listen(self) -> None:
        """Open the stream of each session."""
        for id in self._sessions:
            stream = self.connect()
            stream.sendall(self.request(b"GET", b"", id))
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
                self.begin()
            self.drop()

    def call(self, number: int) -> None:
        """Make a call in the last session."""
        case = next(case for case in CASES[LEGACY] if case.name == "echo")
        assert case.expected in self.ask(b"POST", case.frame % number, self._sessions[-1])

    def close(self) -> None:
        """End it."""
        for stream in self._streams:
            stream.close()
        super().close()


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
            server.begin()
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
    servers: Mapping[str, Server] = {who: Server(LARGE_IN_HEAP) for who in ("ours", "one session")}
    try:
        for _ in range(many):
            servers["ours"].begin()
        servers["one session"].begin()
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
