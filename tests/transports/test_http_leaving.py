"""Who says that the client of a request has left: the server, nobody at all, or whoever ends the request by force."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

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
