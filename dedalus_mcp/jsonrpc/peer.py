"""One end of a conversation: it makes calls and answers them.

    frames in ──feed()──▶ reply      ──▶ wakes the waiter of our call
                          call       ──▶ a handler in a task of its own ──▶ channel.reply
                          cancelled  ──▶ cancels that handler
                          progress   ──▶ told to the waiter
                          notice     ──▶ handler.hear()

`feed` is synchronous and runs no user code, so replies and cancellations never wait behind
calls.  The correlation itself is `exchange.Exchange`; `ours` and `theirs` are its two directions.

Layer: L3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from dedalus_mcp.complaints import Complaints
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc import oversized
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.codec import Decoded, decode, encode
from dedalus_mcp.jsonrpc.exchange import Exchange
from dedalus_mcp.jsonrpc.inbound import BatchReply, Inbound
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, RequestId, Success
from dedalus_mcp.jsonrpc.ours import CANCELLED, PROGRESS, OurCalls, raw_params
from dedalus_mcp.jsonrpc.tasks import Run
from dedalus_mcp.jsonrpc.theirs import Handler, TheirCalls
from dedalus_mcp.jsonrpc.waiter import Progress, Waiter
from dedalus_mcp.transport import Asking, Channel, Oversized, Received, Undelivered

__all__ = ("Limits", "Peer")

logger = logging.getLogger("dedalus_mcp")


class Limits(msgspec.Struct, frozen=True):
    """The bounds of one conversation.

    Attributes:
        max_open: Calls of ours that may be open at once.  4,096 is more than a pipe full of them.
        max_in_flight: Calls of theirs that may run at once; one more is refused with an error.
    """

    max_open: int = 4096
    max_in_flight: int = 4096


class Peer:
    """One end of a conversation.

    One task feeds it; calls may be made from any task of the same event loop.

    Args:
        handler: Answers calls and hears notices.
        channel: Where calls of ours go that belong to no call of theirs.
        answers_malformed: Whether what cannot be read is answered with an error.  A server
            does; a client never, or two peers could answer each other for ever.
        limits: The bounds.
        mark: What the ids of our calls begin with: see `Exchange`.

    Attributes:
        batches: Whether a batch is legal now (2025-03-26 was negotiated).
        channel: As given.
    """

    __slots__ = (
        "__weakref__",
        "_answers_malformed",
        "_at_end",
        "_exchange",
        "_handler",
        "_heard",
        "_made",
        "_theirs",
        "batches",
        "channel",
    )

    def __init__(
        self,
        handler: Handler,
        channel: Channel,
        *,
        answers_malformed: bool,
        limits: Limits | None = None,
        mark: str = "",
    ) -> None:
        limits = limits or Limits()
        self.batches = False
        self.channel = channel
        self._handler = handler
        self._answers_malformed = answers_malformed
        self._exchange: Exchange[Waiter, Inbound] = Exchange(
            max_open=limits.max_open, max_running=limits.max_in_flight, mark=mark
        )
        self._made: OurCalls | None = None  # most conversations over HTTP ask nothing, and hear nothing wrong
        self._heard: Complaints | None = None
        self._theirs = TheirCalls(self._exchange, handler)
        self._at_end: tuple[Callable[[], None], ...] | None = ()  # None once it is closed

    @property
    def _ours(self) -> OurCalls:
        if self._made is None:
            self._made = OurCalls(self._exchange, self._complaints)
        return self._made

    @property
    def _complaints(self) -> Complaints:
        if self._heard is None:
            self._heard = Complaints()
        return self._heard

    # What comes in.

    def feed(self, frame: Received, channel: Channel) -> None:
        """Take one frame, or what stands for one.  Never raises, never waits.

        Args:
            frame: What the transport received.
            channel: Where everything goes that the frame causes.
        """
        if isinstance(frame, Undelivered):
            self._ours.fail(frame.id, frame.error)
        elif isinstance(frame, Oversized):
            self.take(oversized.describe(frame), channel)
        elif isinstance(frame, Asking):
            self._ours.stop_clocks() if frame.begins else self._ours.start_clocks()
        else:
            self.take(decode(frame), channel)

    def take(self, message: Decoded, channel: Channel) -> None:
        """Take one frame that is decoded already: see `feed`."""
        if not isinstance(message, list):
            self._take(message, channel, None)
        elif self.batches:
            due = sum(isinstance(item, Call) or self._answerable(item) for item in message)
            batch = BatchReply(channel, due)
            for item in message:
                self._take(item, channel, batch)
        else:
            refused = oversized.refuse_batch()
            for item in message:  # whoever waits for a reply in it would wait for ever
                if isinstance(item, Success | Failure) or (isinstance(item, Malformed) and item.is_reply):
                    self._ours.settle(msgspec.structs.replace(refused, id=item.id, is_reply=True))
            self._take(refused, channel, None)

    def lend(self, message: Decoded, channel: Channel) -> Run | None:
        """Take one frame, and return what answers the call that it is: to be run in a task of the caller's.

        It is looked into there, too, so a call that waits for its turn holds little; it has its id already, and may be
        cancelled.  Anything else is taken as by `take`: None, as for a call that is refused.
        """
        if isinstance(message, Call):
            return self._theirs.lend(Inbound(message, channel, None, self))
        self.take(message, channel)
        return None

    def _take(self, message: Message | Malformed, channel: Channel, batch: BatchReply | None) -> None:
        try:
            match message:
                case Call():
                    self._theirs.begin(Inbound(message, channel, batch, self))
                case Success() | Failure():
                    self._ours.settle(message)
                case Notice(method=method):
                    if method == CANCELLED:
                        if not self._theirs.cancel(raw_params(message.params)):
                            self._handler.hear(message)  # it may be a call of ours that they end (AMB-01)
                    elif method == PROGRESS:
                        self._ours.progressed(raw_params(message.params))
                    else:
                        self._handler.hear(message)
                case Malformed():
                    self._reject(message, channel, batch)
        except Exception:  # whoever listens: its fault must not cost the connection
            logger.exception("taking a message failed")

    def _answerable(self, message: Message | Malformed) -> bool:
        return isinstance(message, Malformed) and self._answers_malformed and not message.is_reply

    def _reject(self, message: Malformed, channel: Channel, batch: BatchReply | None) -> None:
        is_reply = message.is_reply or (message.is_bare and not self._answers_malformed)
        if is_reply and message.id is not None:
            self._ours.settle(message)
        elif not self._answerable(message):
            self._complaints.tell("dropped a frame that is no message: %s", excerpt(message.error.message))
        else:
            reply = encode(Failure(message.id, message.error))
            if batch is not None:
                batch.add(reply)
            elif not channel.full:  # a peer that sends garbage and reads nothing gets no more of it
                channel.send(reply)

    # What goes out.

    def call(
        self,
        method: str,
        params: Any = UNSET,
        *,
        channel: Channel | None = None,
        timeout: Timeout | None = None,
        progress: tuple[RequestId, Progress | None] | None = None,
        opened: Callable[[RequestId], None] | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Make a call and wait for its reply.

        Cancelling the wait, or its timeout, tells the peer that no reply is wanted any more.

        Args:
            method: What to call.
            params: Any value that encodes to a JSON object.
            channel: Where the call goes out; the peer's own channel if None.
            timeout: How long to wait; None for no limit.
            progress: The token that the params carry, and who is told of progress under it.
            opened: Told the call's id, before it is sent; it must not raise.

        Returns:
            The result, raw.

        Raises:
            McpError: The peer replied with this error.
            RemoteProtocolError: The peer's reply is not one.
            RequestTimeout: No reply came in time.
            ConnectionLost: No reply can come.
            MCPConnectionError: Where calls travel by themselves, as over HTTP, this one failed.
            LocalProtocolError: Too many calls are open, one of them has the same progress token, or
                the params are not JSON; nothing was sent.
        """
        return self._ours.call(method, params, channel or self.channel, timeout, progress, opened)

    def notify(self, method: str, params: Any = UNSET, *, channel: Channel | None = None) -> None:
        """Send a notice.

        Raises:
            LocalProtocolError: The params are not JSON.
        """
        (channel or self.channel).send(encode(Notice(method, params)))

    def run_apart(self, call: Inbound, run: Run, *, awaited: bool = False) -> None:
        """Run the handler of a call that others are replied to for; this conversation takes it along.

        Args:
            call: That call.
            run: Runs its handler.
            awaited: Whether one of them waits for it now, so that it goes on as they do when the other side ends.
        """
        self._theirs.run_apart(call, run, awaited=awaited)

    def await_apart(self, call: Inbound) -> None:
        """A call waits for a handler that runs apart, or goes on after its reply: it goes on as they do, see above."""
        self._theirs.await_apart(call)

    def leave_apart(self, call: Inbound) -> None:
        """Nobody waits for a handler that runs apart any more, and it goes on: it ends when the other side does."""
        self._theirs.leave_apart(call)

    def reply_early(self, call: Inbound, result: Any) -> None:
        """Reply to a call whose handler goes on; what that returns is dropped, and this conversation takes it along.

        Nothing happens if the call is replied to already.
        """
        self._theirs.reply_early(call, result)

    def clocks_stopped(self) -> AbstractContextManager[None]:
        """Let no time count for any open call of ours, while a person is being asked."""
        return self._ours.clocks_stopped()

    def runs(self, id: RequestId) -> bool:
        """Whether a call with this id is under way, whoever made it."""
        return self._exchange.runs(id)

    # Calls that last.

    @property
    def lasting(self) -> int:
        """How many calls of theirs go on until they are ended."""
        return len(self._exchange.lasting)

    def release(self, call: Inbound, end: Callable[[], None]) -> None:
        """Let a call of theirs go on until it is ended: it is not counted among those that run.

        Args:
            call: The call.  Whoever answers it has a bound of their own on how many there may be.
            end: Called when the conversation drains; the call is then answered soon.
        """
        self._theirs.release(call, end)

    def drain(self) -> None:
        """End the calls that last, so that `idle` need not wait for them; later ones end at once.  Idempotent."""
        self._theirs.drain()

    async def drained(self) -> None:
        """Return when no call is left that lasts."""
        await self._theirs.drained()

    # The end.

    def cancel_theirs(self, reason: str) -> None:
        """Whoever made their calls has forgotten them: end the handlers.  Their ids may come again; ours go on."""
        for call in self._exchange.cancel_all():
            call.cancel(reason)

    def at_end(self, leave: Callable[[], None]) -> None:
        """Call `leave` when the conversation is closed; at once, if a handler has outlived it.  It must not raise."""
        if self._at_end is None:
            leave()
        else:
            self._at_end = (*self._at_end, leave)

    def lose(self, reason: str) -> None:
        """Nothing can come any more: fail our open calls; theirs go on, unless they wait for more.  Idempotent."""
        self._ours.lose(reason)
        self._theirs.lose(reason)

    def close(self, reason: str) -> None:
        """Fail our open calls and cancel the handlers of theirs.  Idempotent."""
        self.lose(reason)
        for call in self._exchange.close(reason)[1]:
            call.cancel(reason)
        leaving, self._at_end = self._at_end, None
        for leave in leaving or ():
            leave()

    async def idle(self) -> None:
        """Return when no handler runs."""
        await self._theirs.idle()
