"""`check_transport` itself: it finds each kind of broken transport, and names the rule."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import anyio
import pytest

from dedalus_mcp.testing import check_transport, duplex_rules
from dedalus_mcp.transport import Duplex, Received
from dedalus_mcp_transports import memory
from dedalus_mcp_transports.memory import MAX_UNREAD_BYTES, pair


class Passing:
    """An end that keeps every rule; each subclass breaks one."""

    def __init__(self, end: Duplex) -> None:
        self.end = end
        self.closed = False

    async def receive(self) -> Sequence[Received]:
        return await self.end.receive()

    async def send(self, frames: Sequence[bytes]) -> None:
        await self.end.send(frames)

    async def aclose(self) -> None:
        self.closed = True
        await self.end.aclose()


class Reverses(Passing):
    async def send(self, frames: Sequence[bytes]) -> None:
        await self.end.send(frames[::-1])


class SplitsAtUnicodeLineBreaks(Passing):
    async def send(self, frames: Sequence[bytes]) -> None:
        await self.end.send([line.encode() for frame in frames for line in frame.decode().splitlines()])


class SendsSomethingForNothing(Passing):
    async def send(self, frames: Sequence[bytes]) -> None:
        await self.end.send(frames or [b""])


class CutsBigFrames(Passing):
    async def send(self, frames: Sequence[bytes]) -> None:
        await self.end.send([frame[: 64 * 1024] for frame in frames])


class EndsSilently(Passing):
    async def receive(self) -> Sequence[Received]:
        try:
            return await self.end.receive()
        except anyio.EndOfStream:
            return []


class SendsIntoTheVoid(Passing):
    async def send(self, frames: Sequence[bytes]) -> None:
        with contextlib.suppress(anyio.BrokenResourceError):
            await self.end.send(frames)


class ClosesLikeTheOtherSide(Passing):
    async def receive(self) -> Sequence[Received]:
        try:
            return await self.end.receive()
        except anyio.ClosedResourceError:
            raise anyio.EndOfStream from None


class ClosesOnlyOnce(Passing):
    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed twice")
        await super().aclose()


class LosesFramesWhenCancelled(Passing):
    async def receive(self) -> Sequence[Received]:
        frames = await self.end.receive()
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        return frames


@pytest.fixture(autouse=True)
def small_and_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PATIENCE": 2.0, "STALL": 0.01, "BIG": MAX_UNREAD_BYTES + 1, "FLOOD": 8_000_000}.items():
        monkeypatch.setattr(duplex_rules, name, value)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Reverses, "Frames arrive unchanged and in order"),
        (SplitsAtUnicodeLineBreaks, "Frames arrive unchanged and in order"),
        (SendsSomethingForNothing, "Sending no frames sends nothing"),
        (CutsBigFrames, "A big frame arrives whole"),
        (LosesFramesWhenCancelled, "Cancelling receive loses no frame"),
        (EndsSilently, "then EndOfStream is raised"),
        (SendsIntoTheVoid, "Sending to a side that has closed raises BrokenResourceError"),
        (ClosesLikeTheOtherSide, "until this side closes"),
        (ClosesOnlyOnce, "Aclose may be called at any time, and again"),
    ],
)
async def test_it_names_the_rule_that_is_broken(broken: type[Passing], rule: str) -> None:
    async def make_pair() -> tuple[Duplex, Duplex]:
        here, there = pair()
        return broken(here), Passing(there)

    with pytest.raises(AssertionError, match=rule):
        await check_transport(make_pair)


async def test_it_names_the_rule_that_send_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_UNREAD_BYTES", 1 << 40)

    async def make_pair() -> tuple[Duplex, Duplex]:
        return pair()

    with pytest.raises(AssertionError, match="Send waits while nobody reads"):
        await check_transport(make_pair)


async def test_an_end_that_keeps_the_rules_passes() -> None:
    async def make_pair() -> tuple[Duplex, Duplex]:
        here, there = pair()
        return Passing(here), Passing(there)

    await check_transport(make_pair)
