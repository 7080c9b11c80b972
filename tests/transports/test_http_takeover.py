"""A stream that goes on at another connection, whatever became of the one before: the call never waits for that.

Half-open connections are what resuming is for: nobody reads there any more, and nothing says so.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from tests.transports.asgi import Client, Exchange, Web, serving


class Scene:
    """A call that has told of its first step and takes the next ones when it is told to; its client has seen that."""

    def __init__(self, web: Web, client: Client, steps: list[anyio.Event]) -> None:
        self.web = web
        self.client = client
        self.call: Exchange
        self._steps = steps

    def step(self, number: int) -> None:
        """Let the call take this step."""
        self._steps[number].set()

    def again(self) -> Exchange:
        """Come again for what follows the first step."""
        return self.client.send("GET", last_event_id=str(self.call.events[-1].id))


@asynccontextmanager
async def begun(**settings: Any) -> AsyncGenerator[Scene]:
    steps = [anyio.Event() for _ in range(4)]
    server = MCPServer("s")
    with server.binding():

        @tool
        async def work() -> str:
            for number, step in enumerate(steps):
                await step.wait()
                await get_context().report_progress(number)
            return "end"

    async with serving(server, **settings) as web:
        scene = Scene(web, await web.open("2025-11-25"), steps)
        scene.step(0)
        scene.call = scene.client.begin(1, "tools/call", name="work", arguments={}, _meta={"progressToken": "t"})
        await scene.call.until(lambda: scene.call.messages)
        yield scene


def seen(exchange: Exchange) -> list[Any]:
    """The steps that it tells of, and its replies."""
    return [each["params"]["progress"] if "method" in each else f"#{each['id']}" for each in exchange.messages]


@pytest.mark.parametrize("stuck", ["a step", "a beat"])
async def test_a_call_whose_reader_reads_nothing_goes_on_at_the_next(stuck: str) -> None:
    async with begun() as scene:
        scene.call.stall()
        if stuck == "a beat":  # whoever sends next waits for that
            channel = scene.web.app._service()._legacy._pulse._read[scene.call.send]  # pyright: ignore[reportPrivateUsage]
            async with anyio.create_task_group() as group:
                group.start_soon(channel.beat)
                await anyio.wait_all_tasks_blocked()
                await _go_on(scene)
        else:
            await _go_on(scene)
        scene.call.leave()


async def _go_on(scene: Scene) -> None:
    scene.step(1)
    await anyio.wait_all_tasks_blocked()  # in the middle of telling
    again = scene.again()
    for number in (2, 3):
        scene.step(number)
    await again.ended()
    assert seen(again) == [1, 2, 3, "#1"]


async def test_a_call_that_waits_for_a_reader_that_could_not_even_begin_goes_on_at_the_next() -> None:
    async with begun() as scene:
        scene.call.leave()
        await scene.call.done()
        second = scene.again()
        second.stall()
        await anyio.wait_all_tasks_blocked()
        scene.step(1)
        await anyio.wait_all_tasks_blocked()
        third = scene.again()
        for number in (2, 3):
            scene.step(number)
        await third.ended()
        assert seen(third) == [1, 2, 3, "#1"]
        second.go_on()
        await second.ended()  # begun, and ended
        assert (second.status, seen(second)) == (200, [])


async def test_a_reader_that_breaks_after_another_took_over_does_not_disturb_it() -> None:
    """Its failure is its own: the response of the other has begun."""
    async with begun() as scene:
        scene.call.leave()
        await scene.call.done()
        second = scene.again()
        second.stall()
        await anyio.wait_all_tasks_blocked()
        third = scene.again()
        await third.started()
        second.leave()
        await second.done()
        for number in (1, 2, 3):
            scene.step(number)
        await third.ended()
        assert (seen(third), third.faults) == ([1, 2, 3, "#1"], [])


async def test_a_reader_whose_request_the_server_ends_by_force_leaves_nothing_open() -> None:
    """The connection before is completed, the session is held no longer, and the rest can still be had."""
    async with begun() as scene:
        app, scope = scene.client.app, anyio.CancelScope()

        async def limited(*connection: Any) -> None:
            with scope:
                await app(*connection)

        scene.client.app = limited
        second = scene.again()
        second.stall()
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await second.done()
        second.leave()
        scene.client.app = app
        await scene.call.ended()
        assert not scene.web.app._service()._legacy._sessions._held  # pyright: ignore[reportPrivateUsage]
        for number in (1, 2, 3):
            scene.step(number)
        third = scene.again()
        await third.ended()
        assert seen(third) == [1, 2, 3, "#1"]
