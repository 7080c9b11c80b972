"""A call of theirs, and the array that answers a batch."""

from __future__ import annotations

from dedalus_mcp.jsonrpc.inbound import BatchReply, Inbound
from dedalus_mcp.transport import Reply


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


async def test_cancelling_ends_the_scope_and_the_first_reason_stands() -> None:
    call = Inbound(0, "m", b"", Sent(), None)
    assert call.cancelled is None

    call.cancel("first")
    call.cancel("second")

    assert call.cancelled == "first"
    assert call.scope.cancel_called


async def test_reply_goes_out_on_the_channel_of_the_call() -> None:
    channel = Sent()
    call = Inbound(1, "m", b"", channel, None)

    call.reply(None)
    call.reply(Reply(b"1", None))

    assert channel.replies == [None, Reply(b"1", None)]


async def test_reply_to_a_call_of_a_batch_goes_into_its_array() -> None:
    """RPC-14."""
    channel = Sent()
    batch = BatchReply(channel, 3)

    Inbound(1, "m", b"", channel, batch).reply(Reply(b"1", None))
    Inbound(2, "m", b"", channel, batch).reply(None)
    assert channel.frames == []
    batch.add(b"3")
    assert channel.frames == [b"[1,3]"]


def test_batch_without_any_reply_is_not_answered() -> None:
    """RPC-12: not even with an empty array."""
    channel = Sent()

    BatchReply(channel, 1).add(None)

    assert channel.replies == [None]
