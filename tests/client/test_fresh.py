"""Where nothing may be kept, or nothing is to be, each answer is the server's own."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.types import ElicitRequestParams, TextResourceContents
from tests.client.playing import asks, form, playing
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.scripts import agree, opened
from tests.transports.scripted_http import Asked, Talk, scripted

MODERN = "2026-07-28"


def kept(scope: str, **members: Any) -> Message:
    """A result that may be kept for an hour."""
    return {"resultType": "complete", "ttlMs": 3_600_000, "cacheScope": scope, **members}


def contents(text: str, scope: str = "public") -> Message:
    return kept(scope, contents=[{"uri": "a://b", "text": text}])


async def read(client: MCPClient, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("scope", ["public", "private"])
async def test_without_a_cache_no_answer_stands_for_another(scope: str) -> None:
    """CACHE-04: not even for the same question once more."""
    asked: list[Any] = []

    async def server(raw: Raw) -> None:
        await opened(raw, MODERN)
        while True:
            message = await raw.hear()
            asked.append((message["method"], message["params"].get("uri"), message["params"].get("cursor")))
            tools = [{"name": f"t{len(asked)}", "inputSchema": {"type": "object"}}]
            named = contents(str(len(asked)), scope) if message["method"] == "resources/read" else {}
            await raw.say({"id": message["id"], "result": {**kept(scope, tools=tools), **named}})

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server), revision=MODERN, cache=None) as client:
                lists = [await client.list_tools_page(cursor) for cursor in (None, "2", None)]
                texts = [await read(client, uri) for uri in ("a://b", "a://c", "a://b")]
            group.cancel_scope.cancel()
            assert [page.tools[0].name for page in lists] == ["t1", "t2", "t3"]
            assert texts == ["4", "5", "6"]

    assert asked == [
        *(("tools/list", None, cursor) for cursor in (None, "2", None)),
        *(("resources/read", uri, None) for uri in ("a://b", "a://c", "a://b")),
    ]


async def ada(params: ElicitRequestParams) -> dict[str, Any]:
    return {"value": "Ada"}


async def test_what_a_retry_led_to_is_not_the_answer_to_the_next_question() -> None:
    """CACHE-05, MRTR-16."""
    with anyio.fail_after(20):
        async with playing(asks("s", q=form()), contents("for Ada"), contents("for all"), elicitation=ada) as play:
            assert [await read(play.client, "a://b") for _ in range(2)] == ["for Ada", "for all"]

    assert ["inputResponses" in params for params in play.params] == [False, True, False]


async def test_two_clients_who_show_different_tokens_get_their_own_answers() -> None:
    """CACHE-10: over one HTTP client, and though the first result was public."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover":
            await talk.result(agree(MODERN))
        else:
            await talk.result(contents(asked.headers["authorization"]))

    async with scripted(script) as server, httpx.AsyncClient(trust_env=False) as http:
        for token in ("Bearer ada", "Bearer bob", "Bearer ada"):
            headers = {"Authorization": token}
            async with MCPClient.connect(server.url, headers=headers, http_client=http, revision=MODERN) as client:
                assert await read(client, "a://b") == token
    assert server.count("resources/read") == 3
