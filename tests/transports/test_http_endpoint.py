"""One endpoint for every revision, and what may be on its streams."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interaction.server import make
from tests.transports.asgi import Exchange, serving

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ABLE: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
CALLS: dict[str, dict[str, Any]] = {
    "progress": {"steps": 3},
    "logs": {},
    "ask": {"message": "?"},
    "code": {"message": "?"},
    "ask_at_once": {"times": 3},
}


@pytest.mark.parametrize("revision", LEGACY)
async def test_one_path_answers_post_and_get(revision: str) -> None:
    """HTTP-07."""
    async with serving(make()) as web:
        client = await web.open(revision)
        stream = await client.get()

        assert await client.use(1, "echo", text="by POST") == "by POST"
        assert (stream.status, stream.is_stream, stream.over) == (200, True, False)
        for verb in ("POST", "GET", "DELETE"):
            assert (await client.send(verb, path="/elsewhere").ended()).status == 404
            assert (await client.send(verb, path="/mcp/too").ended()).status == 404


async def test_one_path_answers_every_revision_at_once() -> None:
    """HTTP-08."""
    async with serving(make()) as web:
        for n, revision in enumerate((MODERN, *LEGACY, MODERN)):
            client = await web.open(revision)
            assert await client.use(n, "echo", text=revision) == revision


@pytest.mark.parametrize("settings", [{}, {"always_stream": True}, {"json_only": True}], ids=str)
async def test_no_stream_of_the_newest_revision_ever_carries_a_request(settings: dict[str, Any]) -> None:
    """HTTP-19, RPC-18: neither that of a call which asks, nor one that is listened to; and there is no other."""
    server = make()
    async with serving(server, **settings) as web:
        client = await web.open(MODERN, ABLE)
        meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"}
        listen = client.begin(0, "subscriptions/listen", notifications={"toolsListChanged": True})
        exchanges: list[Exchange] = [listen]
        if not settings.get("json_only"):
            await listen.message()
        for name, arguments in CALLS.items():
            exchanges.append(await client.tool(name, name, meta, **arguments).ended())
        server.tools.remove("fail")
        exchanges.append(await client.begin(8, "prompts/get", name="asking").ended())
        if not settings.get("json_only"):
            assert (await listen.message())["method"] == "notifications/tools/list_changed"
        assert (await client.get()).status == 405

        messages = [message for exchange in exchanges for message in exchange.messages]
        asked = [message for message in messages if message.get("result", {}).get("resultType") == "input_required"]
        assert len(asked) == 4
        assert [message for message in messages if "method" in message and "id" in message] == []
