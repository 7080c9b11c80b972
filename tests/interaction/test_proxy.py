"""A server that is a client itself: what its own server asks, it asks its client, whatever each of them speaks."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import Accepted, Context, MCPClient, MCPServer, tool
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
)
from tests.interaction.reach import PATIENCE, text_of
from tests.transports.test_http_client import serving

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28")


def backend() -> MCPServer:
    server = MCPServer("backend")

    @tool
    async def ask(user: int, ctx: Context) -> str:
        name = await ctx.text(f"{user}: name?")
        sure = await ctx.confirm(f"{user}: sure?")
        said = await ctx.sample(f"{user}: say", max_tokens=5)
        return f"{name} {sure} {getattr(said.content, 'text', None)}"

    server.collect(ask)
    return server


def proxy(url: str, revision: str) -> MCPServer:
    server = MCPServer("proxy")

    @tool
    async def ask(user: int, ctx: Context) -> str:
        async def elicit(params: ElicitRequestParams) -> ElicitResult:
            answer = await ctx.elicit(params.message, params.requestedSchema)
            return ElicitResult(action=answer.action, content=answer.data if isinstance(answer, Accepted) else None)

        async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
            return await ctx.sample(params.messages, max_tokens=params.maxTokens)

        async with MCPClient.connect(url, revision=revision, elicitation=elicit, sampling=sample) as inner:
            return text_of(await inner.call_tool("ask", {"user": user}))

    server.collect(ask)
    return server


async def use(url: str, revision: str, user: int) -> None:
    """Be the user of that number, to whom nobody else's questions may come."""

    async def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        assert params.message.startswith(f"{user}: ")
        (field,) = params.requestedSchema["properties"]
        return {field: f"u{user}" if field == "text" else user % 2 == 0}

    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text=f"m{user}"), model="m")

    async with MCPClient.connect(url, revision=revision, elicitation=elicit, sampling=sample) as client:
        result = await client.call_tool("ask", {"user": user})
    assert text_of(result) == f"u{user} {user % 2 == 0} m{user}"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("outside", ASKING)
@pytest.mark.parametrize("inside", ASKING)
async def test_questions_are_handed_on_over_http_from_any_revision_to_any(inside: str, outside: str) -> None:
    """B022: of twenty conversations at once, each hears its own questions alone."""
    async with serving(backend()) as far, serving(proxy(far, inside)) as near:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for user in range(20):
                    group.start_soon(use, near, outside, user)
