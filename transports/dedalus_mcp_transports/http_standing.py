"""An event stream that stays open without a request that it answers.

    wake() ──▶ what there is goes out        nothing for a while ──▶ a comment goes out
    end()  ──▶ what is left goes out, and the stream is over

Nothing runs for a stream on which nothing happens: a task writes what there is, and ends.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp_transports import sse
from dedalus_mcp_transports.http_channel import complete, start_stream
from dedalus_mcp_transports.http_life import Pulse
from dedalus_mcp_transports.http_request import Receive, Send
from dedalus_mcp_transports.turn import Turn

__all__ = ("StandingStream",)

logger = logging.getLogger("dedalus_mcp")


class StandingStream:
    """An event stream with one reader at a time; a new one takes the place of the one before.

    Args:
        take: Returns what is to be sent, written as events; empty if there is nothing.
    """

    __slots__ = ("_ended", "_reader", "_scope", "_take", "_tasks", "_turn")

    def __init__(self, take: Callable[[], bytes]) -> None:
        self._take = take
        self._reader: Send | None = None
        self._turn = Turn()
        self._tasks = Tasks()
        self._scope: anyio.CancelScope | None = None  # of whoever serves the reader
        self._ended = False

    @property
    def open(self) -> bool:
        """Whether somebody reads."""
        return self._reader is not None

    def over_for(self, send: Send) -> bool:
        """Whether nothing more goes out on this connection."""
        return self._reader is not send

    def wake(self) -> None:
        """There is something to be sent."""
        if self._reader is not None and self._turn.take():
            self._tasks.start(partial(self._write_in_turn, self._reader, self._turn), detached=True)

    def end(self) -> None:
        """Let `serve` return, when what there is was sent."""
        self._ended = True
        self.wake()

    async def serve(self, receive: Receive, send: Send, pulse: Pulse, first: bytes) -> None:
        """Send what there is and what comes, until the client leaves or another takes its place.

        Args:
            receive: ASGI's way in.
            send: ASGI's way out.
            pulse: Keeps the stream alive while it is silent.
            first: What the stream begins with.
        """
        if self._reader is not None:  # in a task of its own: nobody may be reading there
            self._tasks.start(partial(complete, self._reader, self._turn), detached=True)
        self._leave()
        self._reader, self._turn = send, Turn()
        self._scope = anyio.CancelScope()
        try:
            with self._scope:
                async with self._turn as turn:
                    await self._begin(send, turn, first or sse.comment())
                await pulse.attend(self, receive, send)
        finally:
            if self._reader is send:
                self._leave()

    async def beat(self) -> None:
        """Send a comment, so that nobody between takes a silent stream for a dead one."""
        send, turn = self._reader, self._turn
        if send is not None and turn.take():
            await self._write_in_turn(send, turn, sse.comment())

    async def _write_in_turn(self, send: Send, turn: Turn, first: bytes = b"") -> None:
        try:
            await self._write(send, turn, first)
        finally:  # with nothing awaited since the last look: who wakes it from now on starts another
            turn.give_back()

    async def _begin(self, send: Send, turn: Turn, first: bytes) -> None:
        try:
            await start_stream(send, turn)
        except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
            logger.debug("a client has left: %r", error)
        await self._write(send, turn, first)

    async def _write(self, send: Send, turn: Turn, chunk: bytes = b"") -> None:
        """Send a chunk and what there is besides; the last of it, where the stream has ended."""
        try:
            while turn is self._turn and (chunk := chunk or self._take()):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = b""
            if turn is self._turn and self._ended:
                await send({"type": "http.response.body", "body": b""})
                self._leave()
        except Exception as error:  # noqa: BLE001 - likewise
            logger.debug("a client has left: %r", error)
            if turn is self._turn:
                self._leave()

    def _leave(self) -> None:
        """Nobody reads any more."""
        self._reader = None
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None
