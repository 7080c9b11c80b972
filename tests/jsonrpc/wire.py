"""The far end of a conversation, spoken to in frames, and a handler made of functions.

    async with conversing(handler) as (conversation, wire):
        await wire.send(call(1, "echo", {"x": 1}))
        assert await wire.receive() == success(1, {"x": 1})

Leaving the block ends the conversation from afar, and nothing may be left of it.
"""

# The tables of the engine are nobody's business but its tests':
# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import METHOD_NOT_FOUND, DedalusError, McpError
from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.peer import Limits, Peer
from dedalus_mcp.transport import Duplex, Oversized, Received, Reply
from dedalus_mcp_transports.memory import pair

__all__ = (
    "Answers",
    "Asking",
    "Stuck",
    "Told",
    "Wire",
    "busy",
    "call",
    "cancelled",
    "conversing",
    "ended",
    "failure",
    "feed",
    "joined",
    "notice",
    "remains",
    "send",
    "success",
)

Json: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Inbound], Coroutine[Any, Any, Any]]


def call(id: int | str, method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def notice(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


def cancelled(id: int | str, **reason: str) -> Json:
    return notice("notifications/cancelled", {"requestId": id, **reason})


def success(id: int | str, result: Any = None) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": {} if result is None else result}


def failure(id: int | str | None, code: int, message: str, **data: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **data}}


class Answers:
    """A handler that answers each method with a function of its own.

    `echo` and `block` are always there.  `started` and `ended` count the runs of `block`.
    """

    def __init__(self, **methods: Answer) -> None:
        self._methods: dict[str, Answer] = {"echo": self._echo, "block": self._block, **methods}
        self.heard: list[str] = []
        self.started = 0
        self.ended = 0

    def add(self, **methods: Answer) -> None:
        self._methods |= methods

    def answer(self, call: Inbound) -> Any:
        if call.method == "ping":  # answered at once, without a task
            return {}
        if call.method not in self._methods:
            raise McpError(METHOD_NOT_FOUND, f"Unknown method: {call.method}")
        return self._methods[call.method](call)

    def frees_others(self, call: Inbound) -> bool:
        return call.method == "free"

    def hear(self, notice: Notice) -> None:
        self.heard.append(notice.method)

    async def _echo(self, call: Inbound) -> Any:
        return {} if call.params is UNSET else call.params

    async def _block(self, _call: Inbound) -> Any:
        self.started += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.ended += 1


class Wire:
    """The far end of a conversation."""

    def __init__(self, duplex: Duplex) -> None:
        self.duplex = duplex
        self._received: deque[Any] = deque()
        self._pings = 0

    async def send(self, *messages: Json | list[Any] | bytes) -> None:
        """Send these messages, all of them in one chunk."""
        frames = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
        with anyio.fail_after(20):
            await self.duplex.send(frames)

    async def receive(self) -> Any:
        """Return the next message, decoded."""
        while not self._received:
            with anyio.fail_after(60):
                frames = await self.duplex.receive()
            self._received += [json.loads(frame) if isinstance(frame, bytes) else None for frame in frames]
        return self._received.popleft()

    async def receive_many(self, count: int) -> list[Any]:
        """Return the next messages, ordered by their ids, since handlers finish in any order."""
        return sorted([await self.receive() for _ in range(count)], key=lambda message: repr(message["id"]))

    async def quiet(self) -> list[Any]:
        """Let everything settle, then return what came: the pong that proves the other side is well left out."""
        await anyio.wait_all_tasks_blocked()
        self._pings += 1
        pong = success(f"ping {self._pings}")
        await self.send(call(pong["id"], "ping"))
        came: list[Any] = []
        while (message := await self.receive()) != pong:
            came.append(message)
        return came


def remains(peer: Peer) -> int:
    """How many entries are left in the tables of a peer."""
    return (
        peer._exchange.busy
        + len(peer._exchange._running)
        + len(peer._exchange.waiters)
        + len(peer._ours._tokens)
        + len(peer._theirs._tasks)
    )


def busy(peer: Peer) -> int:
    """How many calls of theirs are in flight."""
    return peer._exchange.busy


def feed(peer: Peer, frame: Received) -> None:
    """Hand a frame to the peer as if its transport had received it, at this very moment."""
    peer.feed(frame, peer.channel)


def send(peer: Peer, frame: bytes) -> None:
    """Queue a frame as it is, which costs no memory if it is always the same."""
    peer.channel.send(frame)


@asynccontextmanager
async def conversing(
    handler: Answers | None = None,
    *,
    answers_malformed: bool = True,
    limits: Limits | None = None,
    drain: float = 0.0,
    duplex: Stuck | None = None,
) -> AsyncGenerator[tuple[Conversation, Wire]]:
    """One conversation, and the far end of its pair; or, given a duplex, on that."""
    near, far = pair()
    near = duplex or near
    conversation = Conversation(handler or Answers(), near, answers_malformed=answers_malformed, limits=limits)
    with anyio.fail_after(600):  # in virtual time: a test that hangs fails at once
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: conversation.run(drain=drain))
            yield conversation, Wire(far)
            if isinstance(duplex, Stuck):
                duplex.end("the test is over")
            await far.aclose()
    await ended(lambda: remains(conversation.peer) == 0)


@asynccontextmanager
async def joined(near: Answers, far: Answers) -> AsyncGenerator[tuple[Conversation, Conversation]]:
    """Two peers that talk to each other; nothing may be left of either."""
    here, there = pair()
    conversations = (
        Conversation(near, here, answers_malformed=False),
        Conversation(far, there, answers_malformed=True),
    )
    with anyio.fail_after(600):
        async with anyio.create_task_group() as group:
            for conversation in conversations:
                group.start_soon(conversation.run)
            yield conversations
            conversations[0].stop("the test is over")
    for conversation in conversations:
        await ended(lambda: remains(conversation.peer) == 0)  # noqa: B023 - awaited at once


async def ended(condition: Callable[[], bool]) -> None:
    """Return when the condition holds; time passes only if nothing else can happen."""
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110 - virtual time, and any event will do
            await anyio.sleep(0.01)


class Stuck:
    """A duplex whose other side does not read until `release`; the test says what is received.

    `written` has the messages that went out.
    """

    def __init__(self) -> None:
        self.written: list[Any] = []
        self._open = anyio.Event()
        self._to_near, self._received = anyio.create_memory_object_stream[bytes](1000)
        self._why = ""

    def feed(self, *messages: Json) -> None:
        for message in messages:
            self._to_near.send_nowait(json.dumps(message).encode())

    def end(self, why: str) -> None:
        self._why = self._why or why
        self._to_near.close()

    def release(self) -> None:
        self._open.set()

    async def receive(self) -> list[bytes | Oversized]:
        try:
            return [await self._received.receive()]
        except anyio.EndOfStream:
            raise anyio.EndOfStream(self._why) from None

    async def send(self, frames: Sequence[bytes]) -> None:
        await self._open.wait()
        self.written += map(json.loads, frames)

    async def aclose(self) -> None:
        self._to_near.close()
        self._received.close()


class Asking:
    """Makes calls of a peer in the background, and hands out how to collect what came of them.

    async with Asking(peer) as asking:
        waiting = asking("method")
        ...
        result = await waiting()
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Asking:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._group.cancel_scope.cancel()
        return await self._group.__aexit__(*error)

    def __call__(
        self, method: str, params: Any = UNSET, *, scope: anyio.CancelScope | None = None, **options: Any
    ) -> Callable[[], Coroutine[Any, Any, Any]]:
        outcome: list[Any] = []
        done = anyio.Event()

        async def ask() -> None:
            try:
                with scope or anyio.CancelScope():
                    outcome.append(await self._peer.call(method, params, **options))
            except DedalusError as error:
                outcome.append(error)
            finally:
                done.set()

        async def collect() -> Any:
            with anyio.fail_after(20):
                await done.wait()
            if not outcome:
                return None  # cancelled
            if isinstance(outcome[0], Exception):
                raise outcome[0]
            return msgspec.json.decode(outcome[0])

        self._group.start_soon(ask)
        return collect


class Told:
    """A channel of one call, which is sent when somebody flushes it."""

    carrier = None
    takes_calls = True
    full = False

    def __init__(self) -> None:
        self.told: list[Reply | None] = []
        self.flushed = anyio.Event()

    @property
    def unsent(self) -> bool:
        return bool(self.told) and not self.flushed.is_set()

    def send(self, frame: bytes) -> None:
        raise AssertionError("nothing but the end is said here")

    def reply(self, reply: Reply | None) -> None:
        self.told.append(reply)

    async def ready(self) -> None: ...

    async def flush(self) -> None:
        self.flushed.set()
