"""Drives a server over HTTP with requests made beforehand, on blocking sockets."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.driver import ENVIRONMENT, OPEN, Case

__all__ = ("HttpChild", "connected", "exchange")

SERVING = re.compile(rb"http://([^:]+):(\d+)(\S+)")
SESSION = re.compile(rb"mcp-session-id: (\S+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
METHOD = re.compile(rb'"method":"([^"]+)"')
NAME = re.compile(rb'"name":"([^"]+)"')
MODERN = b"2026-07-28"


class HttpChild:
    """A server as a child process that says on stderr where it serves, and one connection to it.

    Args:
        command: Starts it.
        environment: What it finds in its environment besides.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(command, env={**ENVIRONMENT, **(environment or {})}, stderr=subprocess.PIPE)
        assert self._process.stderr is not None
        found = SERVING.search(self._process.stderr.readline())
        assert found is not None
        self._address = (found[1].decode(), int(found[2]))
        self._path = found[3]
        self._connection = self.connect()

    @property
    def url(self) -> str:
        """Where it serves."""
        host, port = self._address
        return f"http://{host}:{port}{self._path.decode()}"

    def connect(self) -> socket.socket:
        """Open one more connection."""
        return socket.create_connection(self._address)

    def open(self) -> bytes:
        """Open a session and return its id."""
        found = SESSION.search(self.ask(b"POST", OPEN[0]))
        assert found is not None
        self.ask(b"POST", OPEN[1], found[1])
        return found[1]

    def ask(self, method: bytes, body: bytes, session: bytes = b"") -> bytes:
        """Send a request and return its response, head and all."""
        self._connection.sendall(self.request(method, body, session))
        return receive(self._connection)

    def request(self, method: bytes, body: bytes, session: bytes = b"") -> bytes:
        """Return a request: that of a session, or one of 2026-07-28 where the body says so."""
        head = (
            b"%b %b HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n" % (method, self._path, len(body))
        )
        if session:
            head += b"Mcp-Session-Id: %b\r\n" % session
        if MODERN in body:
            called, name = METHOD.search(body), NAME.search(body)
            assert called is not None
            head += b"Mcp-Protocol-Version: %b\r\nMcp-Method: %b\r\n" % (MODERN, called[1])
            if called[1] == b"tools/call" and name is not None:
                head += b"Mcp-Name: %b\r\n" % name[1]
        return head + b"\r\n" + body

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
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


def receive(connection: socket.socket) -> bytes:
    """Read one response that has a `Content-Length`, head and all.

    Raises:
        ConnectionError: The server has closed the connection.
    """
    data = bytearray()
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    length = LENGTH.search(data)
    end = data.index(b"\r\n\r\n") + 4 + (int(length[1]) if length else 0)
    while len(data) < end:
        data += _more(connection)
    return bytes(data)


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the server has closed the connection")
    return data


@contextmanager
def connected(child: HttpChild, sessions: Sequence[bytes]) -> Generator[list[tuple[socket.socket, bytes]]]:
    """Open a connection for each of these sessions: one that was kept from sample to sample would be closed as idle."""
    with ExitStack() as stack:
        yield [(stack.enter_context(child.connect()), session) for session in sessions]


def exchange(
    child: HttpChild, sockets: Sequence[tuple[socket.socket, bytes]], case: Case, calls: int, *, modern: bool
) -> None:
    """Make calls, on all connections at once, and see that each is answered rightly.

    Raises:
        RuntimeError: One is not.
    """
    for turn in range(max(1, calls // len(sockets))):
        for number, (connection, session) in enumerate(sockets):
            body = case.frame % (turn * len(sockets) + number + 1)
            connection.sendall(child.request(b"POST", body, b"" if modern else session))
        for connection, _ in sockets:
            response = receive(connection)
            if case.expected not in response:
                raise RuntimeError(f"{case.name}: {response!r:.300}")
