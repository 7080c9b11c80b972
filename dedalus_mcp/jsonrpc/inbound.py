"""One call of theirs, while it is answered.

Layer: L3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from dedalus_mcp.jsonrpc.codec import encode_batch
from dedalus_mcp.jsonrpc.messages import Call, RequestId
from dedalus_mcp.transport import Channel, Reply

if TYPE_CHECKING:
    from dedalus_mcp.jsonrpc.peer import Peer

__all__ = ("BatchReply", "Inbound")

_telling = threading.Lock()  # handlers in threads say so, too


class Inbound:
    """A running call of the peer.

    Attributes:
        id: Its id, to be echoed.
        method: What is called.
        params: `msgspec.Raw`, or UNSET when the call has none.
        channel: Where everything that belongs to this call goes out.
        cancelled: Why nobody wants the reply any more; None as long as somebody does.
        finished: Whether the handler is over; nothing of this call may follow its reply.
        batch: The batch that the call came in; None for a call by itself.
        peer: Who received it.
        end: Ends it, where it goes on until then: see `Peer.release`.
    """

    __slots__ = (
        "_at_cancel",
        "_scope",
        "batch",
        "cancelled",
        "channel",
        "end",
        "finished",
        "id",
        "method",
        "params",
        "peer",
    )

    def __init__(self, message: Call, channel: Channel, batch: BatchReply | None, peer: Peer) -> None:
        self.id: RequestId = message.id
        self.method: str = message.method
        self.params: Any = message.params
        self.channel = channel
        self.batch = batch
        self.peer = peer
        self._scope: anyio.CancelScope | None = None
        self.end: Callable[[], None] | None = None
        self._at_cancel: tuple[Callable[[], None], ...] = ()
        self.cancelled: str | None = None
        self.finished = False

    @property
    def scope(self) -> anyio.CancelScope:
        """The handler's cancel scope."""
        if self._scope is None:
            self._scope = anyio.move_on_after(None)  # a scope like any other, which `CancelScope()` sets up twice
            if self.cancelled is not None:
                self._scope.cancel()
        return self._scope

    def cancel(self, reason: str) -> None:
        """End the handler; no reply will be sent.  The first reason stands."""
        if self.cancelled is None:
            self.cancelled = reason
            if self._scope is not None:
                self._scope.cancel()
            for tell in self._at_cancel:
                tell()

    def on_cancel(self, tell: Callable[[], None]) -> None:
        """Call `tell` once it is cancelled: a handler may be shielded from that, or run in a thread.

        It must not raise, and is not called for a cancellation that was there before.
        """
        with _telling:
            self._at_cancel = (*self._at_cancel, tell)

    def forget(self, tell: Callable[[], None]) -> None:
        """Undo `on_cancel`."""
        with _telling:
            self._at_cancel = tuple(each for each in self._at_cancel if each != tell)

    def reply(self, reply: Reply | None) -> None:
        """Send the reply, or None for a call that gets none."""
        if self.batch is not None:
            self.batch.add(None if reply is None else reply.frame)
        else:
            self.channel.reply(reply)


class BatchReply:
    """The replies to one batch, sent as one array when the last is there (2025-03-26).

    Args:
        channel: Where the array goes.
        due: How many calls and faults the batch holds; each `add`s once.
    """

    def __init__(self, channel: Channel, due: int) -> None:
        self._channel = channel
        self._due = due
        self._frames: list[bytes] = []

    def add(self, frame: bytes | None) -> None:
        """Take one reply, or None where none is given."""
        self._due -= 1
        if frame is not None:
            self._frames.append(frame)
        if self._due == 0:
            self._channel.reply(Reply(encode_batch(self._frames), None) if self._frames else None)
