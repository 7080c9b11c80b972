"""A peer on a duplex transport: the read loop, the write loop and the end of both.

    receive() ──▶ peer.feed ··· handlers ··· outbox ──▶ send()

    the other side ends ──▶ our open calls fail ──▶ handlers drain ──▶ outbox is written ──▶ closed

Layer: L3.
"""

from __future__ import annotations

import logging

import anyio

from dedalus_mcp.jsonrpc.outbox import Outbox
from dedalus_mcp.jsonrpc.peer import Limits, Peer
from dedalus_mcp.jsonrpc.tasks import one_step
from dedalus_mcp.jsonrpc.theirs import Handler
from dedalus_mcp.transport import Duplex

__all__ = ("Conversation",)

logger = logging.getLogger("dedalus_mcp")

# How long handlers may take to clean up once cancelled, and the last frames to be written.
CLOSING_SECONDS = 1.0


class Conversation:
    """One peer, joined to one duplex transport.

    Args:
        handler: Answers the other side.
        duplex: The connection; closed when the conversation ends.
        answers_malformed: See `Peer`.
        limits: See `Peer`.

    Attributes:
        peer: The end that is ours.
        ended: Why the conversation is over; None as long as it is not.
    """

    def __init__(
        self, handler: Handler, duplex: Duplex, *, answers_malformed: bool, limits: Limits | None = None
    ) -> None:
        self._duplex = duplex
        self._outbox = Outbox(self._overflowed)
        self._scope = anyio.CancelScope()
        self.peer = Peer(handler, self._outbox, answers_malformed=answers_malformed, limits=limits)
        self.ended: str | None = None

    async def run(self, *, drain: float = 0.0) -> None:
        """Converse until the other side ends, `stop` is called or the caller is cancelled.

        Never raises anything but cancellation: `ended` says why it is over.

        Args:
            drain: How long running handlers may go on after the other side has ended, in seconds.
        """
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._write)
                    await self._read()
                    await self._drain(drain)
                    group.cancel_scope.cancel()
        finally:
            self._end("the connection was closed here")
            with anyio.move_on_after(CLOSING_SECONDS, shield=True):
                await self.peer.idle()
            self._outbox.close()
            await self._close()

    def stop(self, reason: str) -> None:
        """End the conversation now: open calls fail, handlers are cancelled.  Idempotent."""
        self._end(reason)
        self._scope.cancel()

    async def end_lasting(self) -> None:
        """End the calls that last, and return when the other side knows, or within a bounded time."""
        if self.peer.lasting:
            self.peer.drain()
            with anyio.move_on_after(CLOSING_SECONDS):
                await self.peer.drained()
                await self._outbox.flushed()

    async def _close(self) -> None:
        with anyio.CancelScope(shield=True):  # bounded by the transport's own contract
            try:
                await self._duplex.aclose()
            except Exception:
                logger.exception("closing failed")

    async def _read(self) -> None:
        feed, outbox, duplex = self.peer.feed, self._outbox, self._duplex
        try:
            while True:
                for frame in await duplex.receive():
                    feed(frame, outbox)
        except anyio.EndOfStream as error:
            for _ in range(2):  # on trio the order is any
                await one_step()  # of what came last: others may go on for its sake
            self._lost(str(error) or "the other side ended the connection")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._lost(str(error) or "the connection broke")
        except Exception as error:
            logger.exception("receiving failed")
            self._lost(f"the connection broke: {error}")

    async def _write(self) -> None:
        try:
            while True:
                await self._duplex.send(await self._outbox.take())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            # Its last replies and the reason of its end may still be there to be read, so the read
            # loop gets the time to find them.
            self._outbox.close()
            await anyio.sleep(CLOSING_SECONDS)
            self.stop(str(error) or "the other side does not read any more")
        except Exception as error:
            logger.exception("sending failed")
            self.stop(f"the connection broke: {error}")

    def _lost(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
        self.peer.lose(reason)

    async def _drain(self, seconds: float) -> None:
        self.peer.drain()
        with anyio.move_on_after(seconds):
            await self.peer.idle()
        self._end("the other side ended the connection")
        with anyio.move_on_after(CLOSING_SECONDS):
            await self.peer.idle()
            await self._outbox.flushed()

    def _end(self, reason: str) -> None:
        if self.ended is None:
            self.ended = reason
        self.peer.close(self.ended)

    def _overflowed(self) -> None:
        self.stop("the other side does not read: too many bytes wait for it")
