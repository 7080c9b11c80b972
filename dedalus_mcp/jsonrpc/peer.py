"""One end of a conversation: it makes calls and answers them.

    frames in ──feed()──▶ reply      ──▶ wakes the waiter of our call
                          call       ──▶ a handler in a task of its own ──▶ channel.send(reply)
                          cancelled  ──▶ cancels that handler
                          progress   ──▶ told to the waiter
                          notice     ──▶ handler.hear()

`feed` is synchronous and runs no user code, so replies and cancellations never wait behind
calls.  The correlation itself is `exchange.Exchange`; the peer owns waiters and handler tasks.

Layer: L3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CoroutineType
from typing import Any, Protocol, TypeGuard

import anyio
import msgspec
from msgspec import UNSET, Raw

from dedalus_mcp.errors import ConnectionLost, LocalProtocolError, McpError, RequestTimeout
from dedalus_mcp.jsonrpc import oversized
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.exchange import Exchange, Stray
from dedalus_mcp.jsonrpc.failures import INTERNAL, encode_failure, only_mcp_error
from dedalus_mcp.jsonrpc.inbound import BatchReply, Inbound
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, RequestId, Success
from dedalus_mcp.jsonrpc.tasks import Tasks, is_foreign
from dedalus_mcp.jsonrpc.waiter import Progress, Waiter
from dedalus_mcp.transport import Channel, Oversized

__all__ = ("Handler", "Limits", "Peer")

logger = logging.getLogger("dedalus_mcp")

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
# The protocol forbids the first; a legacy server would not know what the second was.
NEVER_CANCELLED = ("initialize", "server/discover")


class Handler(Protocol):
    """What a peer answers with."""

    def answer(self, call: Inbound) -> Any:
        """Return the result, any value that encodes to a JSON object; or a coroutine that does.

        Called in the read loop, in the order of the calls: what must happen in that order, and
        what is quick, happens here.  User code runs in the coroutine, in a task of its own.

        Raises:
            McpError: The error to reply with.  Anything else becomes -32603 "Internal error".
        """
        ...

    def hear(self, notice: Notice) -> None:
        """Take a notice.  Called in the read loop: it must not block, and runs no user code."""
        ...


class Limits(msgspec.Struct, frozen=True):
    """The bounds of one conversation.

    Attributes:
        max_open: Calls of ours that may be open at once.  4,096 is more than a pipe full of them.
        max_in_flight: Calls of theirs that may run at once; one more is refused with an error.
    """

    max_open: int = 4096
    max_in_flight: int = 4096


class _Cancelled(msgspec.Struct):
    requestId: RequestId | None = None  # optional in 2025-11-25
    reason: str | None = None


class _ProgressToken(msgspec.Struct):
    progressToken: RequestId


_decode_cancelled = msgspec.json.Decoder(_Cancelled).decode
_NO_PARAMS = Raw(b"{}")
_decode_token = msgspec.json.Decoder(_ProgressToken).decode


class Peer:
    """One end of a conversation.

    One task feeds it; calls may be made from any task of the same event loop.

    Args:
        handler: Answers calls and hears notices.
        channel: Where calls of ours go that belong to no call of theirs.
        answers_malformed: Whether what cannot be read is answered with an error.  A server
            does; a client never, or two peers could answer each other for ever.
        limits: The bounds.

    Attributes:
        batches: Whether a batch is legal now (2025-03-26 was negotiated).
    """

    def __init__(
        self, handler: Handler, channel: Channel, *, answers_malformed: bool, limits: Limits | None = None
    ) -> None:
        limits = limits or Limits()
        self.batches = False
        self._handler = handler
        self._channel = channel
        self._answers_malformed = answers_malformed
        self._exchange: Exchange[Waiter, Inbound] = Exchange(max_open=limits.max_open, max_running=limits.max_in_flight)
        self._tokens: dict[RequestId, Waiter] = {}
        self._tasks = Tasks()
        self._stops = 0  # how many reasons there are for the clocks to stand still

    # What comes in.

    def feed(self, frame: bytes | Oversized, channel: Channel) -> None:
        """Take one frame.  Never raises, never waits.

        Args:
            frame: What the transport received.
            channel: Where everything goes that the frame causes.
        """
        message = oversized.describe(frame) if isinstance(frame, Oversized) else decode(frame)
        if not isinstance(message, list):
            self._take(message, channel, None)
        elif self.batches:
            due = sum(isinstance(item, Call) or self._answerable(item) for item in message)
            batch = BatchReply(channel, due)
            for item in message:
                self._take(item, channel, batch)
        else:
            self._take(oversized.refuse_batch(), channel, None)

    def _take(self, message: Message | Malformed, channel: Channel, batch: BatchReply | None) -> None:
        try:
            match message:
                case Call():
                    self._begin(Inbound(message.id, message.method, message.params, channel, batch))
                case Success() | Failure():
                    self._settle(message)
                case Notice(method=method):
                    if method == CANCELLED:
                        self._cancel(message)
                    elif method == PROGRESS:
                        self._progress(message)
                    else:
                        self._handler.hear(message)
                case Malformed():
                    self._reject(message, channel, batch)
        except Exception:  # whoever listens: its fault must not cost the connection
            logger.exception("taking a message failed")

    def _settle(self, reply: Success | Failure | Malformed) -> None:
        waiter = self._exchange.settle(reply.id)
        if not isinstance(waiter, Stray):
            waiter.settle(reply)
        elif waiter is Stray.LATE:
            logger.debug("dropped the reply to call %.80r: %s", reply.id, waiter.value)
        else:
            logger.warning("dropped the reply to call %.80r: %s", reply.id, waiter.value)

    def _cancel(self, notice: Notice) -> None:
        try:
            cancelled = _decode_cancelled(_raw(notice.params))
        except (msgspec.DecodeError, RecursionError) as error:
            logger.debug("dropped a malformed %s: %s", CANCELLED, error)
            return
        call = self._exchange.cancel(cancelled.requestId)
        if call is not None:
            call.cancel(cancelled.reason or "cancelled by the peer")

    def _progress(self, notice: Notice) -> None:
        params = _raw(notice.params)
        try:
            token = _decode_token(params).progressToken
        except (msgspec.DecodeError, RecursionError) as error:
            logger.debug("dropped a malformed %s: %s", PROGRESS, error)
            return
        waiter = self._tokens.get(token)
        if waiter is not None:
            waiter.progressed(params)

    def _answerable(self, message: Message | Malformed) -> bool:
        return isinstance(message, Malformed) and self._answers_malformed and not message.is_reply

    def _reject(self, message: Malformed, channel: Channel, batch: BatchReply | None) -> None:
        if message.is_reply and message.id is not None:
            self._settle(message)
        elif not self._answerable(message):
            logger.warning("dropped a frame that is no message: %.160s", message.error.message)
        else:
            reply = encode(Failure(message.id, message.error))
            if batch is not None:
                batch.add(reply)
            elif not channel.full:  # a peer that sends garbage and reads nothing gets no more of it
                channel.send(reply)

    # Their calls.

    def _begin(self, call: Inbound) -> None:
        try:
            self._exchange.accept(call.id, call)
        except McpError as refused:
            call.reply(encode(Failure(call.id, refused.error)))
            return
        except ConnectionLost:
            call.reply(None)
            return
        try:
            answer = self._handler.answer(call)
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes the reply, and one log entry
            self._reply(call, self._failed(call, error))
            return
        if _is_coroutine(answer):
            self._tasks.start(lambda: self._answer(call, answer), lambda: self._ended(call, answer))
        else:
            self._reply(call, self._succeeded(call, answer))

    def _reply(self, call: Inbound, frame: bytes) -> None:
        """Reply to a call that needed no task; one is only started where the channel is full."""
        if call.channel.full:
            self._tasks.start(lambda: self._reply_when_ready(call, frame), lambda: self._finish(call, None))
        else:
            self._finish(call, frame)

    async def _reply_when_ready(self, call: Inbound, frame: bytes) -> None:
        with call.scope:
            await call.channel.ready()
        self._finish(call, frame)

    async def _answer(self, call: Inbound, answer: CoroutineType[Any, Any, Any]) -> None:
        frame = None
        try:
            with call.scope:
                frame = await self._run(call, answer)
                call.finished = True
                if call.channel.full:  # still in flight, or replies would pile up without bound
                    await call.channel.ready()
        except Exception:  # a scope can let out what was raised while it was cancelled
            level = logging.ERROR if call.cancelled is None else logging.DEBUG
            logger.log(level, "answering %.80r failed", call.method, exc_info=True)
        self._finish(call, frame)

    async def _run(self, call: Inbound, answer: CoroutineType[Any, Any, Any]) -> bytes:
        try:
            return self._succeeded(call, await answer)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            foreign = call.cancelled is None and is_foreign(error)
            if isinstance(error, anyio.get_cancelled_exc_class()) and not foreign:
                raise
            return self._failed(call, error)

    def _finish(self, call: Inbound, frame: bytes | None) -> None:
        """Free the id and reply, unless nobody wants that.  Idempotent.

        A call that is wanted always gets a reply, also when its task was ended by force.
        """
        call.finished = True
        if not self._exchange.finish(call.id, call):  # before the reply is out: the peer may reuse the id at once
            return
        if call.cancelled is not None:
            frame = None
        elif frame is None:
            frame = encode_failure(call.id, INTERNAL)
        call.reply(frame)

    def _ended(self, call: Inbound, answer: CoroutineType[Any, Any, Any]) -> None:
        self._finish(call, None)
        answer.close()  # never begun, if the task was cancelled before its first step

    def _succeeded(self, call: Inbound, result: Any) -> bytes:
        try:
            return encode(Success(call.id, result))
        except LocalProtocolError as error:
            return self._failed(call, error)

    def _failed(self, call: Inbound, error: BaseException) -> bytes:
        mcp_error = only_mcp_error(error, anyio.get_cancelled_exc_class())
        if mcp_error is not None:
            return encode_failure(call.id, mcp_error.error)
        if call.cancelled is None:
            logger.error("answering %.80r failed", call.method, exc_info=error)
        return encode_failure(call.id, INTERNAL)

    # Our calls.

    async def call(
        self,
        method: str,
        params: Any = UNSET,
        *,
        channel: Channel | None = None,
        timeout: Timeout | None = None,
        progress: tuple[RequestId, Progress | None] | None = None,
    ) -> Raw:
        """Make a call and wait for its reply.

        Cancelling the wait, or its timeout, tells the peer that no reply is wanted any more.

        Args:
            method: What to call.
            params: Any value that encodes to a JSON object.
            channel: Where the call goes out; the peer's own channel if None.
            timeout: How long to wait; None for no limit.
            progress: The token that the params carry, and who is told of progress under it.

        Returns:
            The result, raw.

        Raises:
            McpError: The peer replied with this error.
            RemoteProtocolError: The peer's reply is not one.
            RequestTimeout: No reply came in time.
            ConnectionLost: No reply can come.
            LocalProtocolError: Too many calls are open, one of them has the same progress token, or
                the params are not JSON; nothing was sent.
        """
        if progress is not None and progress[0] in self._tokens:
            raise LocalProtocolError(f"progress token {progress[0]!r:.80} is that of another open call")
        channel = channel or self._channel
        waiter = Waiter(method, timeout, progress[1] if progress else None)
        id = self._exchange.open(waiter)
        reason = "no longer wanted"
        try:
            frame = encode(Call(id, method, params))
            if progress is not None:
                self._tokens[progress[0]] = waiter
            await waiter.wait(frame, channel, stopped=self._stops > 0)
        except RequestTimeout:
            reason = "timed out"
            raise
        finally:
            if progress is not None:
                self._tokens.pop(progress[0], None)
            if self._exchange.abandon(id) and waiter.sent and method not in NEVER_CANCELLED:
                self.notify(CANCELLED, _Cancelled(id, reason), channel=channel)
        return waiter.result()

    def notify(self, method: str, params: Any = UNSET, *, channel: Channel | None = None) -> None:
        """Send a notice.

        Raises:
            LocalProtocolError: The params are not JSON.
        """
        (channel or self._channel).send(encode(Notice(method, params)))

    @contextmanager
    def clocks_stopped(self) -> Generator[None]:
        """Let no time count for any open call of ours, while a person is being asked."""
        self._stops += 1
        self._each_waiter(Waiter.stop_clock)
        try:
            yield
        finally:
            self._stops -= 1
            if self._stops == 0:
                self._each_waiter(Waiter.start_clock)

    def _each_waiter(self, change: Callable[[Waiter], None]) -> None:
        for waiter in self._exchange.waiters:
            change(waiter)

    # The end.

    def lose(self, reason: str) -> None:
        """No reply can come any more: fail our open calls; theirs go on.  Idempotent."""
        for waiter in self._exchange.lose(reason):
            waiter.settle(ConnectionLost(reason))

    def close(self, reason: str) -> None:
        """Fail our open calls and cancel the handlers of theirs.  Idempotent."""
        waiters, calls = self._exchange.close(reason)
        for waiter in waiters:
            waiter.settle(ConnectionLost(reason))
        for call in calls:
            call.cancel(reason)

    async def idle(self) -> None:
        """Return when no handler runs."""
        await self._tasks.wait()


def _is_coroutine(answer: Any) -> TypeGuard[CoroutineType[Any, Any, Any]]:
    return type(answer) is CoroutineType


def _raw(params: Any) -> Raw:
    raw: Raw = _NO_PARAMS if params is UNSET else params
    return raw
