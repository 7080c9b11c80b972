"""A client and a server joined by pipes, as over stdio, with a `Line` between them.

client ══pipe══▶ line ══pipe══▶ server ══pipe══▶ line ══pipe══▶ client
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.stdio_files import file_sink, file_source
from dedalus_mcp_transports.stdio_streams import FrameStream, Sink, Source
from tests.faults.line import Direction, Line

__all__ = ("joined",)


class _Half:
    """One direction: what is read at one pipe is written to another."""

    def __init__(self, direction: Direction, line: Line, source: Source, sink: Sink) -> None:
        self._direction: Direction = direction
        self._line = line
        self._source = source
        self._sink = sink

    async def run(self, others: list[_Half]) -> None:
        """Carry until it ends, or is cut; a cut that lasts ends the other direction too."""
        try:
            while data := await self._source.read():
                pieces, is_cut = self._line.carry(self._direction, data)
                for piece in pieces:
                    await self._write(piece)
                if is_cut:
                    break
        except (OSError, anyio.ClosedResourceError):
            pass  # whoever wrote or read here has gone
        for each in others if self._line.down else [self]:
            await each.close()

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._source.aclose()
            await self._sink.aclose()

    async def _write(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            written = self._sink.write(view)
            view = view[written:]
            if not written:
                await self._sink.room()


@asynccontextmanager
async def joined(line: Line) -> AsyncGenerator[tuple[Duplex, Duplex]]:
    """Return the client's end and the server's; what is left is closed with the end of the context."""
    pipes = [os.pipe() for _ in range(4)]
    (up_in, client_out), (server_in, up_out), (down_in, server_out), (client_in, down_out) = pipes
    client = FrameStream(file_source(client_in), file_sink(client_out))
    server = FrameStream(file_source(server_in), file_sink(server_out))
    halves = [
        _Half("up", line, file_source(up_in), file_sink(up_out)),
        _Half("down", line, file_source(down_in), file_sink(down_out)),
    ]
    async with anyio.create_task_group() as group:
        for half in halves:
            group.start_soon(half.run, halves)
        try:
            yield client, server
        finally:
            for half in halves:
                await half.close()
            group.cancel_scope.cancel()
