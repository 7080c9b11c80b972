"""What counts against the timeout of a request that asks back, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

from dedalus_mcp import RequestTimeout, Timeout
from dedalus_mcp.types import ElicitRequestParams
from tests.client.playing import Play, asks, form, playing, said
from tests.interaction.raw import Message
from tests.interaction.reach import text_of
from tests.virtual_time import virtual


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


async def thinks(params: ElicitRequestParams) -> dict[str, Any]:
    """A person who takes an hour."""
    await anyio.sleep(3600)
    return {"value": "x"}


@asynccontextmanager
async def slow(*turns: tuple[float, Message], **settings: Any) -> AsyncGenerator[Play]:
    """Play with a server that takes so many seconds for each of its results."""
    nobody: list[Message | None] = [None] * len(turns)
    async with playing(*nobody, elicitation=thinks, **settings) as play, anyio.create_task_group() as group:

        async def serve() -> None:
            for number, (seconds, outcome) in enumerate(turns, 1):
                call = await play.call(number)
                await anyio.sleep(seconds)
                await play.raw.say({"id": call["id"], "result": outcome})

        group.start_soon(serve)
        yield play
        group.cancel_scope.cancel()


async def test_the_persons_time_does_not_count() -> None:
    """B013, CANC-13."""
    async with slow((25, asks("s", q=form())), (25, said("hi")), timeout=60) as play:
        begin = anyio.current_time()
        assert text_of(await play.client.call_tool("t")) == "hi"
        assert anyio.current_time() - begin == pytest.approx(3650, abs=1)


async def test_the_servers_time_counts_over_all_rounds() -> None:
    round = (25, asks("s", q=form()))
    async with slow(round, round, (25, said("late")), timeout=60) as play:
        begin = anyio.current_time()
        with pytest.raises(RequestTimeout, match="tools/call"):
            await play.client.call_tool("t")
        assert anyio.current_time() - begin == pytest.approx(7260, abs=1)
        assert play.notices == []
        await anyio.sleep(0.01)
        (notice,) = play.notices
        assert notice["params"]["requestId"] == play.calls[2]["id"]


async def test_a_round_is_progress_and_the_total_holds_over_all_of_them() -> None:
    """CANC-14."""
    round = (25, asks("s", q=form()))
    patience = Timeout(30, reset_on_progress=True)
    async with slow(round, round, (25, said("hi")), timeout=patience) as play:
        assert text_of(await play.client.call_tool("t")) == "hi"
    patience = Timeout(30, reset_on_progress=True, total=60)
    async with slow(round, round, (25, said("late")), timeout=patience) as play:
        with pytest.raises(RequestTimeout):
            await play.client.call_tool("t")


async def test_there_may_be_no_limit() -> None:
    round = (100_000, asks("s", q=form()))
    async with slow(round, (100_000, said("hi")), timeout=None) as play:
        assert text_of(await play.client.call_tool("t")) == "hi"


async def test_a_server_that_only_gives_state_is_asked_again_less_and_less_often() -> None:
    """MRTR-21."""
    rounds: list[Message] = [*[asks("s")] * 6, asks(None, q=form()), asks("s"), said("hi")]
    async with playing(*rounds, elicitation=thinks) as play:
        assert text_of(await play.client.call_tool("t")) == "hi"

    pauses = [after - before for before, after in pairwise(play.moments)]
    assert pauses == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 3600, 0.05], abs=0.01)
    assert [params.get("requestState") for params in play.params] == [None, *["s"] * 6, None, "s"]
    assert ["inputResponses" in params for params in play.params] == [*[False] * 7, True, False]


@pytest.mark.parametrize("patience", [0.1, Timeout(10, reset_on_progress=True, total=0.1)], ids=["seconds", "total"])
async def test_pauses_count_and_end_with_the_timeout(patience: Any) -> None:
    async with playing(*[asks("s")] * 3, timeout=patience) as play:
        begin = anyio.current_time()
        with pytest.raises(RequestTimeout, match=r"within 0.1 s"):
            await play.client.call_tool("t")
        assert anyio.current_time() - begin == pytest.approx(0.1)
    assert len(play.calls) == 2
    assert play.notices == []


async def test_other_requests_run_out_of_time_while_a_person_is_asked() -> None:
    """It is known on whose behalf: only that request waits for the person."""
    async with (
        playing(asks("s", q=form()), None, said("hi"), elicitation=thinks) as play,
        anyio.create_task_group() as group,
    ):
        begin = anyio.current_time()
        group.start_soon(play.client.call_tool, "t")
        await play.call(1)
        with pytest.raises(RequestTimeout):
            await play.client.call_tool("other", timeout=5)
        assert anyio.current_time() - begin < 3600
