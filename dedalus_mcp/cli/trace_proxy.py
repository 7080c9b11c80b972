"""A man in the middle on stdio: what a host and its server say passes untouched, and is told.

    host ──stdin──▶ this program ──▶ stdin of the server
    host ◀─stdout── this program ◀── stdout of the server       its stderr goes where ours does

Bytes are handed on as they come, before they are looked at.

Layer: L6.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from subprocess import PIPE

import anyio
from anyio.abc import Process, TaskStatus

from dedalus_mcp import StdioServer
from dedalus_mcp.cli.trace_entries import Ledger, Sender
from dedalus_mcp.cli.trace_target import Teller
from dedalus_mcp_transports.lines import Lines
from dedalus_mcp_transports.stdio_files import file_sink, file_source
from dedalus_mcp_transports.stdio_streams import Sink, Source

__all__ = ("pass_through",)

MAX_FRAME = 8 * 1024 * 1024
"""Bytes of a frame that is told; a longer one passes all the same."""
GRACE = 2.0
"""Seconds that a server gets to exit once its streams are closed, and again after SIGTERM."""


async def pass_through(server: StdioServer, teller: Teller) -> int:
    """Run a server between our stdin and stdout until it ends, and return its exit code.

    Args:
        server: The program; on top of our whole environment it gets its own.
        teller: Hears what is said.

    Raises:
        OSError: The server cannot be started.
    """
    command = [server.command, *server.args]
    env = {**os.environ, **server.env}
    process = await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=None, env=env, cwd=server.cwd)
    async with process:
        source, sink = file_source(os.dup(0)), file_sink(os.dup(1))
        ledger = teller.connection()
        teller.mark(ledger, "client", "opened", repr(server))
        try:
            async with anyio.create_task_group() as group:
                await group.start(_hand_on_sigterm, process, group.cancel_scope)
                group.start_soon(_from_host, source, process, _Ear("client", ledger, teller))
                await _from_server(process, sink, _Ear("server", ledger, teller))
                group.cancel_scope.cancel()
            code = await _ended(process)
        finally:
            with anyio.CancelScope(shield=True):  # bounded: see `Sink`
                await sink.aclose()
                await source.aclose()
        teller.mark(ledger, "server", "ended", f"exit code {code}")
        return code if code >= 0 else 128 - code  # by a signal, as shells have it


class _Ear:
    """Hears one direction."""

    def __init__(self, sender: Sender, ledger: Ledger, teller: Teller) -> None:
        self._sender: Sender = sender
        self._ledger = ledger
        self._teller = teller
        self._lines = Lines(MAX_FRAME)

    def hear(self, chunk: bytes) -> None:
        for frame in self._lines.feed(chunk):
            if isinstance(frame, bytes):
                self._teller.frames(self._ledger, self._sender, [frame])
            else:
                text = f"a frame of more than {frame.limit} bytes, passed on"
                self._teller.mark(self._ledger, self._sender, "junk", text)


async def _hand_on_sigterm(process: Process, passing: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    """Let the server end as it would without us; Ctrl-C reaches it by itself.

    One that has ended may have left others, which hold its stdout: it is not waited for then.
    """
    if sys.platform == "win32":
        task_status.started()
        return
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if process.returncode is not None:
                passing.cancel()
            with suppress(ProcessLookupError):  # it has ended just now
                process.terminate()


async def _from_host(source: Source, process: Process, ear: _Ear) -> None:
    assert process.stdin is not None, "piped"
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):  # the server's end is told below
        while chunk := await source.read():
            await process.stdin.send(chunk)
            ear.hear(chunk)
    await process.stdin.aclose()


async def _from_server(process: Process, sink: Sink, ear: _Ear) -> None:
    assert process.stdout is not None, "piped"
    with suppress(OSError):  # the host does not read any more: it will close our stdin, or end us
        async for chunk in process.stdout:
            await _write(sink, chunk)
            ear.hear(chunk)


async def _write(sink: Sink, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        written = sink.write(view)
        view = view[written:]
        if not written:
            await sink.room()


async def _ended(process: Process) -> int:
    """Return the exit code of a server that says nothing more, or that nobody hears any more."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None, "piped"
        with suppress(anyio.BrokenResourceError, OSError):
            await stream.aclose()
    for end in (process.terminate, process.kill):
        with anyio.move_on_after(GRACE):
            return await process.wait()
        with suppress(ProcessLookupError):  # it has ended just now
            end()
    return await process.wait()
