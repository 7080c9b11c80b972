"""Calls that their cancellations overtake, in every way of HTTP: none of them begins, and nobody else's is harmed."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.interaction.raw import INFO
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, Web, serving

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
CANCELLED = "notifications/cancelled"

ways = pytest.mark.parametrize("stateless", [False, True], ids=["stateful", "stateless"])
revisions = pytest.mark.parametrize("revision", LEGACY)


def cancellation(id: Any) -> dict[str, Any]:
    return {"method": CANCELLED, "params": {"requestId": id}}


def ping(id: Any) -> dict[str, Any]:
    return {"id": id, "method": "ping"}


async def overtaken(client: Client, id: Any, key: str) -> Exchange:
    """Cancel a call, then make it."""
    cancelled = await client.notify(CANCELLED, requestId=id)
    assert (cancelled.status, cancelled.body) == (202, b"")
    return await client.tool(id, "hold", key=key).ended()


@ways
@revisions
async def test_a_call_that_its_cancellation_overtakes_never_begins(*, stateless: bool, revision: str) -> None:
    """CANC-07, CANC-10: no reply, nothing that runs, and the next call is served."""
    story = Story()
    async with serving(make(story=story), stateless=stateless) as web:
        client = await web.open(revision)
        ended = await overtaken(client, 1, "a")

        assert (ended.status, ended.body) == (202, b"")
        assert story.told == []
        assert await client.use(2, "echo", text="on") == "on"


@ways
async def test_a_call_is_overtaken_while_its_body_arrives(*, stateless: bool) -> None:
    """CANC-10."""
    story = Story()
    async with serving(make(story=story), stateless=stateless) as web:
        client = await web.open("2025-11-25")
        params = {"name": "hold", "arguments": {"key": "a"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        slow = client.send("POST", body[:20], whole=False)
        await anyio.wait_all_tasks_blocked()
        await client.notify(CANCELLED, requestId=1)
        slow.finish(body[20:])
        await slow.ended()

        assert (slow.status, story.told) == (202, [])


@ways
async def test_nobody_cancels_the_calls_to_come_of_others(*, stateless: bool) -> None:
    """SEC-01: two clients of nobody, or of one principal, count from the same number."""
    story = Story()
    async with serving(make(story=story), stateless=stateless) as web:
        client, other = await web.open("2025-11-25"), await web.open("2025-11-25")
        await other.notify(CANCELLED, requestId=1)
        await web.client().say(cancellation(1)).ended()
        held = client.tool(1, "hold", key="a")
        await story.until("a began")
        story.tell("release a")

        assert (await held.reply())["result"]["content"][0]["text"] == "a"


async def test_without_a_session_nobody_cancels_what_is_to_come() -> None:
    async with serving(make(), stateless=True) as web:
        client = web.client()
        await client.say(cancellation(1)).ended()

        assert await client.use(1, "echo", text="here") == "here"


@ways
async def test_a_cancellation_that_found_its_call_ends_no_other_of_that_id(*, stateless: bool) -> None:
    story = Story()
    async with serving(make(story=story), stateless=stateless) as web:
        client = await web.open("2025-11-25")
        held = client.tool(1, "hold", key="a")
        await story.until("a began")
        await client.notify(CANCELLED, requestId=1)
        await held.ended()

        assert await client.use(1, "echo", text="again") == "again"


@ways
async def test_a_cancellation_of_our_question_ends_no_call_of_that_id(*, stateless: bool) -> None:
    """AMB-01: some clients say it so, and the two sides count for themselves."""
    async with serving(make(), stateless=stateless) as web:
        client = await web.open("2025-11-25", {"elicitation": {}})
        asking = client.tool("a", "ask", message="Sure?")
        question = await asking.message()
        await client.notify(CANCELLED, requestId=question["id"])

        assert await client.use(question["id"], "echo", text="on") == "on"
        await client.answer(question["id"], {"action": "decline"})
        assert (await asking.reply())["id"] == "a"


@ways
async def test_in_a_batch_the_calls_that_were_overtaken_are_left_out(*, stateless: bool) -> None:
    async with serving(make(), stateless=stateless) as web:
        client = await web.open("2025-03-26")
        await client.say([cancellation(1), cancellation(3)]).ended()
        partly = await client.say([ping(1), ping(2)]).ended()
        wholly = await client.say([ping(3), {"method": "notifications/initialized"}]).ended()

        assert [reply["id"] for reply in partly.messages[0]] == [2]
        assert (wholly.status, wholly.body) == (202, b"")


async def test_a_call_by_http_and_sse_that_its_cancellation_overtakes_never_begins() -> None:
    story = Story()
    async with serving(make(story=story), sse_path="/sse") as web:
        stream, say = await pair(web)
        await say(cancellation(1))
        held = {"id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {"key": "a"}}}
        assert (await say(held)).status == 202
        await say(ping(2))
        await stream.message()

        assert [reply["id"] for reply in stream.messages] == ["init", 2]
        assert story.told == []


async def pair(web: Web) -> tuple[Exchange, Any]:
    """Open a conversation of HTTP+SSE; return its stream, and what says something in it."""
    client = web.client()
    stream = client.send("GET", path="/sse")
    await stream.until(lambda: stream.events)

    async def say(item: dict[str, Any]) -> Exchange:
        body = json.dumps({"jsonrpc": "2.0", **item}).encode()
        return await client.send("POST", body, path=stream.events[0].data.decode()).ended()

    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": INFO}
    await say({"id": "init", "method": "initialize", "params": params})
    await stream.message()
    return stream, say


# 2026-07-28, whose clients cancel by leaving.


async def test_a_modern_call_whose_client_has_left_before_it_was_read_is_cancelled() -> None:
    """CANC-10, HTTP-21: what is said is in order here, so nothing has to be kept."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(MODERN)
        gone = client.tool(1, "hold", key="a")
        gone.leave()
        await gone.done()

        assert story.told in ([], ["a began", "a cancelled", "a over"])
        assert await client.use(1, "echo", text="on") == "on"


async def test_a_modern_call_is_not_cancelled_by_a_notice() -> None:
    """Nobody knows whose it would be: there are no sessions."""
    async with serving(make()) as web:
        client = await web.open(MODERN)
        told = client.say(cancellation(1), mcp_method=CANCELLED)

        assert (await told.ended()).status == 202
        assert await client.use(1, "echo", text="here") == "here"
