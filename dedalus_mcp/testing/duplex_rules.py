"""The rules of `Duplex`, as checks that run: what tests of a transport need.

    async def test_mine():
        await check_transport(make_pair)

Layer: L6.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import anyio
from anyio.lowlevel import checkpoint

from dedalus_mcp.transport import Duplex

__all__ = ("check_transport",)

PATIENCE = 20.0
"""Seconds that a rule may take: a bound on hanging, far above what any needs."""

STALL = 0.03
"""Seconds without progress after which `send` counts as waiting."""

BIG = 2 * 1024 * 1024
"""Bytes in a big frame."""

FLOOD = 32 * 1024 * 1024
"""Bytes that a transport must not take while nobody reads."""


async def check_transport(make_pair: Callable[[], Awaitable[tuple[Duplex, Duplex]]]) -> None:
    """Check that a transport keeps every rule of `dedalus_mcp.transport.Duplex`.

    Args:
        make_pair: Makes two new ends that are joined.  It is called several times, since the rules
            about closing take new ones; both ends are closed afterwards.

    Raises:
        AssertionError: A rule is broken; the text names it.
    """
    async with _joined(make_pair) as (near, far):
        for check in _OPEN:
            await _keep(check, near, far)
            await _keep(check, far, near)
    for check in _CLOSING:
        async with _joined(make_pair) as (near, far):
            await _keep(check, near, far)
        async with _joined(make_pair) as (near, far):
            await _keep(check, far, near)


@asynccontextmanager
async def _joined(
    make_pair: Callable[[], Awaitable[tuple[Duplex, Duplex]]],
) -> AsyncGenerator[tuple[Duplex, Duplex]]:
    near, far = await make_pair()
    try:
        yield near, far
    finally:
        await _keep(_close, near, far)


async def _keep(check: Callable[[Duplex, Duplex], Awaitable[None]], near: Duplex, far: Duplex) -> None:
    try:
        with anyio.fail_after(PATIENCE):
            await check(near, far)
    except Exception as error:
        raise AssertionError(f"{check.__doc__} [{_cause(error)}]") from error


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, TimeoutError):
        return f"nothing happened within {PATIENCE:g} s"
    return str(error) if isinstance(error, AssertionError) else repr(error)


def _expect(condition: bool, otherwise: str) -> None:  # noqa: FBT001  # it is an assertion
    if not condition:
        raise AssertionError(otherwise)


async def _take(end: Duplex, count: int) -> list[bytes]:
    """Receive so many frames, exactly."""
    frames: list[bytes] = []
    while len(frames) < count:
        received = await end.receive()
        _expect(len(received) > 0, "receive returned no frame")
        for frame in received:
            if not isinstance(frame, bytes):
                raise AssertionError(f"a frame arrived as {frame!r}")
            frames.append(frame)
    _expect(len(frames) == count, f"{len(frames)} frames arrived, {count} were sent")
    return frames


async def _same(end: Duplex, sent: Sequence[bytes]) -> None:
    for number, (got, expected) in enumerate(zip(await _take(end, len(sent)), sent, strict=True)):
        _expect(got == expected, f"frame {number} is {got[:80]!r}, not {expected[:80]!r}")


async def _raises(error: type[Exception], action: Callable[[], Awaitable[object]]) -> None:
    try:
        result = await action()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised, {result!r:.80} returned")


async def _order(near: Duplex, far: Duplex) -> None:
    """Frames arrive unchanged and in order, however they are batched."""
    texts = ("{}", '{"a":"\u2028\u2029\u0085\x0b\x0c\x1c"}', '{"é":"😀"}', "[1,2]", '"\\u0000\\n"')
    frames = [f"[{number},{texts[number % len(texts)]}]".encode() for number in range(300)]
    async with anyio.create_task_group() as group:
        group.start_soon(_same, far, frames)
        start = 0
        for size in (1, 2, 3, 94, 200):
            await near.send(frames[start : start + size])
            start += size


async def _nothing(near: Duplex, far: Duplex) -> None:
    """Sending no frames sends nothing."""
    await near.send([])
    await near.send([b"{}"])
    await _same(far, [b"{}"])


async def _big(near: Duplex, far: Duplex) -> None:
    """A big frame arrives whole, among small ones."""
    frames = [b'"1"', b'"%b"' % (b"x" * BIG), b'"2"']
    async with anyio.create_task_group() as group:
        group.start_soon(near.send, frames)
        await _same(far, frames)


async def _both_ways(near: Duplex, far: Duplex) -> None:
    """Both directions carry big frames at the same time."""
    frames = [b'"%b"' % (bytes([65 + number]) * (BIG // 4)) for number in range(8)]
    async with anyio.create_task_group() as group:
        for end in (near, far):
            group.start_soon(end.send, frames)
            group.start_soon(_same, end, frames)


async def _end(near: Duplex, far: Duplex) -> None:
    """After the other side closed, what it sent arrives, then EndOfStream is raised, until this side closes."""
    frames = [b"1", b"2", b"3"]
    await near.send(frames)
    async with anyio.create_task_group() as group:
        group.start_soon(near.aclose)
        await _same(far, frames)
        for _ in range(2):
            await _raises(anyio.EndOfStream, far.receive)
    await far.aclose()
    await _raises(anyio.ClosedResourceError, far.receive)


async def _end_while_receiving(near: Duplex, far: Duplex) -> None:
    """A waiting receive raises EndOfStream when the other side closes."""
    async with anyio.create_task_group() as group:
        group.start_soon(_raises, anyio.EndOfStream, far.receive)
        await anyio.wait_all_tasks_blocked()
        await near.aclose()


async def _broken(near: Duplex, far: Duplex) -> None:
    """Sending to a side that has closed raises BrokenResourceError, at the latest when its buffers are full."""

    async def flood() -> None:
        for _ in range(FLOOD // BIG):
            await near.send([b"x" * BIG])

    await far.aclose()
    await _raises(anyio.BrokenResourceError, flood)


async def _close(near: Duplex, far: Duplex) -> None:
    """Aclose may be called at any time, and again."""
    await near.aclose()
    await far.aclose()


async def _closed(near: Duplex, far: Duplex) -> None:
    """After aclose, receive and send raise ClosedResourceError, and aclose may be called again."""
    await far.send([b"{}"])
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(near.aclose)
    await _raises(anyio.ClosedResourceError, near.receive)
    await _raises(anyio.ClosedResourceError, partial(near.send, [b"{}"]))


async def _close_while_receiving(near: Duplex, far: Duplex) -> None:
    """A waiting receive raises ClosedResourceError when its own end is closed."""
    async with anyio.create_task_group() as group:
        group.start_soon(_raises, anyio.ClosedResourceError, near.receive)
        await anyio.wait_all_tasks_blocked()
        await near.aclose()
    await far.aclose()


async def _close_while_sending(near: Duplex, far: Duplex) -> None:
    """A waiting send raises ClosedResourceError when its own end is closed."""
    flood = _Flood(near)
    async with anyio.create_task_group() as group:
        group.start_soon(_raises, anyio.ClosedResourceError, flood.run)
        await flood.stalled()
        await near.aclose()
    await far.aclose()


async def _cancelled_receive(near: Duplex, far: Duplex) -> None:
    """Cancelling receive loses no frame, at whatever moment it comes."""
    frames = [b"%d" % number for number in range(100)]
    received: list[object] = []

    async def feed() -> None:
        for frame in frames:
            await near.send([frame])
            await checkpoint()

    async def cancel(scope: anyio.CancelScope, turns: int) -> None:
        for _ in range(turns):
            await checkpoint()
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(feed)
        turns = 0
        while len(received) < len(frames):
            turns = (turns + 1) % 13
            with anyio.CancelScope() as scope:
                group.start_soon(cancel, scope, turns)
                received += await far.receive()
    _expect(received == frames, f"{received!r} arrived")


async def _cancelled_send(near: Duplex, far: Duplex) -> None:
    """Cancelling send cuts no frame in two: what was begun is finished by the next send."""
    flood = _Flood(near)
    async with anyio.create_task_group() as group:
        group.start_soon(flood.run)
        await flood.stalled()
        group.cancel_scope.cancel()
    received: list[object] = []
    async with anyio.create_task_group() as group:
        group.start_soon(near.send, [b"last"])
        while received[-1:] != [b"last"]:
            received += await far.receive()
    count = len(received) - 1
    _expect(received[:-1] == flood.frames[:count], "a frame arrived that is none of those sent")
    _expect(count >= flood.sent, f"{flood.sent} frames were sent, {count} arrived")


async def _waits(near: Duplex, far: Duplex) -> None:
    """Send waits while nobody reads, and then nothing is lost."""
    flood = _Flood(near)
    async with anyio.create_task_group() as group:
        group.start_soon(flood.run)
        await flood.stalled()
        _expect(flood.sent < len(flood.frames), f"send took {FLOOD:,} bytes")
        await _same(far, flood.frames)


class _Flood:
    """Big frames, sent one after the other."""

    def __init__(self, end: Duplex) -> None:
        self._end = end
        self.frames = [b'"%d %b"' % (number, b"x" * BIG) for number in range(FLOOD // BIG)]
        self.sent = 0

    async def run(self) -> None:
        for frame in self.frames:
            await self._end.send([frame])
            self.sent += 1

    async def stalled(self) -> None:
        """Wait until no frame has been sent for a while."""
        before = -1
        while before != self.sent:
            before = self.sent
            await anyio.sleep(STALL)


_OPEN = (_order, _nothing, _big, _both_ways, _cancelled_receive, _cancelled_send, _waits)
"""Rules whose checks leave both ends open, and all that was sent received."""

_CLOSING = (_end, _end_while_receiving, _broken, _closed, _close_while_receiving, _close_while_sending)
