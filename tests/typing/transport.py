"""What a transport of somebody else's must look like to type checkers; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type

from dedalus_mcp.transport import Channel, Duplex, Received, Reply, Target


class Pipe:
    """Has every method of a duplex, and nothing of ours."""

    async def receive(self) -> list[bytes]:
        return [b"{}"]

    async def send(self, frames: Sequence[bytes]) -> None: ...

    async def aclose(self) -> None: ...


class Place:
    async def open(self) -> Pipe:
        return Pipe()


class Writer:
    full = False

    unsent = False
    takes_calls = True
    carrier = None

    def send(self, frame: bytes) -> None: ...

    def reply(self, reply: Reply | None) -> None: ...

    async def ready(self) -> None: ...

    async def flush(self) -> None: ...


class TextPipe(Pipe):
    async def send(self, frames: Sequence[str]) -> None: ...  # type: ignore[override]


class Unclosable:
    async def receive(self) -> list[bytes]:
        return []

    async def send(self, frames: Sequence[bytes]) -> None: ...


def fits() -> None:
    duplex: Duplex = Pipe()
    target: Target = Place()
    channel: Channel = Writer()
    del duplex, target, channel


def does_not_fit() -> None:
    text: Duplex = TextPipe()  # type: ignore[assignment]
    unclosable: Duplex = Unclosable()  # type: ignore[assignment]
    del text, unclosable


async def received(duplex: Duplex, target: Target) -> None:
    assert_type(await duplex.receive(), Sequence[Received])
    assert_type(await target.open(), Duplex)
