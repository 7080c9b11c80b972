"""Calls that ask in rounds over HTTP: every request is one leg, and nothing of a connection outlives it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, get_context, tool
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.testing.raw import envelope
from tests.interaction.server import Story
from tests.interaction.test_rounds import ABLE, MODERN, answering, ask, asked, rejected, text
from tests.transports.asgi import Client, serving


def offering(*functions: Callable[..., Any], keys: tuple[bytes, ...] = (), **parking: Any) -> MCPServer:
    server = MCPServer("rounds", state_keys=keys, config=ServerConfig(parking=ParkingConfig(**parking)))
    server.collect(*functions)
    return server


@pytest.fixture
def story() -> Story:
    return Story()


def holding(story: Story) -> Callable[..., Any]:
    """A tool that asks, then runs until it is let go."""

    @tool
    async def hold() -> str:
        try:
            found = await ask("n")
            story.tell("running")
            await get_context().report_progress(1)
            await story.until("go on")
            return f"{found} {await ask('m')}"
        finally:
            story.tell(f"over: {get_context().cancel_reason}")

    return hold


async def retried(client: Client, reply: dict[str, Any], **numbers: int) -> Any:
    return await client.call(2, "tools/call", name="hold", arguments={}, **answering(reply, **numbers))


@pytest.mark.parametrize("settings", [{}, {"json_only": True}, {"always_stream": True}], ids=repr)
async def test_each_round_is_a_request_of_its_own_in_every_form_of_answer(
    settings: dict[str, Any], story: Story
) -> None:
    """MRTR-22: rounds need no stream and no connection."""
    story.tell("go on")
    async with serving(offering(holding(story)), **settings) as web:
        one = await (await web.open(MODERN, ABLE)).tool(1, "hold").reply()
        two = await retried(await web.open(MODERN, ABLE), one, n=1)
        end = await retried(await web.open(MODERN, ABLE), two, m=2)

    assert text(end) == "1 2"


async def test_a_client_that_leaves_in_the_middle_of_a_round_ends_the_handler(story: Story) -> None:
    async with serving(offering(holding(story))) as web:
        client = await web.open(MODERN, ABLE)
        retry = answering(await client.tool(1, "hold").reply(), n=1)
        exchange = client.begin(2, "tools/call", name="hold", arguments={}, **retry)
        await story.until("running")
        exchange.leave()
        await story.until("over: the client closed the stream")
        await exchange.done()

        assert rejected(await client.call(3, "tools/call", name="hold", arguments={}, **retry))


async def test_a_client_that_leaves_after_the_round_is_out_ends_nothing(story: Story) -> None:
    story.tell("go on")
    async with serving(offering(holding(story))) as web:
        client = await web.open(MODERN, ABLE)
        exchange = client.tool(1, "hold")
        one = await exchange.reply()
        exchange.leave()
        assert set(asked(await retried(client, one, n=1))) == {"m"}


async def test_the_response_got_lost_and_the_retry_is_sent_again_on_another_connection(story: Story) -> None:
    async with serving(offering(holding(story))) as web:
        client = await web.open(MODERN, ABLE)
        retry = answering(await client.tool(1, "hold").reply(), n=1)
        first = client.begin(2, "tools/call", name="hold", arguments={}, **retry)
        await story.until("running")
        again = client.begin(3, "tools/call", name="hold", arguments={}, **retry)
        await anyio.wait_all_tasks_blocked()
        first.leave()
        await first.done()
        story.tell("go on")

        assert set(asked(await again.reply())) == {"m"}
    assert story.told.count("running") == 1


async def test_progress_of_a_round_travels_on_the_stream_of_its_request(story: Story) -> None:
    story.tell("go on")
    async with serving(offering(holding(story))) as web:
        client = await web.open(MODERN, ABLE)
        one = await client.tool(1, "hold", meta={"progressToken": "a"}).reply()
        more = answering(one, n=1)
        meta = {"progressToken": "b"}
        exchange = client.begin(2, "tools/call", name="hold", arguments={}, _meta=meta, **more)
        notice, reply = await exchange.message(), await exchange.reply()

    assert notice["params"] == {"progressToken": "b", "progress": 1}
    assert set(asked(reply)) == {"m"}


async def test_a_server_that_ends_cancels_what_is_parked_before_its_lifespan_is_over(story: Story) -> None:
    server = offering(holding(story))
    async with serving(server) as web:
        await (await web.open(MODERN, ABLE)).tool(1, "hold").reply()
        await web.app.aclose()
        assert story.told == ["over: the server is shutting down"]
        assert len(server.parkings.here()) == 0


async def test_two_processes_behind_one_address_serve_a_call_in_turns(story: Story) -> None:
    story.tell("go on")
    keys = (b"k" * 32,)
    hold = holding(story)
    async with serving(offering(hold, keys=keys)) as left, serving(offering(hold, keys=keys)) as right:
        one = await (await left.open(MODERN, ABLE)).tool(1, "hold").reply()
        two = await retried(await right.open(MODERN, ABLE), one, n=1)
        end = await retried(await left.open(MODERN, ABLE), two, m=2)

    assert text(end) == "1 2"


async def test_a_replay_goes_on_for_a_retry_that_joined_when_the_one_that_began_it_leaves(story: Story) -> None:
    keys = (b"k" * 32,)
    hold = holding(story)
    async with serving(offering(hold, keys=keys)) as left, serving(offering(hold, keys=keys)) as right:
        retry = answering(await (await left.open(MODERN, ABLE)).tool(1, "hold").reply(), n=1)
        client = await right.open(MODERN, ABLE)
        first = client.begin(2, "tools/call", name="hold", arguments={}, **retry)
        await story.until("running")
        joined = client.begin(3, "tools/call", name="hold", arguments={}, **retry)
        await anyio.wait_all_tasks_blocked()
        first.leave()
        await first.done()
        story.tell("go on")

        assert set(asked(await joined.reply())) == {"m"}
    assert story.told.count("running") == 1


async def test_thousands_of_parked_calls_expire_together_and_nothing_is_left() -> None:
    count, ended, all_ended = 2000, 0, anyio.Event()

    @tool
    async def wait() -> str:
        nonlocal ended
        try:
            return str(await ask("n"))
        finally:
            ended += 1
            if ended == count:
                all_ended.set()

    server = offering(wait, max_parked=count, round_seconds=0.0)
    async with serving(server) as web:
        client = await web.open(MODERN, ABLE)
        for exchange in [client.begin(1, "tools/call", name="wait", arguments={}) for _ in range(count)]:
            await exchange.reply()
        await all_ended.wait()
        parking = server.parkings.here()
        await parking.tasks.wait()

        assert len(parking) == 0


async def test_answers_of_any_depth_are_answers_or_the_clients_fault() -> None:
    """Each step reads them a little deeper than the one before: none of them may be the one that fails."""

    @tool
    async def hold() -> str:
        return f"{await ask('n')}"

    async def code(depth: int) -> int | None:
        """Answer with something that is nested that deeply; where that is refused, answer once more."""
        first = await client.tool(1, "hold").reply()
        retry = answering(first, n=1)
        (answer,) = retry["inputResponses"].values()
        answer["deep"] = "deep"
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
        params = {"name": "hold", "arguments": {}, **retry, "_meta": envelope(MODERN, ABLE)}
        nested = json.dumps(message | {"params": params}).replace('"deep"}', "[" * depth + "]" * depth + "}")
        reply = await client.send("POST", nested.encode(), mcp_method="tools/call", mcp_name="hold").reply()
        if "error" in reply:
            assert text(await retried(client, first, n=1)) == "1"
        found: int | None = reply.get("error", {}).get("code")
        return found

    server = offering(hold)
    async with serving(server) as web:
        client = await web.open(MODERN, ABLE)
        legal, too_deep = 100, 100_000  # how deep one can read depends on the Python
        while too_deep - legal > 1:
            depth = (legal + too_deep) // 2
            legal, too_deep = (depth, too_deep) if await code(depth) is None else (legal, depth)
        codes = [await code(depth) for depth in range(legal - 5, legal + 30)]

    assert set(codes) <= {None, -32602, -32700}
    assert (codes[0], codes[-1]) == (None, -32700)
    assert len(server.parkings.here()) == 0
