"""A server on a pipe: whatever comes, it answers with messages and nothing else, and then answers one more call.

When the other side has gone, nothing is left of the conversation.

    lines, as they come out of the pipe
"""

from __future__ import annotations

import asyncio
import json

import anyio

from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.messages import Malformed
from dedalus_mcp.run import conversation
from dedalus_mcp_transports.lines import Lines
from tests.fuzz.loop import nothing_left, play, settled
from tests.fuzz.pipe import Pipe
from tests.fuzz.server import make
from tests.interaction.raw import envelope

__all__ = ("target",)

LIMIT = 2048
ID = "nobody else's id"
CALL = {
    "jsonrpc": "2.0",
    "id": ID,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "still here"}, "_meta": envelope()},
}
SERVER = make()


def target(data: bytes) -> None:
    """Converse."""

    async def scene() -> None:
        pipe = Pipe()
        before = len(asyncio.all_tasks())
        async with anyio.create_task_group() as group:
            group.start_soon(conversation(SERVER, pipe).run)
            pipe.say(Lines(LIMIT).feed(data + b"\n"))
            await settled()
            pipe.say([json.dumps(CALL).encode()])
            await settled()
            _is_sound(pipe.heard)
            pipe.end()
        await nothing_left(before)

    play(scene)


def _is_sound(frames: list[bytes]) -> None:
    answers = 0
    for frame in frames:
        assert b"\n" not in frame
        decoded = decode(frame)
        for item in decoded if isinstance(decoded, list) else [decoded]:
            assert not isinstance(item, Malformed), f"{frame!r:.500} is no message"
        answers += b"still here" in frame and ID.encode() in frame
    assert answers == 1, f"the last call has {answers} answers"
