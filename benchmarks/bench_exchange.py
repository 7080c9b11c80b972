"""A call and its reply through both ends, without I/O: correlation and codec, against a dict and msgspec."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw

from benchmarks.bench_codec import BareCall, BareReply, Envelope
from benchmarks.measure import Effort, Row, cpu, take
from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.exchange import Exchange
from dedalus_mcp.jsonrpc.messages import Call, Success

__all__ = ("TITLE", "run")

TITLE = "Exchange: CPU for a void call and its reply, both ends"
EMPTY = Raw(b"{}")
bare_decode = msgspec.json.Decoder(Envelope).decode
bare_encode = msgspec.json.Encoder().encode


def ours(width: int) -> Callable[[int], None]:
    near: Exchange[object, object] = Exchange(max_open=4096, max_running=4096)
    far: Exchange[object, object] = Exchange(max_open=4096, max_running=4096)

    def work(number: int) -> None:
        for _ in range(number // width):
            calls = [encode(Call(near.open(object()), "ping")) for _ in range(width)]
            replies: list[bytes] = []
            for frame in calls:
                call = decode(frame)
                assert isinstance(call, Call)
                run = object()
                far.accept(call.id, run)
                far.finish(call.id, run)
                replies.append(encode(Success(call.id, EMPTY)))
            for frame in replies:
                reply = decode(frame)
                assert isinstance(reply, Success)
                near.settle(reply.id)
        assert not near.waiters

    return work


def bare(width: int) -> Callable[[int], None]:
    waiting: dict[object, object] = {}

    def work(number: int) -> None:
        last = 0
        for _ in range(number // width):
            calls: list[bytes] = []
            for _ in range(width):
                last += 1
                waiting[last] = object()
                calls.append(bare_encode(BareCall(last, "ping", UNSET)))
            replies = [bare_encode(BareReply(bare_decode(frame).id, EMPTY)) for frame in calls]  # type: ignore[arg-type]
            for frame in replies:
                del waiting[bare_decode(frame).id]
        assert not waiting

    return work


def run(effort: Effort) -> list[Row]:
    """Measure."""
    number = effort.times(6400) // 64 * 64 or 64
    return [
        take(name, "us", {"ours": cpu(ours(width), number), "bare": cpu(bare(width), number)}, effort.rounds)
        for name, width in {"one at a time": 1, "64 in flight": 64}.items()
    ]
