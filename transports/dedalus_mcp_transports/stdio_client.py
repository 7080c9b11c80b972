"""The client's end of stdio: a server as a child process.

Layer: L5; imports `transport`, its neighbours and anyio.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import anyio
from anyio.lowlevel import checkpoint

from dedalus_mcp.transport import Duplex, Oversized
from dedalus_mcp_transports.lines import MAX_FRAME
from dedalus_mcp_transports.stdio_files import file_sink, file_source
from dedalus_mcp_transports.stdio_process import Process, until
from dedalus_mcp_transports.stdio_stderr import Stderr, StderrSink
from dedalus_mcp_transports.stdio_streams import CHUNK, FrameStream, Sink, Source

__all__ = ("GRACE", "INHERITED_ENV", "StdioServer")

GRACE = 2.0
"""Seconds that a server gets to exit by itself, and again to heed SIGTERM."""

NEWS_TIMEOUT = 0.5
"""Seconds to wait, once a server's stdout has ended, for its exit code and last words."""

INHERITED_ENV = (
    # fmt: off
    (
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "NUMBER_OF_PROCESSORS",
        "OS",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    )
    if sys.platform == "win32"
    else (
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_RUNTIME_DIR",
    )
    # fmt: on
)
"""The variables that a server gets from our environment: what programs need to run, no secrets."""


class StdioServer:
    """A server to be started as a child process; a `Target`.

    Each `open` starts a process of its own, in a session of its own: Ctrl-C in the terminal
    reaches the client alone, which then ends the server in good order.

    Args:
        command: The program; looked up in PATH.
        args: Its arguments.
        env: Variables to set on top of `INHERITED_ENV`, which is all that is inherited: a server
            is often somebody else's program, and our environment has our keys.  Pass
            ``env=os.environ`` to share everything.
        cwd: Where it runs; None means here.
        stderr: Where its stderr goes: None for our own, a descriptor, an open file, a function
            (called in another thread with each line that is not blank), or
            ``subprocess.DEVNULL``.  The end of it is kept for error messages in any case.
        max_frame: Bytes in a received frame, at most.
        grace: Seconds that it gets to exit once its stdin is closed, and again after SIGTERM.

    Raises:
        TypeError: An argument or a variable is no string.
    """

    def __init__(  # noqa: PLR0913  # what a process is started with, and three settings
        self,
        command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        *,
        stderr: StderrSink = None,
        max_frame: int = MAX_FRAME,
        grace: float = GRACE,
    ) -> None:
        if isinstance(args, str):  # a sequence too, of letters
            raise TypeError(f"args is a list of strings, as in StdioServer({command!r}, [{args!r}])")
        for index, each in enumerate(args):
            if not isinstance(each, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
                raise TypeError(f"args[{index}] is a string, not {type(each).__name__}")
        for name, value in (env or {}).items():
            if not (isinstance(name, str) and isinstance(value, str)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
                raise TypeError(f"env[{name!r:.80}] is a string, not {type(value).__name__}")
        self.command = command
        self.args = tuple(args)
        self.env = dict(env or {})
        self.cwd = cwd
        self.stderr: StderrSink = stderr
        self.max_frame = max_frame
        self.grace = grace

    def __repr__(self) -> str:
        return f"StdioServer({self.command!r}, {list(self.args)!r})"  # not `env`: it may hold secrets

    async def open(self) -> Duplex:
        """Start the server and connect to it.

        Raises:
            OSError: It cannot be started; the text names the command.
        """
        await checkpoint()
        env = {name: os.environ[name] for name in INHERITED_ENV if name in os.environ} | self.env
        # In one go, with nothing to wait for: a cancelled `open` leaves nothing behind.
        process = Process([self.command, *self.args], env, self.cwd)
        try:
            return _Connection(self, process)
        except BaseException:  # out of descriptors or threads
            process.kill()
            raise


class _Connection:
    """A running server.  Any task may use it, and any may close it."""

    def __init__(self, target: StdioServer, process: Process) -> None:
        self._name = target.command
        self._grace = target.grace
        self._process = process
        self._stderr = Stderr(process.stderr, target.stderr)
        self._source = _source(process)
        self._sink = _sink(process.stdin)
        self._frames = FrameStream(self._source, self._sink, max_frame=target.max_frame)
        self._closing = False
        self._closed = anyio.Event()

    async def receive(self) -> Sequence[bytes | Oversized]:
        try:
            return await self._frames.receive()
        except anyio.EndOfStream:
            raise anyio.EndOfStream(await self._news()) from None
        except anyio.BrokenResourceError as error:
            raise anyio.BrokenResourceError(await self._news()) from error

    async def send(self, frames: Sequence[bytes]) -> None:
        try:
            await self._frames.send(frames)
        except anyio.BrokenResourceError as error:
            raise anyio.BrokenResourceError(await self._news()) from error

    async def aclose(self) -> None:
        if self._closing:
            await self._closed.wait()
            return
        self._closing = True
        try:
            with anyio.CancelScope(shield=True):  # bounded by the graces
                await self._sink.aclose()
                await self._source.aclose()
                await self._process.end(self._grace, self._drain)
                await until(self._stderr.ended, NEWS_TIMEOUT)
        finally:
            # All of it once more, at once: asyncio's own cancellation breaks shields.
            self._process.kill()
            self._sink.close()
            self._source.close()
            os.close(self._process.stdout)
            self._closed.set()

    def _drain(self) -> None:
        """Read on while the server ends: one that waits for us to take its output would not."""
        if sys.platform != "win32":  # where reading would block
            with suppress(OSError):
                while os.read(self._process.stdout, CHUNK):
                    pass

    async def _news(self) -> str:
        """Say what became of the server, with its last words."""
        await until(self._process.exited, NEWS_TIMEOUT)
        ending = self._process.ending()
        if ending is None:
            return f"the server {self._name!r} closed its stdout and goes on running"
        await until(self._stderr.ended, NEWS_TIMEOUT)
        excerpt = self._stderr.excerpt()
        return f"the server {self._name!r} {ending}" + (f"; the end of its stderr:\n{excerpt}" if excerpt else "")


def _sink(stdin: int) -> Sink:
    if sys.platform == "win32":
        return file_sink(stdin)
    return Sink(stdin, partial(os.write, stdin), partial(os.close, stdin))


def _source(process: Process) -> Source:
    """Read the stdout of `process`, which stays open for `_drain` when the source is closed."""
    stdout = process.stdout
    if sys.platform != "linux":
        return file_source(os.dup(stdout))
    # A child of the server may hold the pipe open when the server is dead: wait for either end.
    watch = select.epoll()
    watch.register(stdout, select.EPOLLIN)
    try:
        death = os.pidfd_open(process.pid)
        watch.register(death, select.EPOLLIN)
    except OSError:
        death = None

    def read(size: int) -> bytes:
        try:
            return os.read(stdout, size)
        except BlockingIOError:
            if not process.exited():
                raise
        try:
            return os.read(stdout, size)  # what it wrote between the first look and its end
        except BlockingIOError:
            return b""

    def close() -> None:
        watch.close()
        if death is not None:
            os.close(death)

    return Source(watch.fileno(), read, close)
