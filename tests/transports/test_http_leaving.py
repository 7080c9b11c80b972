"""Who says that the client of a request has left: the server, nobody at all, or whoever ends the request by force."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, tool
from dedalus_mcp.jsonrpc.tasks import now, one_step
from tests.interaction.server import Story, make
from tests.transports.asgi import Exchange, serving

MODERN = "2026-07-28"


def replaying(app: Any) -> Any:
    """A middleware that hands the body over as often as it is asked, at once, and never says anything else."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()

        async def again() -> Any:
            return message

        await app(scope, again, send)

    return middleware


def limited(app: Any, limit: anyio.CancelScope) -> Any:
    """A middleware that ends a request by force."""

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        with limit:
            await app(scope, receive, send)

    return middleware


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", MODERN])
async def test_a_body_handed_over_for_ever_keeps_nobody_waiting(revision: str) -> None:
    """B095: other calls go on, and a request is done with when its response is."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(revision)
        client.app = replaying(web.app)
        streams = [] if revision == MODERN else [await client.get()]
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        assert await client.use(2, "echo", text="meanwhile") == "meanwhile"
        story.tell("release a")

        assert (await call.reply())["result"]["content"][0]["text"] == "a"
        assert not any(stream.returned for stream in streams)
    assert all(stream.returned for stream in streams)


async def test_a_request_that_is_ended_by_force_is_left_and_its_call_goes_on() -> None:
    """B047, B095: what it leads to is kept, as when the connection breaks."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-11-25")
        params = {"name": "hold", "arguments": {"key": "a"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        request = Exchange("POST", "/mcp", client.headers, [body])
        async with anyio.create_task_group() as group:
            group.start_soon(request.run, web.app)
            await story.until("a began")
            group.cancel_scope.cancel()
        story.tell("release a")
        await story.until("a over")

        assert request.status is None
        assert await client.use(2, "echo", text="on") == "on"
        assert request.status is None


@pytest.mark.parametrize("how", ["delete", "close"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_question_ends_with_its_session(how: str, revision: str) -> None:
    """B023: the handler's cleanup has run, and nobody waits for an answer."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(revision, {"elicitation": {}})
        call = client.tool(1, "ask", message="Anybody?")
        question = await call.message()
        if how == "delete":
            assert (await client.delete()).status == 204
        else:
            await web.app.aclose()
        await call.ended()
        await story.until("Anybody? over")

        assert call.messages == [question]


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", MODERN])
async def test_nothing_is_sent_after_a_request_that_was_ended_by_force_while_its_reader_stalled(revision: str) -> None:
    """As by a framework's timeout, which has answered meanwhile: a second response would break the connection."""
    story, limit = Story(), anyio.CancelScope()
    server = make(story=story)

    @tool
    async def note(ctx: Context) -> str:
        with anyio.CancelScope(shield=True):
            await ctx.report_progress(1, total=2)
            story.tell("noted")
            await story.until("go on")
            await ctx.report_progress(2, total=2)
        story.tell("over")
        return "noted"

    server.collect(note)
    async with serving(server) as web:
        client = await web.open(revision)
        inner, client.app = client.app, limited(web.app, limit)
        call = client.tool(1, "note", {"progressToken": "p"})
        call.stall()
        await story.until("noted")
        await anyio.wait_all_tasks_blocked()
        limit.cancel()
        await anyio.wait_all_tasks_blocked()
        assert call.returned
        call.go_on()
        story.tell("go on")
        await anyio.wait_all_tasks_blocked()

        assert (call.status, call.chunks, call.faults) == (None, [], [])
        client.app = inner
        assert await client.use(2, "echo", text="on") == "on"


async def test_a_session_does_not_expire_while_its_reader_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()

    @tool
    async def note(ctx: Context) -> str:
        await ctx.report_progress(1, total=2)
        return "noted"

    server.collect(note)
    async with serving(server) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "note", {"progressToken": "p"})
        call.stall()
        await anyio.wait_all_tasks_blocked()
        much_later = now() + 100_000
        monkeypatch.setattr("dedalus_mcp_transports.http_stateful.now", lambda: much_later)
        call.go_on()
        assert (await call.reply())["result"]["content"][0]["text"] == "noted"
        assert await client.use(2, "echo", text="on") == "on"


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize("turns", range(1, 5))
async def test_a_call_that_was_let_in_before_a_drain_is_waited_for(revision: str, turns: int) -> None:
    """Or refused, before anything of it is done: a client makes such a call again."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(revision)
        first = client.tool(1, "hold", key="a")
        await story.until("a began")
        second = client.tool(2, "hold", key="b")
        for _ in range(turns):
            await one_step()
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await anyio.wait_all_tasks_blocked()
            story.tell("release a")
            story.tell("release b")

        assert (await first.ended()).status == 200
        assert (await second.ended()).status == (200 if "b began" in story.told else 503)
        assert "b cancelled" not in story.told
