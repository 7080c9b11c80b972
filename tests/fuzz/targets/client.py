"""A client on a pipe: whatever its server says, each call ends, and the next one can be made.

lines: what the server says to the first request, in which $ID is the id of that
---
what it says to the second; and so on: then it means well
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.messages import Malformed
from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.lines import Lines
from tests.fuzz.loop import nothing_left, play
from tests.fuzz.pieces import CUT
from tests.fuzz.pipe import Pipe
from tests.fuzz.visit import honest, visit
from tests.interaction.raw import Message

__all__ = ("target",)

LIMIT = 2048


class _Server:
    """The far ends of a client's connections.

    Attributes:
        replies: What it says to the next requests, before it means well.
    """

    def __init__(self, replies: Sequence[bytes]) -> None:
        self.replies = list(replies)

    async def open(self) -> _End:
        """See `Target`."""
        return _End(self.replies)


class _End(Pipe):
    """The end of a client, at which the server answers at once."""

    def __init__(self, replies: list[bytes]) -> None:
        super().__init__()
        self._replies = replies

    async def send(self, frames: Sequence[bytes]) -> None:
        """See `Duplex`."""
        await super().send(frames)
        for frame in frames:
            assert b"\n" not in frame
            assert not isinstance(decode(frame), Malformed), f"{frame!r:.500} is no message"
            message = json.loads(frame)
            if "method" in message and "id" in message:
                self.say(self._reply(message))

    def _reply(self, message: Message) -> Sequence[bytes | Oversized]:
        if not self._replies:
            return [json.dumps(honest(message)).encode()]
        said = self._replies.pop(0).replace(b"$ID", json.dumps(message["id"]).encode())
        return Lines(LIMIT).feed(said + b"\n")


def target(data: bytes) -> None:
    """Visit a server."""

    async def scene() -> None:
        before = len(asyncio.all_tasks())
        server = _Server(data.split(CUT))
        await visit(server, server.replies)
        await nothing_left(before)

    play(scene)
