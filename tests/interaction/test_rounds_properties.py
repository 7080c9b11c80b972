"""Handlers of every shape: the same outcome live, in rounds, and when every retry reaches another process.

And a client that goes away at every turn of the event loop: the call still answers, or it is over, and
then its cleanup has run once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.errors import McpError
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE
from tests.interaction.test_rounds import ABLE, MODERN, Talk, accept, answering, ask, asked, rejected

KEY = b"k" * 32
Plan = Any
"""A number: ask a question of that name.  A list: one after the other.  A tuple: all at once."""

plans: st.SearchStrategy[Plan] = st.recursive(
    st.integers(0, 7),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, min_size=1, max_size=3).map(tuple),
    max_leaves=6,
)


def answer_to(message: str) -> dict[str, Any]:
    """What the client says: it depends on the question alone."""
    number = int(message)
    return [accept(number), {"action": "decline"}, {"action": "cancel"}, accept("no number")][number % 4]


def run(plan: Plan) -> Callable[..., Any]:
    """A tool that follows a plan, and says what it heard where."""

    async def follow(part: Plan) -> Any:
        if isinstance(part, int):
            try:
                return await ask(str(part))
            except McpError as error:
                return error.code
        if _is_list(part):
            return [await follow(each) for each in part]
        found: dict[int, Any] = {}

        async def keep(index: int, each: Plan) -> None:
            found[index] = await follow(each)

        async with anyio.create_task_group() as group:
            for index, each in enumerate(part):
                group.start_soon(keep, index, each)
        return [found[index] for index in sorted(found)]

    @tool
    async def act() -> str:
        return str(await follow(plan))

    return act


def offering(plan: Plan) -> MCPServer:
    server = MCPServer("s", state_keys=[KEY])
    server.collect(run(plan))
    return server


async def live(plan: Plan) -> Any:
    async with serving(offering(plan)) as raw:
        await raw.open("2025-11-25", ABLE)
        await raw.begin(1, "tools/call", name="act")
        while "method" in (message := await raw.hear()):
            await raw.say({"id": message["id"], "result": answer_to(message["params"]["message"])})
        return message["result"]["content"]


async def in_rounds(plan: Plan, *, anew: bool) -> Any:
    """Every retry on the same connection, or each at a server of its own."""
    ends: list[Raw] = []
    result: Any = None
    async with anyio.create_task_group() as group:

        async def serve(*, task_status: anyio.abc.TaskStatus[Raw]) -> None:
            async with serving(offering(plan)) as raw:
                await raw.open(MODERN, ABLE)
                task_status.started(raw)
                await anyio.sleep_forever()

        ends.append(await group.start(serve))
        result = (await Talk(ends[-1], "act").call())["result"]
        while result["resultType"] == "input_required":
            if anew:
                ends.append(await group.start(serve))
            more = {
                "requestState": result["requestState"],
                "inputResponses": {
                    name: answer_to(each["params"]["message"]) for name, each in result["inputRequests"].items()
                },
            }
            result = (await Talk(ends[-1], "act").call(**more))["result"]
        group.cancel_scope.cancel()
    return result["content"]


def _is_list(part: Plan) -> TypeGuard[list[Plan]]:
    return isinstance(part, list)


async def all_ways(plan: Plan) -> list[Any]:
    with anyio.fail_after(PATIENCE):
        return [await live(plan), await in_rounds(plan, anew=False), await in_rounds(plan, anew=True)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@given(plan=plans)
@settings(max_examples=40)
def test_the_outcome_is_the_same_live_in_rounds_and_by_replay(backend: str, plan: Plan) -> None:
    """Invariant: what a handler hears depends on its questions, not on how they travel."""
    one, two, three = anyio.run(all_ways, plan, backend=backend)

    assert one == two == three


TURNS = range(25)


@pytest.mark.parametrize("turns", TURNS)
async def test_a_client_that_cancels_at_any_turn_leaves_a_call_that_answers_or_none(turns: int) -> None:
    ended: list[str | None] = []

    @tool
    async def steps() -> str:
        try:
            heard: list[Any] = []
            async with anyio.create_task_group() as group:
                for name in "ab":
                    group.start_soon(_append, heard, name)
            heard.append(await ask("c"))
            return f"{sorted(map(str, heard))}"
        finally:
            with anyio.CancelScope(shield=True):
                await checkpoint()
            ended.append(get_context().cancel_reason)

    server = MCPServer("s")
    server.collect(steps)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "steps")
            retry = answering(await talk.call(), a=1, b=2)
            id = await talk.begin(**retry)
            for _ in range(turns):
                await checkpoint()
            await raw.notify("notifications/cancelled", requestId=id)
            replied = [message for message in await raw.barrier() if message.get("id") == id]
            again = await talk.call(**retry)
            if "error" in again:
                assert rejected(again)
                assert replied == []
                while len(server.parkings.here()):  # the cleanup has its turns, too
                    await checkpoint()
                assert len(ended) == 1
            else:
                assert set(asked(again)) == {"c"}
                end = await talk.call(**answering(again, c=3))
                assert end["result"]["content"][0]["text"] == "['1', '2', '3']"
                assert ended == [None]


async def _append(heard: list[Any], name: str) -> None:
    heard.append(await ask(name))
