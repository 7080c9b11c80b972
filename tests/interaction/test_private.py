"""What is said between the user, the model and the server is no business of logs, nor of whoever holds a state."""

from __future__ import annotations

import base64
import logging
from typing import Any

import anyio
import pytest

from dedalus_mcp import AskRecord, Context, MCPClient, MCPServer, tool
from dedalus_mcp.errors import ErrorData, McpError
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    TextContent,
)
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, text_of

ABLE: dict[str, Any] = {"elicitation": {}, "sampling": {}}
KEYS = [b"k" * 32]


@tool
async def consult(ctx: Context, about: str) -> str:
    who = await ctx.text("Who are you? (asked-privately)")
    reply = await ctx.sample(f"{who} has {about}", max_tokens=10, system_prompt="prompted-privately")
    assert isinstance(reply.content, TextContent)
    return reply.content.text


def offering(records: list[AskRecord], keys: list[bytes] = KEYS) -> MCPServer:
    server = MCPServer("s", state_keys=keys, on_ask=records.append)
    server.collect(consult)
    return server


async def user(params: ElicitRequestParams) -> dict[str, Any]:
    return {"text": "answered-privately"}


async def model(params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="said-privately"), model="m")


async def refusing(params: CreateMessageRequestParams) -> ErrorData:
    return ErrorData(-1, "refused-privately", {"why": "privately"})


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("sampling", [model, refusing])
async def test_nothing_that_was_said_is_in_the_log(
    sampling: Any, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    """SAMP-15: at any level, on both sides, whatever comes of it; nor is an answer told to `on_ask`."""
    caplog.set_level(logging.DEBUG)
    records: list[AskRecord] = []
    handlers: dict[str, Any] = {"elicitation": user, "sampling": sampling}
    said: list[str] = []
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(offering(records), revision=revision, **handlers) as client:
            try:
                said.append(text_of(await client.call_tool("consult", {"about": "a cough-privately"})))
            except McpError as error:  # what a user refuses in rounds is the caller's to know alone
                said.append(error.message)

    assert said[0].startswith("said-privately" if sampling is model else "refused-privately")
    assert "privately" not in caplog.text
    assert {record.values for record in records} == {None}


async def test_a_sealed_state_shows_nothing_of_what_was_answered() -> None:
    """SAMP-15: clients keep it, and whoever stands between sees it."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering([])) as raw:
            await raw.open("2026-07-28", ABLE)
            call: dict[str, Any] = {"name": "consult", "arguments": {"about": "a cough-privately"}}
            states: list[str] = []
            more: dict[str, Any] = {}
            answers: list[dict[str, Any]] = [
                {"action": "accept", "content": {"text": "answered-privately"}},
                {"role": "assistant", "model": "m", "content": {"type": "text", "text": "said-privately"}},
            ]
            for answer in answers:
                asked = (await raw.call(len(states), "tools/call", {**call, **more}))["result"]
                states.append(asked["requestState"])
                (key,) = asked["inputRequests"]
                more = {"inputResponses": {key: answer}, "requestState": states[-1]}
            assert (await raw.call("end", "tools/call", {**call, **more}))["result"]["content"][0]["text"]

    assert len(states[1]) > len(states[0])  # the answer is in it
    for state in states:
        text = state.removeprefix("~")
        assert b"privately" not in state.encode() + base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
