"""Their calls: accepted, answered, cancelled.

    begin() ──▶ the handler's result at once   ──▶ channel.reply
            ──▶ the handler's coroutine, in a task of its own ──▶ channel.reply
                  └── cancel() ──▶ no reply

Every call that is wanted gets exactly one reply, whatever its handler does.

Layer: L3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import Any, Protocol, TypeGuard

import anyio
import msgspec
from anyio import lowlevel
from msgspec import Raw

from dedalus_mcp.errors import ConnectionLost, LocalProtocolError, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.exchange import Exchange
from dedalus_mcp.jsonrpc.failures import INTERNAL, failure, only_mcp_error
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice, Success
from dedalus_mcp.jsonrpc.ours import CANCELLED, Cancelled
from dedalus_mcp.jsonrpc.tasks import Run, Tasks, is_foreign
from dedalus_mcp.jsonrpc.waiter import Waiter
from dedalus_mcp.transport import Channel, Reply

__all__ = ("Handler", "TheirCalls")

logger = logging.getLogger("dedalus_mcp")

# Turns of the event loop until a task that is cancelled has sent what it sends at once.
TURNS = 2

_decode_cancelled = msgspec.json.Decoder(Cancelled).decode


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

    def frees_others(self, call: Inbound) -> bool:
        """Whether calls that run may be waiting for this one; then it is taken though too many run.

        Asked only where that is so.  It must not block, and runs no user code.
        """
        ...

    def hear(self, notice: Notice) -> None:
        """Take a notice.  Called in the read loop: it must not block, and runs no user code."""
        ...


class TheirCalls:
    """The calls of the other side that run here.

    Args:
        exchange: Keeps their ids.
        handler: Answers them.
    """

    __slots__ = ("_drained", "_draining", "_early", "_exchange", "_handler", "_tasks")

    def __init__(self, exchange: Exchange[Waiter, Inbound], handler: Handler) -> None:
        self._exchange = exchange
        self._handler = handler
        self._tasks = Tasks()
        self._early: dict[Inbound, None] = {}  # replied to, while their handlers go on
        self._draining = False
        self._drained: anyio.Event | None = None

    def begin(self, call: Inbound) -> None:
        """Begin to answer a call; what needs no task is answered at once."""
        if not self._accept(call):
            return
        try:
            answer = self._handler.answer(call)
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes the reply, and one log entry
            self._answered(call, self._failed(call, error))
            return
        if _is_coroutine(answer):
            self._start(call, answer)
        else:
            self._answered(call, self._succeeded(call, answer))

    def _start(self, call: Inbound, answer: CoroutineType[Any, Any, Any]) -> None:
        try:
            self._tasks.start(partial(self._answer, call, answer), partial(self._ended, call, answer))
        except Exception as error:  # noqa: BLE001 - the event loop has no room for a task, say: its id is free again
            answer.close()
            self._answered(call, self._failed(call, error))

    def lend(self, call: Inbound) -> Run | None:
        """Begin to answer a call in a task of somebody else's: see `Peer.lend`."""
        if not self._accept(call):
            return None
        self._tasks.hold(call)
        return partial(self._answer_there, call)

    def _accept(self, call: Inbound) -> bool:
        """Take its id; if that cannot be, it is replied to."""
        try:
            beyond = self._exchange.full and self._handler.frees_others(call)
            self._exchange.accept(call.id, call, beyond=beyond)
        except McpError as refused:
            call.reply(failure(call.id, refused.error))
            return False
        except ConnectionLost:
            call.reply(None)
            return False
        return True

    def cancel(self, params: Raw) -> bool:
        """Take the params of `notifications/cancelled`; False if they name no call of theirs that runs."""
        try:
            cancelled = _decode_cancelled(params)
        except (msgspec.DecodeError, RecursionError) as error:
            logger.debug("dropped a malformed %s: %s", CANCELLED, excerpt(error))
            return True  # nobody can do more with it
        call = self._exchange.cancel(cancelled.requestId)
        if call is None:
            return False
        call.cancel(cancelled.reason or "cancelled by the peer")
        call.reply(None)  # now: a handler may take its time to end
        if call.channel.unsent:
            self._tasks.start(lambda: _flush_soon(call.channel), detached=True)
        return True

    def run_apart(self, call: Inbound, run: Run, *, awaited: bool = False) -> None:
        """Run a handler that replies to nobody: see `Peer.run_apart`."""
        if not awaited:
            self._early[call] = None
        self._tasks.start(run, lambda: self._early.pop(call, None))

    def await_apart(self, call: Inbound) -> None:
        """A call waits for such a handler again: see `Peer.await_apart`."""
        self._early.pop(call, None)

    def leave_apart(self, call: Inbound) -> None:
        """No call waits for such a handler any more: see `Peer.leave_apart`."""
        self._early[call] = None

    def reply_early(self, call: Inbound, result: Any) -> None:
        """Reply to a call whose handler goes on: see `Peer.reply_early`."""
        if not call.finished:
            self._early[call] = None
            self._finish(call, self._succeeded(call, result))

    def lose(self, reason: str) -> None:
        """End the handlers that go on after their reply: nothing can come that they wait for."""
        for call in list(self._early):
            call.cancel(reason)

    def release(self, call: Inbound, end: Callable[[], None]) -> None:
        """Let a call go on until it is ended: see `Peer.release`."""
        self._exchange.release(call)
        call.end = end
        if self._draining:
            end()

    def drain(self) -> None:
        """End the calls that last; one that comes later ends at once."""
        self._draining = True
        for call in self._exchange.lasting:
            if call.end is not None:
                call.end()

    async def drained(self) -> None:
        """Return when no call is left that lasts."""
        while self._exchange.lasting:
            self._drained = self._drained or anyio.Event()
            await self._drained.wait()

    async def idle(self) -> None:
        """Return when no handler runs."""
        await self._tasks.wait()

    def _answered(self, call: Inbound, reply: Reply) -> None:
        """Reply to a call that needed no task; one is only started where the channel is full."""
        if call.channel.full:
            self._tasks.start(lambda: self._reply_when_ready(call, reply), lambda: self._finish(call, None))
        else:
            self._finish(call, reply)

    async def _reply_when_ready(self, call: Inbound, reply: Reply) -> None:
        with call.scope:
            await call.channel.ready()
        self._finish(call, reply)

    async def _answer_there(self, call: Inbound) -> None:
        try:
            if call.cancelled is None:
                await self._answer(call)
        finally:
            self._ended(call)
            self._tasks.let_go(call)

    async def _answer(self, call: Inbound, answer: Any = None) -> None:
        """Answer a call by what the handler has returned; by what it returns now, where it was not asked yet."""
        reply = None
        try:
            with call.scope:
                try:
                    if answer is None:
                        answer = self._handler.answer(call)
                    reply = self._succeeded(call, (await answer) if _is_coroutine(answer) else answer)
                except BaseException as error:
                    reply = self._reply_to(call, error)
                    if reply is None:
                        raise
                call.finished = True
                if call.channel.full:  # still in flight, or replies would pile up without bound
                    await call.channel.ready()
        except Exception:  # a scope can let out what was raised while it was cancelled
            level = logging.ERROR if call.cancelled is None else logging.DEBUG
            logger.log(level, "answering %.80r failed", call.method, exc_info=True)
        self._finish(call, reply)
        if call.channel.unsent:
            await call.channel.flush()

    def _reply_to(self, call: Inbound, error: BaseException) -> Reply | None:
        """The reply to a call whose handler has raised; None for what must leave its task."""
        if isinstance(error, KeyboardInterrupt | GeneratorExit):
            return None
        foreign = call.cancelled is None and is_foreign(error)
        if isinstance(error, anyio.get_cancelled_exc_class()) and not foreign:
            return None
        return self._failed(call, error)

    def _finish(self, call: Inbound, reply: Reply | None) -> None:
        """Free the id and reply, unless nobody wants that.  Idempotent.

        A call that is wanted always gets a reply, also when its task was ended by force.
        """
        call.finished = True
        if not self._exchange.finish(call.id, call):  # before the reply is out: the peer may reuse the id at once
            return
        if self._drained is not None and not self._exchange.lasting:
            self._drained.set()
            self._drained = None
        if call.cancelled is None:
            call.reply(reply or failure(call.id, INTERNAL))

    def _ended(self, call: Inbound, answer: CoroutineType[Any, Any, Any] | None = None) -> None:
        self._early.pop(call, None)
        self._finish(call, None)
        if answer is not None:
            answer.close()  # never begun, if the task was cancelled before its first step
        if call.channel.unsent:  # nor could a task that was ended by force send its reply
            self._tasks.start(call.channel.flush, detached=True)

    def _succeeded(self, call: Inbound, result: Any) -> Reply:
        try:
            return Reply(encode(Success(call.id, result)), None)
        except LocalProtocolError as error:
            return self._failed(call, error)

    def _failed(self, call: Inbound, error: BaseException) -> Reply:
        mcp_error = only_mcp_error(error, anyio.get_cancelled_exc_class())
        if mcp_error is not None:
            return failure(call.id, mcp_error.error)
        if call.cancelled is None:
            logger.error("answering %.80r failed", call.method, exc_info=error)
        return failure(call.id, INTERNAL)


async def _flush_soon(channel: Channel) -> None:
    """Send what is queued, once a handler that was cancelled had its turn: it calls its questions back."""
    for _ in range(TURNS):
        await lowlevel.checkpoint()
    await channel.flush()


def _is_coroutine(answer: Any) -> TypeGuard[CoroutineType[Any, Any, Any]]:
    return type(answer) is CoroutineType
