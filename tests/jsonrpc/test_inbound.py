"""A call of theirs, and the array that answers a batch."""

from __future__ import annotations

from dedalus_mcp.jsonrpc.inbound import BatchReply, Inbound
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.transport import Reply
from tests.jsonrpc.wire import Answers


class Sent:
    """A channel that keeps what was sent."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.replies: list[Reply | None] = []

    @property
    def full(self) -> bool:
        return False

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    @property
    def carrier(self) -> None:
        return None

    @property
    def takes_calls(self) -> bool:
        return True

    @property
    def unsent(self) -> bool:
        return False

    def reply(self, reply: Reply | None) -> None:
        self.replies.append(reply)
        if reply is not None:
            self.send(reply.frame)

    async def ready(self) -> None:
        return

    async def flush(self) -> None:
        return


def inbound(id: int, channel: Sent, batch: BatchReply | None = None) -> Inbound:
    return Inbound(Call(id, "m"), channel, batch, Peer(Answers(), channel, answers_malformed=True))


async def test_cancelling_ends_the_scope_and_the_first_reason_stands() -> None:
    call = inbound(0, Sent())
    assert call.cancelled is None

    call.cancel("first")
    call.cancel("second")

    assert call.cancelled == "first"
    assert call.scope.cancel_called


async def test_reply_goes_out_on_the_channel_of_the_call() -> None:
    channel = Sent()
    call = inbound(1, channel)

    call.reply(None)
    call.reply(Reply(b"1", None))

    assert channel.replies == [None, Reply(b"1", None)]


async def test_reply_to_a_call_of_a_batch_goes_into_its_array() -> None:
    """RPC-14."""
    channel = Sent()
    batch = BatchReply(channel, 3)

    inbound(1, channel, batch).reply(Reply(b"1", None))
    inbound(2, channel, batch).reply(None)
    assert channel.frames == []
    batch.add(b"3")
    assert channel.frames == [b"[1,3]"]


def test_batch_without_any_reply_is_not_answered() -> None:
    """RPC-12: not even with an empty array."""
    channel = Sent()

    BatchReply(channel, 1).add(None)

    assert channel.replies == [None]
