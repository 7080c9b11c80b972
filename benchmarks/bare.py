"""The least that a server can be, which is what ours is measured against.

    python benchmarks/bare.py          anyio's `wait_readable` and msgspec; answers in the read loop
    python benchmarks/bare.py --tasks  and what no runtime can do without: an anyio task, a cancel scope
                                       and a context variable for each request, and a write loop

It decodes and encodes what ours does for the same calls, and checks nothing.  Its tools: echo, large, confirm.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import anyio
import msgspec
from msgspec import UNSET, Raw, UnsetType

__all__ = ("Frames", "serve")


class Frames(Protocol):
    """Frames both ways, as `dedalus_mcp.transport.Duplex` has them."""

    async def receive(self) -> Sequence[Any]: ...
    async def send(self, frames: Sequence[bytes]) -> None: ...


class Envelope(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET


class Meta(msgspec.Struct):
    version: str | None = msgspec.field(default=None, name="io.modelcontextprotocol/protocolVersion")


class Params(msgspec.Struct):
    name: str = ""
    arguments: Raw = Raw(b"{}")
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class Arguments(msgspec.Struct):
    text: str = ""
    size: int = 0

    @property
    def said(self) -> str:
        return self.text or "x" * self.size


class Answer(msgspec.Struct):
    action: str
    content: dict[str, Any]


class Text(msgspec.Struct, tag_field="type", tag="text"):
    text: str


class ToolResult(msgspec.Struct, omit_defaults=True):
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")
    resultType: str | None = None
    content: list[Text] = []
    structuredContent: dict[str, Any] | None = None


class Reply(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    id: int | str | None
    result: Any


class Call(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    id: int
    method: str
    params: Any


INFO = {"name": "bench", "version": "1"}
MODERN: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/serverInfo": INFO}, "resultType": "complete"}
VOID: dict[str, Any] = {
    "ping": {},
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"logging": {}, "tools": {}}, "serverInfo": INFO},
    "server/discover": {**MODERN, "supportedVersions": ["2026-07-28"], "capabilities": {"logging": {}, "tools": {}}},
}
QUESTION = {
    "message": "Sure?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
}

decode = msgspec.json.Decoder(Envelope).decode
decode_params = msgspec.json.Decoder(Params).decode
decode_arguments = msgspec.json.Decoder(Arguments).decode
decode_answer = msgspec.json.Decoder(Answer).decode
encode = msgspec.json.Encoder().encode
current: ContextVar[Envelope] = ContextVar("current")


class Bare:
    """Takes frames and sends replies, in the read loop."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send
        self.asked: dict[Any, Callable[[Answer], None]] = {}
        self.last_id = 0

    def take(self, frame: bytes) -> None:
        message = decode(frame)
        if message.method == "tools/call":
            self.call(message)
        elif message.method is None:
            assert message.result is not UNSET
            self.asked.pop(message.id)(decode_answer(message.result))
        elif message.id is not None:
            decode_params(message.params)
            self.send(encode(Reply(message.id, VOID[message.method])))

    def call(self, message: Envelope) -> None:
        params = decode_params(message.params)
        if params.name in ("echo", "large"):
            self.reply(message, params, decode_arguments(params.arguments).said)
        else:
            self.ask(lambda answer: self.reply(message, params, str(answer.content["sure"])))

    def ask(self, answered: Callable[[Answer], None]) -> None:
        self.last_id += 1
        self.asked[self.last_id] = answered
        self.send(encode(Call(self.last_id, "elicitation/create", QUESTION)))

    def reply(self, message: Envelope, params: Params, text: str) -> None:
        result = ToolResult(content=[Text(text)], structuredContent={"result": text})
        if params.meta is not None and params.meta.version is not None:
            result.meta, result.resultType = MODERN["_meta"], "complete"
        self.send(encode(Reply(message.id, result)))


class InTasks(Bare):
    """Answers each tool call in a task of its own, which can be cancelled and knows its request."""

    def __init__(self, send: Callable[[bytes], None], group: anyio.abc.TaskGroup) -> None:
        super().__init__(send)
        self.group = group

    def call(self, message: Envelope) -> None:
        self.group.start_soon(self.run, message)

    async def run(self, message: Envelope) -> None:
        with anyio.CancelScope():
            current.set(message)
            params = decode_params(message.params)
            if params.name in ("echo", "large"):
                text = decode_arguments(params.arguments).said
            else:
                text = str((await self.answer()).content["sure"])
            self.reply(message, params, text)

    async def answer(self) -> Answer:
        answers: list[Answer] = []
        there = anyio.Event()

        def answered(answer: Answer) -> None:
            answers.append(answer)
            there.set()

        self.ask(answered)
        await there.wait()
        return answers[0]


class Outgoing:
    """What waits to be written."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.filled = anyio.Event()

    def put(self, frame: bytes) -> None:
        self.frames.append(frame)
        self.filled.set()

    async def write(self, duplex: Frames) -> None:
        while True:
            await self.filled.wait()
            frames, self.frames, self.filled = self.frames, [], anyio.Event()
            await duplex.send(frames)


async def serve(duplex: Frames, *, tasks: bool) -> None:
    """Serve until the other side ends."""
    try:
        await (_serve_in_tasks(duplex) if tasks else _serve(duplex))
    except anyio.EndOfStream:
        return


async def _serve(duplex: Frames) -> None:
    replies: list[bytes] = []
    bare = Bare(replies.append)
    while True:
        for frame in await duplex.receive():
            bare.take(frame)
        await duplex.send(replies)
        replies.clear()


async def _serve_in_tasks(duplex: Frames) -> None:
    outgoing = Outgoing()
    async with anyio.create_task_group() as group:
        group.start_soon(outgoing.write, duplex)
        bare = InTasks(outgoing.put, group)
        try:
            while True:
                for frame in await duplex.receive():
                    bare.take(frame)
        except anyio.EndOfStream:
            group.cancel_scope.cancel()


class Pipes:
    """Standard input and output, line by line."""

    def __init__(self) -> None:
        self.rest = b""

    async def receive(self) -> list[bytes]:
        while True:
            await anyio.wait_readable(0)
            chunk = os.read(0, 65536)
            if not chunk:
                raise anyio.EndOfStream
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            if lines:
                return lines

    async def send(self, frames: Sequence[bytes]) -> None:
        if frames:
            os.write(1, b"\n".join(frames) + b"\n")


async def main() -> None:
    await serve(Pipes(), tasks="--tasks" in sys.argv)


if __name__ == "__main__":
    anyio.run(main)
