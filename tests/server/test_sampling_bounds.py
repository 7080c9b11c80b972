"""How much a client's model is asked at a time, and when it is asked no more.  In virtual time."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from weakref import ref

import anyio
import pytest

from dedalus_mcp import AskFailed, Context, ElicitationConfig, MCPServer, SamplingConfig, ServerConfig, tool
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.sampling_bounds import SamplingBoundsByPeer
from tests.interaction.raw import Raw, serving
from tests.server.stalled import Stalled
from tests.transports.asgi import serving as web_serving
from tests.virtual_time import virtual

LIVE, IN_ROUNDS = "2025-11-25", "2026-07-28"
ABLE: dict[str, Any] = {"sampling": {}, "elicitation": {}}
REPLY = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


@tool
async def sample(ctx: Context, timeout: float = 10, key: str | None = None) -> str:
    return (await ctx.sample("Hello", timeout=timeout, key=key)).model


@tool(max_concurrent=1)
async def alone(ctx: Context) -> str:
    return (await ctx.sample("Hello")).model


@tool
async def unsaid(ctx: Context) -> str:
    return (await ctx.sample("Hello")).model


@tool
async def unsendable(ctx: Context) -> str:
    return (await ctx.sample("Hello", metadata={"x": object()})).model


@tool
async def at_once(ctx: Context, count: int) -> list[str]:
    said: list[str] = []

    async def one() -> None:
        said.append((await ctx.sample("Hello")).model)

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return said


@tool
async def in_a_row(ctx: Context, count: int) -> list[str]:
    said: list[str] = []
    for _ in range(count):
        try:
            said.append((await ctx.sample("Hello", timeout=1)).model)
        except AskFailed as error:
            said.append(str(error))
    return said


@tool
async def confirm(ctx: Context) -> str:
    return str(await ctx.confirm("Sure?"))


def offering(**settings: Any) -> MCPServer:
    server = MCPServer("test", config=ServerConfig(sampling=SamplingConfig(**settings)))
    server.collect(sample, alone, unsaid, unsendable, at_once, in_a_row, confirm)
    return server


@asynccontextmanager
async def connected(server: MCPServer, revision: str = LIVE) -> AsyncGenerator[Raw]:
    async with serving(server) as raw:
        await raw.open(revision, ABLE)
        yield raw


async def begin(raw: Raw, id: int, name: str = "sample", **arguments: Any) -> None:
    await raw.begin(id, "tools/call", name=name, arguments=arguments)


async def heard(raw: Raw) -> list[Any]:
    """All that has come, once everybody waits."""
    await anyio.sleep(0.001)
    return await raw.barrier()


async def answer(raw: Raw, question: Any) -> None:
    await raw.say({"id": question["id"], "result": REPLY})


def text(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


async def fails(raw: Raw, id: int, how: Any) -> str:
    """Sample once, the client failing so: by an error, a result, or in silence."""
    await begin(raw, id)
    question = await raw.hear()
    assert question["method"] == "sampling/createMessage"
    if how is not None:
        await raw.say({"id": question["id"], **how})
    return text(await raw.reply(id))


async def test_so_many_questions_are_asked_at_a_time_and_the_others_in_turn() -> None:
    async with connected(offering(max_concurrent=2)) as raw:
        for id in range(1, 5):
            await begin(raw, id)
        first, second = await heard(raw)
        await answer(raw, second)
        reply, third = await heard(raw)
        assert text(reply) == "m"
        await answer(raw, first)
        await answer(raw, third)
        (fourth,) = [each for each in await heard(raw) if "method" in each]
        await answer(raw, fourth)
        assert text(await raw.hear()) == "m"


async def test_one_call_may_ask_more_at_once_than_there_are_places() -> None:
    async with connected(offering(max_concurrent=2)) as raw:
        await begin(raw, 1, "at_once", count=5)
        for asked in (2, 2, 1):
            questions = await heard(raw)
            assert len(questions) == asked
            for question in questions:
                await answer(raw, question)
        assert (await raw.hear())["result"]["structuredContent"] == {"result": ["m"] * 5}


async def test_time_counts_once_the_question_is_asked() -> None:
    async with connected(offering(max_concurrent=1)) as raw:
        await begin(raw, 1, timeout=10)
        await begin(raw, 2, timeout=10)
        (question,) = await heard(raw)
        await anyio.sleep(9)
        await answer(raw, question)
        reply, question = await heard(raw)
        await anyio.sleep(9)
        await answer(raw, question)
        assert [text(reply), text(await raw.hear())] == ["m", "m"]


async def test_a_call_that_is_cancelled_gives_its_place_back_and_takes_none_it_waited_for() -> None:
    async with connected(offering(max_concurrent=1)) as raw:
        await begin(raw, 1)
        assert len(await heard(raw)) == 1
        await begin(raw, 2)
        await begin(raw, 3)
        assert await heard(raw) == []
        await raw.notify("notifications/cancelled", requestId=2)
        assert await heard(raw) == []
        await raw.notify("notifications/cancelled", requestId=1)
        *_, question = await heard(raw)
        assert question["method"] == "sampling/createMessage"
        await answer(raw, question)
        assert text(await raw.reply(3)) == "m"
        await begin(raw, 4)
        await answer(raw, await raw.hear())
        assert text(await raw.reply(4)) == "m"


async def test_a_tool_and_the_client_with_one_place_each_do_not_wait_for_each_other() -> None:
    """Whoever waits for the client's place has given that of the tool back, and the other way round."""
    async with connected(offering(max_concurrent=1)) as raw:
        for id in (1, 2, 3):
            await begin(raw, id, "alone")
        with anyio.fail_after(60):
            done = 0
            while done < 3:
                message = await raw.hear()
                if "method" in message:
                    await answer(raw, message)
                else:
                    done += 1


@pytest.mark.parametrize(
    "how",
    [
        None,
        {"error": {"code": -1, "message": "No"}},
        {"error": {"code": -32601, "message": "No"}},
        {"result": {"role": "nobody"}},
    ],
    ids=["silence", "refusal", "unknown method", "nonsense"],
)
async def test_a_client_that_fails_so_often_is_asked_no_more_for_a_while_then_once(how: Any) -> None:
    async with connected(offering(failure_threshold=3, cooldown_seconds=30)) as raw:
        for id in (1, 2, 3):
            assert "is not asked" not in await fails(raw, id, how)
        refused = text(await raw.tool(4, "sample"))
        assert refused == "The client is not asked for sampling: 3 in a row have failed; the next is tried in 30 s"
        await anyio.sleep(29)
        assert "is not asked" in text(await raw.tool(5, "sample"))

        await anyio.sleep(1)
        await begin(raw, 6)
        trial = await raw.hear()
        assert text(await raw.tool(7, "sample")).endswith("3 in a row have failed, and one more is being tried")
        await answer(raw, trial)
        assert text(await raw.reply(6)) == "m"
        assert "is not asked" not in await fails(raw, 8, how)
        await begin(raw, 9)
        await answer(raw, await raw.hear())


async def test_those_that_wait_for_a_place_are_told_when_the_client_has_failed_too_often() -> None:
    async with connected(offering(max_concurrent=1, failure_threshold=1)) as raw:
        for id in (1, 2, 3):
            await begin(raw, id)
        question = await raw.hear()
        await raw.say({"id": question["id"], "error": {"code": -1, "message": "No"}})
        assert sorted(text(reply) for reply in await heard(raw)) == [
            "No",
            *["The client is not asked for sampling: 1 in a row have failed; the next is tried in 30 s"] * 2,
        ]


async def test_what_is_no_fault_of_the_client_does_not_count() -> None:
    """Neither a question that cannot be sent nor a call that was cancelled."""
    async with connected(offering(failure_threshold=1)) as raw:
        assert "cannot be sent" in text(await raw.tool(1, "unsendable"))
        await begin(raw, 2)
        await raw.hear()
        await raw.notify("notifications/cancelled", requestId=2)
        await heard(raw)
        await begin(raw, 3)
        await answer(raw, await raw.hear())
        assert text(await raw.reply(3)) == "m"


async def test_who_outlives_his_call_while_he_waits_for_a_place_asks_no_more() -> None:
    told: list[str] = []

    async def later(ctx: Context) -> None:
        try:
            await ctx.sample("Hello")
        except AskFailed as error:
            told.append(str(error))

    @tool
    async def short(ctx: Context) -> str:
        group.start_soon(later, ctx)
        await anyio.sleep(1)
        return "done"

    server = offering(max_concurrent=1)
    server.collect(short)
    async with anyio.create_task_group() as group, connected(server) as raw:
        await begin(raw, 1, timeout=100)
        question = await raw.hear()
        assert text(await raw.tool(2, "short")) == "done"
        await answer(raw, question)
        assert [text(reply) for reply in await heard(raw)] == ["m"]

    assert told == ["Sampling needs an active request: call it while a handler runs"]


async def test_every_client_has_bounds_of_its_own_and_forms_have_none() -> None:
    server = offering(max_concurrent=1, failure_threshold=1)
    async with connected(server) as bad, connected(server) as good:
        await fails(bad, 1, {"error": {"code": -1, "message": "No"}})
        assert "is not asked" in text(await bad.tool(2, "sample"))
        await begin(good, 1)
        await answer(good, await good.hear())
        assert text(await good.reply(1)) == "m"
        await begin(bad, 3, "confirm")
        question = await bad.hear()
        await bad.say({"id": question["id"], "result": {"action": "accept", "content": {"confirm": True}}})
        assert text(await bad.reply(3)) == "True"


@pytest.mark.parametrize("revision", [LIVE, IN_ROUNDS])
async def test_a_question_waits_as_long_as_is_configured_for_sampling(revision: str) -> None:
    config = ServerConfig(sampling=SamplingConfig(timeout=20), elicitation=ElicitationConfig(timeout=5))
    server = MCPServer("test", config=config)

    @tool
    async def seconds(ctx: Context) -> None:
        began = anyio.current_time()
        try:
            await ctx.sample("Hello")
        except AskFailed as error:
            waited.append((round(anyio.current_time() - began), str(error)))

    waited: list[tuple[int, str]] = []
    server.collect(seconds)
    async with connected(server, revision) as raw:
        await begin(raw, 1, "seconds")
        await raw.hear()
        await anyio.sleep(100)

    assert waited == [(20, "sampling request timed out")]


async def test_in_rounds_all_questions_are_put_at_once_and_none_keeps_another_call_waiting() -> None:
    """MRTR-01: a client has only so many rounds, and answers a round as it likes."""
    async with connected(offering(max_concurrent=1), IN_ROUNDS) as raw:
        parked = [await raw.tool(id, "at_once", count=12) for id in (1, 2)]
        for id, reply in enumerate(parked, 3):
            asked = reply["result"]["inputRequests"]
            assert len(asked) == 12
            done = await raw.call(
                id,
                "tools/call",
                name="at_once",
                arguments={"count": 12},
                inputResponses=dict.fromkeys(asked, REPLY),
                requestState=reply["result"]["requestState"],
            )
            assert done["result"]["structuredContent"] == {"result": ["m"] * 12}


async def test_in_rounds_the_next_question_is_put_however_many_nobody_has_answered() -> None:
    """What the handler is told must not depend on the clock, or it could not be run again elsewhere."""
    async with connected(offering(failure_threshold=1), IN_ROUNDS) as raw:
        first = await raw.tool(1, "in_a_row", count=3)
        await anyio.sleep(1.5)
        again = await raw.call(
            2,
            "tools/call",
            name="in_a_row",
            arguments={"count": 3},
            inputResponses={},
            requestState=first["result"]["requestState"],
        )
        assert len(again["result"]["inputRequests"]) == 1


async def test_bounds_last_as_long_as_the_conversation() -> None:
    def peer() -> Peer:
        return Peer(MCPServer("test").answering(), Stalled(), answers_malformed=True)

    bounds = SamplingBoundsByPeer(SamplingConfig())
    one, other = peer(), peer()

    assert bounds.of(one) is bounds.of(one)
    assert bounds.of(one) is not bounds.of(other)
    gone = ref(one)
    del one
    gc.collect()
    assert gone() is None


async def test_over_http_the_bounds_are_those_of_the_session() -> None:
    """Its requests come by connections of their own; other sessions have theirs."""
    server = offering(max_concurrent=1, failure_threshold=1)
    async with web_serving(server) as web:
        client, other = await web.open(LIVE, ABLE), await web.open(LIVE, ABLE)
        first, second = client.tool(1, "sample"), client.tool(2, "sample")
        await anyio.sleep(1)
        asked, waits = (first, second) if first.messages else (second, first)
        assert waits.messages == []
        question = await asked.message()
        await client.say({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "No"}}).ended()
        assert text(await asked.reply()) == "No"
        assert "is not asked" in text(await waits.reply())
        assert "is not asked" in text(await client.tool(3, "sample").reply())

        call = other.tool(1, "sample")
        await other.answer((await call.message())["id"], REPLY)
        assert text(await call.reply()) == "m"


@tool
def threaded(ctx: Context) -> str:
    return ctx.wait(ctx.sample("Hello")).model


async def test_a_plain_function_waits_for_its_place_like_any_other() -> None:
    server = MCPServer("test", config=ServerConfig(sampling=SamplingConfig(max_concurrent=1), worker_threads=1))
    server.collect(threaded)
    async with connected(server) as raw:
        for id in (1, 2, 3):
            await begin(raw, id, "threaded")
        done = 0
        while done < 3:
            message = await raw.hear()
            if "method" in message:
                await answer(raw, message)
            else:
                done += 1
                assert text(message) == "m"
