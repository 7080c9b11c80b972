"""`memory.pair`: a conversation inside one process."""

from __future__ import annotations

import anyio
import pytest

from dedalus_mcp.testing import check_transport
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.memory import MAX_UNREAD_BYTES, MAX_UNREAD_FRAMES, pair


async def make_pair() -> tuple[Duplex, Duplex]:
    return pair()


async def test_it_keeps_every_rule_of_a_duplex() -> None:
    await check_transport(make_pair)


async def test_frames_pass_as_objects() -> None:
    here, there = pair()
    frame = bytes(100)
    await here.send([frame])

    assert (await there.receive())[0] is frame


@pytest.mark.parametrize(
    "frames", [[b"x"] * (MAX_UNREAD_FRAMES + 1), [b"x" * (MAX_UNREAD_BYTES + 1)]], ids=["frames", "bytes"]
)
async def test_send_waits_above_either_bound(frames: list[bytes]) -> None:
    here, there = pair()
    await here.send(frames)

    with anyio.move_on_after(0) as scope:
        await here.send([b"one more"])
    assert scope.cancelled_caught
    assert await there.receive() == frames  # the cancelled one was never sent

    await here.send([b"now"])
    assert await there.receive() == [b"now"]


async def test_a_second_receiver_is_refused() -> None:
    here, _ = pair()
    async with anyio.create_task_group() as group:
        group.start_soon(here.receive)
        await anyio.wait_all_tasks_blocked()

        with pytest.raises(anyio.BusyResourceError):
            await here.receive()
        group.cancel_scope.cancel()
