"""`Context.progress`: the newest value, no oftener than asked for, and nothing else changed by it.  In virtual time."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPServer, ToolError, progress, tool
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.progress import ProgressTracker
from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities
from tests.interaction.raw import serving
from tests.server.stalled import Stalled
from tests.virtual_time import virtual

BOTH = ["2025-11-25", "2026-07-28"]
TOKEN = {"progressToken": "t"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


class Work:
    """One call, and what its client heard: (seconds, progress, total, message)."""

    def __init__(self, work: Callable[[Context], Awaitable[object]], revision: str = BOTH[0]) -> None:
        self.heard: list[tuple[float, float, float | None, str | None]] = []
        self.reply: Any = None
        self._work = work
        self._revision = revision

    async def run(self, meta: dict[str, Any] = TOKEN) -> Work:
        @tool
        async def work(ctx: Context) -> None:
            await self._work(ctx)

        server = MCPServer("test")
        server.collect(work)
        async with serving(server) as raw:
            await raw.open(self._revision)
            began = anyio.current_time()
            await raw.begin(1, "tools/call", name="work", _meta=meta)
            while "id" not in (message := await raw.hear()):
                params = message["params"]
                at = round(anyio.current_time() - began, 6)
                self.heard.append((at, params["progress"], params.get("total"), params.get("message")))
            self.reply = message
        return self


async def heard_of(work: Callable[[Context], Awaitable[object]], revision: str = BOTH[0]) -> list[Any]:
    return (await Work(work, revision).run()).heard


@pytest.mark.parametrize("revision", BOTH)
async def test_the_first_is_told_at_once_then_the_newest_in_its_turn_and_the_last_at_the_end(revision: str) -> None:
    """PROG-03, PROG-07."""

    async def work(ctx: Context) -> None:
        async with ctx.progress(total=10, emit_hz=4) as bar:
            for step in range(1, 4):
                await bar.set(step, message=f"step {step}")
            await anyio.sleep(1)
            await bar.advance()
            await bar.advance(2)

    assert await heard_of(work, revision) == [
        (0.0, 1, 10, "step 1"),
        (0.25, 3, 10, "step 3"),
        (1.0, 4, 10, "step 3"),
        (1.0, 6, 10, "step 3"),
    ]


async def test_without_a_bound_everything_is_told() -> None:
    async def work(ctx: Context) -> None:
        async with ctx.progress(emit_hz=0) as bar:
            for _ in range(3):
                await bar.advance()

    assert [value for _, value, _, _ in await heard_of(work)] == [1, 2, 3]


async def test_many_changes_in_a_while_are_a_few_notices() -> None:
    async def work(ctx: Context) -> None:
        async with ctx.progress(total=1000) as bar:
            for _ in range(1000):
                await bar.advance()
                await anyio.sleep(0.001)

    heard = await heard_of(work)

    assert len(heard) <= 10
    assert heard[-1][1] == 1000


async def test_what_stays_the_same_is_not_told_again() -> None:
    """PROG-03: equal is legal here, and never sent."""

    async def work(ctx: Context) -> None:
        async with ctx.progress(emit_hz=0) as bar:
            await bar.set(1)
            await bar.set(1, message="still")
            await bar.set(2, total=5)

    assert await heard_of(work) == [(0.0, 1, None, None), (0.0, 2, 5, "still")]


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf], ids=str)
async def test_progress_that_falls_or_is_no_number_is_the_authors_error(wrong: float) -> None:
    refused: list[str] = []

    async def work(ctx: Context) -> None:
        async with ctx.progress(emit_hz=0) as bar:
            await bar.set(0.5)
            for change in (
                bar.set(wrong),
                bar.advance(wrong),
                bar.set(1, total=math.nan),
                bar.set(1, message="\ud800"),
            ):
                try:
                    await change
                except ValueError as error:
                    refused.append(str(error))
            assert bar.value == 0.5

    assert [value for _, value, _, _ in await heard_of(work)] == [0.5]
    assert len(refused) == 4


@pytest.mark.parametrize(("total", "emit_hz"), [(math.nan, 1), (1, -1), (1, math.inf), (1, math.nan)])
async def test_settings_that_are_no_numbers_are_refused(total: float, emit_hz: float) -> None:
    refused: list[str] = []

    async def work(ctx: Context) -> None:
        try:
            ctx.progress(total, emit_hz=emit_hz)
        except ValueError as error:
            refused.append(str(error))

    await Work(work).run()
    assert len(refused) == 1


@pytest.mark.parametrize("raised", [ToolError("mine"), RuntimeError("mine")], ids=repr)
async def test_an_exception_leaves_the_block_as_it_is(raised: Exception) -> None:
    """No group of exceptions is made of it; what was done until then is told."""
    caught: list[Exception] = []

    async def work(ctx: Context) -> None:
        try:
            async with ctx.progress() as bar:
                await bar.advance()
                await bar.advance()
                raise raised
        except Exception as error:  # noqa: BLE001 - whatever it is
            caught.append(error)

    assert [value for _, value, _, _ in await heard_of(work)] == [1, 2]
    assert caught == [raised]


async def test_where_nobody_asked_it_only_counts() -> None:
    """PROG-05."""
    seen: list[object] = []

    async def work(ctx: Context) -> None:
        async with progress(total=2) as bar:
            seen.extend([bar.token, bar.request_id, await bar.advance(), await bar.advance()])

    call = await Work(work).run({})

    assert call.heard == []
    assert seen == [None, "1", 1, 2]


def test_outside_of_a_call_there_is_none() -> None:
    with pytest.raises(LookupError, match="No active context"):
        progress()


async def test_others_may_report_for_the_same_call() -> None:
    """PROG-03: what is behind them is not told."""

    async def work(ctx: Context) -> None:
        async with ctx.progress(emit_hz=0) as first, ctx.progress(emit_hz=0) as second:
            await first.set(1)
            await second.set(1)
            await ctx.report_progress(5)
            await first.set(4)
            await second.set(6)

    assert [value for _, value, _, _ in await heard_of(work)] == [1, 5, 6]


async def test_after_the_block_nothing_is_told() -> None:
    async def work(ctx: Context) -> None:
        async with ctx.progress() as bar:
            await bar.advance()
        await bar.advance()
        await anyio.sleep(10)

    assert [value for _, value, _, _ in await heard_of(work)] == [1]


async def test_several_tasks_share_one_bar() -> None:
    async def work(ctx: Context) -> None:
        async with ctx.progress(total=30) as bar, anyio.create_task_group() as group:

            async def part() -> None:
                for _ in range(10):
                    await bar.advance()
                    await anyio.sleep(0.05)

            for _ in range(3):
                group.start_soon(part)

    values = [value for _, value, _, _ in await heard_of(work)]

    assert values == sorted(set(values))
    assert values[-1] == 30


def stalled() -> tuple[Stalled, Context]:
    server, channel = MCPServer("test"), Stalled()
    peer = Peer(server.answering(), channel, answers_malformed=True)
    call = Inbound(Call(1, "tools/call"), channel, None, peer)
    return channel, Context(server, peer, call, Terms("2025-11-25", None, ClientCapabilities(), None), TOKEN)


async def test_a_client_that_does_not_read_hears_the_newest_when_it_does() -> None:
    """What waits is one value, however long; it is told before the block is over."""
    channel, context = stalled()

    async def work(bar: ProgressTracker) -> None:
        async with bar:
            await bar.advance()

    async with anyio.create_task_group() as group:
        bar = context.progress()
        group.start_soon(work, bar)
        await anyio.sleep(1)
        for _ in range(100):
            group.start_soon(bar.advance)
        await anyio.sleep(1)
        assert channel.sent == []
        channel.let_go()

    assert len(channel.sent) == 2
    assert b'"progress":101' in channel.sent[-1]


async def test_a_block_that_is_cancelled_ends_though_the_client_does_not_read() -> None:
    """Neither what is on its way nor what waits for its turn keeps it."""
    channel, context = stalled()

    with anyio.fail_after(1000):
        with anyio.move_on_after(5) as scope:
            async with context.progress() as bar, anyio.create_task_group() as group:
                group.start_soon(bar.advance)
                await anyio.sleep(0.01)
                group.start_soon(bar.advance)
                await anyio.sleep_forever()
        ended = anyio.current_time() - scope.deadline
    channel.let_go()
    await anyio.sleep(1)

    assert scope.cancelled_caught
    assert ended == pytest.approx(0)
    assert channel.sent == []
