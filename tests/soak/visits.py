"""What clients do in a soak: everything that a protocol has for a call, and every way to leave.

visit ──▶ a client comes ──▶ so many calls, several at a time ──▶ it closes
                                                             └──▶ it is cancelled in the middle
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dedalus_mcp import MCPClient, McpError, RequestTimeout, Round, ToolError
from dedalus_mcp.types import CallToolRequestParams, CallToolResult
from dedalus_mcp.types.methods import TOOLS_CALL
from tests.interaction.reach import text_of
from tests.soak.places import MODERN, Place
from tests.soak.server import DOCUMENT, ROUND_SECONDS

__all__ = ("Visits",)

WIDTH = 8
"""Calls of one client at a time."""
PARTLY = 5
"""Of so many visits one ends in the middle."""
ABANDONED = 3
"""And after so many one more session is opened and left there."""
PROCESSES = 20
"""And where a client has a process of its own, it is new so seldom."""
MAX_LEFT = 100
"""Calls that are left in the middle of a round, at most, in the time that the server keeps them."""

Operation: TypeAlias = Callable[[MCPClient, random.Random], Awaitable[None]]


async def echo(client: MCPClient, chance: random.Random) -> None:
    text = "x" * chance.choice([1, 100, 10_000])
    assert text_of(await client.call_tool("echo", {"text": text})) == text


async def compute(client: MCPClient, _: random.Random) -> None:
    assert text_of(await client.call_tool("compute", {"number": 12})) == "144"


async def fail(client: MCPClient, _: random.Random) -> None:
    with pytest.raises(ToolError):
        await client.call_tool("fail", raise_on_error=True)


async def refuse(client: MCPClient, _: random.Random) -> None:
    with pytest.raises(McpError):
        await client.call_tool("refuse")


async def mistake(client: MCPClient, _: random.Random) -> None:
    assert (await client.call_tool("echo", {"text": 1})).isError


async def unknown(client: MCPClient, chance: random.Random) -> None:
    with pytest.raises(McpError):
        await client.request(f"soak/{chance.random()}")


async def steps(client: MCPClient, _: random.Random) -> None:
    heard: list[float] = []
    result = await client.call_tool("steps", {"count": 3}, progress=lambda update: heard.append(update.progress))
    assert text_of(result) == "done"


async def chatter(client: MCPClient, _: random.Random) -> None:
    assert text_of(await client.call_tool("chatter", {"count": 3, "size": 100})) == "done"


async def confirm(client: MCPClient, _: random.Random) -> None:
    assert text_of(await client.call_tool("confirm")) == "True"


async def confirm_in_thread(client: MCPClient, _: random.Random) -> None:
    assert text_of(await client.call_tool("confirm_in_thread")) == "True"


async def cancel(client: MCPClient, chance: random.Random) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, chance.choice(["linger", "confirm", "compute"]), {"number": 1})
        for _ in range(chance.randrange(12)):
            await checkpoint()
        group.cancel_scope.cancel()


async def time_out(client: MCPClient, _: random.Random) -> None:
    with pytest.raises(RequestTimeout):
        await client.call_tool("linger", timeout=0.001)


async def leave_in_round(client: MCPClient, _: random.Random) -> None:
    if client.revision == MODERN:
        await _round(client)


async def answer_by_hand(client: MCPClient, _: random.Random) -> None:
    if client.revision == MODERN:
        asked = await _round(client)
        answered = await client.continue_round(asked, {key: {"confirm": True} for key in asked.questions})
        assert text_of(answered) == "True"


async def _round(client: MCPClient) -> Round[CallToolResult]:
    asked = await client.request_round(TOOLS_CALL, CallToolRequestParams(name="confirm", arguments={}))
    assert isinstance(asked, Round)
    return asked


async def listen(client: MCPClient, _: random.Random) -> None:
    try:
        await client.subscribe_resource(DOCUMENT)
    except McpError:  # without sessions, nobody can subscribe
        return
    assert text_of(await client.call_tool("touch")) == "told"
    await client.unsubscribe_resource(DOCUMENT)


async def look(client: MCPClient, _: random.Random) -> None:
    assert await client.list_tools()
    assert await client.read_resource(DOCUMENT)


OPERATIONS: dict[Operation, int] = {
    echo: 40,
    compute: 5,
    fail: 5,
    refuse: 5,
    mistake: 3,
    unknown: 3,
    steps: 6,
    chatter: 3,
    confirm: 10,
    confirm_in_thread: 3,
    cancel: 10,
    time_out: 2,
    answer_by_hand: 2,
    listen: 2,
    look: 1,
}
"""And how often each comes, in a hundred or so."""


class Visits:
    """Visits to one place, in an order made from a seed.

    Args:
        place: Where.
        each: Calls in one visit.
        leaves: Whether some calls are left in the middle of a round: the server has them for a while.
        seed: Of the order.

    Attributes:
        calls: Calls that were made.
        visits: Visits.
    """

    def __init__(self, place: Place, each: int, *, leaves: bool = False, seed: int = 0) -> None:
        self._place = place
        self._each = each
        self._operations = {**OPERATIONS, leave_in_round: 2} if leaves else OPERATIONS
        self._chance = random.Random(seed)
        self._left: deque[float] = deque()  # when calls were left of late
        self.calls = 0
        self.visits = 0

    async def warm_up(self, calls: int, seconds: float) -> None:
        """Do everything after everything, so that all is loaded that ever will be, and make so many calls.

        Args:
            calls: So many at least.
            seconds: And for so long: until the server has as much at once as it ever will, of what it keeps so long.
                Memory that Python has had for that it hardly ever gives back, so only then it grows no more.
        """
        async with self._place.client() as client:
            for operation in (*OPERATIONS, *OPERATIONS):
                await operation(client, self._chance)
        await self._place.abandon()
        end = time.monotonic() + seconds
        await self.make(calls)
        while time.monotonic() < end:
            await self.make(self._each)

    async def make(self, calls: int, told: Callable[[int], None] | None = None) -> None:
        """Make so many calls; `told` hears after each visit how many there were."""
        end = self.calls + calls
        while self.calls < end:
            async with self._place.connect() if self.visits % PROCESSES == 0 else self._place.client() as client:
                await self._use(client)
            self.visits += 1
            if self.visits % ABANDONED == 0:
                await self._place.abandon()
            if told is not None:
                told(self.calls)

    async def _use(self, client: MCPClient) -> None:
        partly = self._chance.randrange(PARTLY) == 0
        async with anyio.create_task_group() as group:
            for _ in range(WIDTH):
                group.start_soon(self._work, client, self._each // WIDTH)
            if partly:
                for _ in range(self._chance.randrange(self._each)):
                    await checkpoint()
                group.cancel_scope.cancel()

    async def _work(self, client: MCPClient, many: int) -> None:
        for operation in self._chance.choices(list(self._operations), list(self._operations.values()), k=many):
            if operation is not leave_in_round or self._may_leave():
                await operation(client, self._chance)
            self.calls += 1

    def _may_leave(self) -> bool:
        """Whether the server has few enough that wait: the most it ever has is no matter of how fast it is."""
        now = time.monotonic()
        while self._left and now - self._left[0] > ROUND_SECONDS:
            self._left.popleft()
        if len(self._left) == MAX_LEFT:
            return False
        self._left.append(now)
        return True
