"""A transport of one's own, a Unix socket, with a server and a client on it.

python examples/unix_socket.py serve desk.sock                         serves until it is stopped
python examples/unix_socket.py call desk.sock add '{"a": 1, "b": 2}'   calls a tool there
python examples/unix_socket.py                                         does both, in one process

The socket is its owner's alone, so who may connect is what the system says: there is no password to
keep, and no port that a web page could reach.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint_if_cancelled

from dedalus_mcp import MCPClient, MCPServer, tool
from dedalus_mcp.transport import Received
from dedalus_mcp_transports.lines import Lines

CHUNK = 1 << 16  # bytes read at once
BACKLOG = 100  # connections that wait to be taken
CONNECTIONS = 100  # and those that are served at once; each holds a file descriptor


class UnixTransport:
    """One connection: each line is a frame.  `dedalus_mcp.transport.Duplex` says what is demanded of it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(0)
        self._sock = sock
        self._lines = Lines()
        self._unsent = bytearray()

    async def receive(self) -> Sequence[Received]:
        await checkpoint_if_cancelled()
        while True:
            try:
                chunk = self._sock.recv(CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)
                continue
            except OSError as error:
                raise self._failure(error) from error
            if frames := self._lines.feed(chunk) if chunk else self._lines.end():
                return frames
            if not chunk:
                raise anyio.EndOfStream("the other side closed the socket")

    async def send(self, frames: Sequence[bytes]) -> None:
        await checkpoint_if_cancelled()
        self._unsent += b"".join(frame + b"\n" for frame in frames)
        while self._unsent:  # what a cancelled `send` has begun is finished by the next one
            try:
                del self._unsent[: self._sock.send(self._unsent)]
            except BlockingIOError:
                await anyio.wait_writable(self._sock)
            except OSError as error:
                raise self._failure(error) from error

    async def aclose(self) -> None:
        if self._sock.fileno() >= 0:
            anyio.notify_closing(self._sock)  # wakes whoever waits in `receive` or `send`
            self._sock.close()

    def _failure(self, error: OSError) -> Exception:
        return anyio.ClosedResourceError() if self._sock.fileno() < 0 else anyio.BrokenResourceError(str(error))


@dataclass
class UnixServer:
    """What a client connects to, again and again: `MCPClient.connect(UnixServer(path))`."""

    path: Path

    async def open(self) -> UnixTransport:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(0)  # within one machine it is done at once, or refused
        try:
            sock.connect(str(self.path))
        except OSError as error:
            sock.close()
            raise OSError(error.errno, f"no server at {self.path}: {error.strerror}") from error
        return UnixTransport(sock)


@contextmanager
def listening(path: Path) -> Generator[socket.socket]:
    """A socket that takes connections of its owner; a file that an earlier server left is replaced."""
    if path.is_socket() and not answers(path):
        path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        try:
            path.chmod(0o600)  # before `listen`: nobody could connect until now
            listener.listen(BACKLOG)
            listener.settimeout(0)
            yield listener
        finally:
            path.unlink(missing_ok=True)


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect_ex(str(path)) == 0


async def accepted(listener: socket.socket) -> socket.socket:
    while True:
        await anyio.wait_readable(listener)
        try:
            return listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):  # whoever knocked has gone again
            continue


async def serve(server: MCPServer, path: Path, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    """Serve each connection in a task of its own, until cancelled."""
    room = anyio.Semaphore(CONNECTIONS)

    async def serve_one(sock: socket.socket) -> None:
        try:
            await server.serve(UnixTransport(sock))
        finally:
            room.release()

    with listening(path) as listener:
        task_status.started()
        async with anyio.create_task_group() as connections:
            while True:
                await room.acquire()
                connections.start_soon(serve_one, await accepted(listener))


@tool
async def add(a: int, b: int) -> int:
    return a + b


desk = MCPServer("desk")
desk.collect(add)


async def call(path: Path, name: str, arguments: dict[str, Any]) -> str:
    async with MCPClient.connect(UnixServer(path)) as client:
        return (await client.call_tool(name, arguments)).text


async def show() -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, "desk.sock")
        async with anyio.create_task_group() as group:
            await group.start(serve, desk, path)
            print("1 + 2 =", await call(path, "add", {"a": 1, "b": 2}))
            group.cancel_scope.cancel()


def main(arguments: list[str]) -> None:
    match arguments:
        case ["serve", path]:
            print(f"serving at {path}", file=sys.stderr, flush=True)
            anyio.run(serve, desk, Path(path))
        case ["call", path, name, given]:
            print(anyio.run(call, Path(path), name, json.loads(given)))
        case []:
            anyio.run(show)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
