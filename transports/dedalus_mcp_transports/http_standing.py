"""An event stream that stays open without a request that it answers.

    wake() ──▶ what there is goes out        nothing for a while ──▶ a comment goes out
    end()  ──▶ what is left goes out, and the stream is over

Layer: L5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio

from dedalus_mcp_transports import sse
from dedalus_mcp_transports.http_channel import start_stream
from dedalus_mcp_transports.http_request import Receive, Send, left

__all__ = ("StandingStream",)

logger = logging.getLogger("dedalus_mcp")


class StandingStream:
    """An event stream with one reader at a time; a new one takes the place of the one before.

    Args:
        take: Returns what is to be sent, written as events; empty if there is nothing.
    """

    __slots__ = ("_ended", "_news", "_reader", "_take")

    def __init__(self, take: Callable[[], bytes]) -> None:
        self._take = take
        self._news: anyio.Event | None = None
        self._reader: Send | None = None
        self._ended = False

    @property
    def open(self) -> bool:
        """Whether somebody reads."""
        return self._reader is not None

    def wake(self) -> None:
        """There is something to be sent."""
        if self._news is not None:
            self._news.set()

    def end(self) -> None:
        """Let `serve` return, when what there is was sent."""
        self._ended = True
        self.wake()

    async def serve(self, receive: Receive, send: Send, keep_alive: float, first: bytes) -> None:
        """Send what there is and what comes, until the client leaves or another takes its place.

        Args:
            receive: ASGI's way in.
            send: ASGI's way out.
            keep_alive: How long the stream may be silent, in seconds.
            first: What the stream begins with.
        """
        self._reader = send
        self.wake()  # whoever was served until now
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._write, send, keep_alive, first or sse.comment(), group.cancel_scope)
                await left(receive, lambda: False)
                group.cancel_scope.cancel()
        finally:
            if self._reader is send:
                self._reader = None

    async def _write(self, send: Send, keep_alive: float, first: bytes, scope: anyio.CancelScope) -> None:
        try:
            await start_stream(send)
            await send({"type": "http.response.body", "body": first, "more_body": True})
            while self._reader is send and not self._ended:
                chunk = self._take() or await self._wait(send, keep_alive)
                if chunk:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            rest = self._take() if self._reader is send else b""
            await send({"type": "http.response.body", "body": rest})
        except Exception as error:  # noqa: BLE001 - servers and middlewares raise what they like when a client is gone
            logger.debug("a client has left: %r", error)
        scope.cancel()

    async def _wait(self, send: Send, keep_alive: float) -> bytes:
        """Wait for news; return a comment if none come, and nothing otherwise."""
        self._news = news = anyio.Event()
        with anyio.move_on_after(keep_alive):
            await news.wait()
        return b"" if news.is_set() or self._reader is not send else sse.comment()
