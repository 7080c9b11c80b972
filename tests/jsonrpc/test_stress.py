"""Two peers that do everything at once, in an order made from a seed: nothing hangs, nothing stays."""

from __future__ import annotations

import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dedalus_mcp.errors import DedalusError, McpError
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.inbound import Inbound
from tests.jsonrpc.wire import Answers, ended, joined, remains

TIMEOUTS = [None, Timeout(0.01), Timeout(0.005, reset_on_progress=True, total=0.02)]


class Chaos:
    """Handlers and callers of both sides, driven by one source of chance."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._sides: tuple[Conversation, ...] = ()
        self.running = 0

    async def handle(self, _call: Inbound) -> Any:
        self.running += 1
        try:
            return await self._chance.choice(
                [
                    self._wait,
                    self._fail,
                    self._refuse,
                    self._ask,
                    self._ask_many,
                    self._shield,
                    self._swallow,
                    self._stop,
                ]
            )()
        finally:
            self.running -= 1

    async def call(self, timeout: Timeout | None = None) -> Any:
        side = self._chance.choice(self._sides)
        method = self._chance.choice(["chaos", "chaos", "echo", "ping", "nope"])
        progress = self._chance.choice([None, (random.Random().random().hex(), None)])
        return await side.peer.call(method, {"x": 1}, timeout=timeout, progress=progress)

    async def use(self) -> None:
        for _ in range(8):
            with anyio.move_on_after(self._chance.choice([0.001, 0.01, 0.1])):
                try:
                    await self.call(self._chance.choice(TIMEOUTS))
                except DedalusError:
                    continue

    async def run(self, sides: tuple[Conversation, ...]) -> None:
        self._sides = sides
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(self.use)
        self._chance.choice(sides).stop("over")

    async def _wait(self) -> Any:
        await anyio.sleep(self._chance.random() * 0.01)
        return {"z": "x" * self._chance.choice([1, 100, 3_000_000])}

    async def _fail(self) -> Any:
        raise ValueError

    async def _refuse(self) -> Any:
        raise McpError(-1, "refused", object())

    async def _ask(self) -> Any:
        await self.call(self._chance.choice(TIMEOUTS))
        return {}

    async def _ask_many(self) -> Any:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(self.call)
            await anyio.lowlevel.checkpoint()
            if self._chance.random() < 0.3:
                group.cancel_scope.cancel()
        return {}

    async def _shield(self) -> Any:
        with self._chance.choice(self._sides).peer.clocks_stopped(), anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)

    async def _swallow(self) -> Any:
        try:
            await anyio.sleep(1)
        except anyio.get_cancelled_exc_class():
            return {"swallowed": True}
        return {}

    async def _stop(self) -> Any:
        if self._chance.random() < 0.1:
            self._chance.choice(self._sides).stop("from inside")
        return {}


@pytest.mark.parametrize("seed", range(20))
async def test_chaos_ends_in_order(seed: int) -> None:
    chaos = Chaos(seed)
    async with joined(Answers(chaos=chaos.handle), Answers(chaos=chaos.handle)) as sides:
        await chaos.run(sides)
        await ended(lambda: sum(remains(side.peer) for side in sides) == 0)

    assert chaos.running == 0


async def test_peers_that_flood_each_other_both_get_through() -> None:
    """Each waits for room to write, and none ever stops to read."""
    async with joined(Answers(), Answers()) as sides, anyio.create_task_group() as group:

        async def ask(side: Conversation) -> None:
            await side.peer.call("echo", {"x": "y" * 400_000})

        for _ in range(20):
            for side in sides:
                group.start_soon(ask, side)
