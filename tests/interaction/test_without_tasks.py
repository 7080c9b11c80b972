"""Neither side has tasks: nobody is promised any, nobody gets one, and whoever wants one is answered at once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.types import CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, TextContent
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import Message, Raw, Scripted, serving
from tests.interaction.reach import PATIENCE, text_of
from tests.interaction.scripts import opened, result, text
from tests.interaction.server import make

LEGACY, MODERN = "2025-11-25", "2026-07-28"
OLD: Message = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
NEW: Message = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
METHODS = ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel")
TASK = {"ttl": 60_000}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_no_server_promises_tasks(revision: str) -> None:
    """TASK-01, TASK-21: by the capability of one revision or the extension of another, nor of any tool."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, {**OLD, **NEW})
            if revision == MODERN:
                await raw.call(1, "server/discover")
            listed = (await raw.call(2, "tools/list"))["result"]["tools"]

    assert "tasks" not in str(raw.heard[0]["result"]["capabilities"])
    assert [tool["name"] for tool in listed if "execution" in tool] == []


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("capabilities", [{}, OLD, NEW, {**OLD, **NEW}], ids=["none", "old", "new", "both"])
async def test_no_server_answers_with_a_task_whoever_asks_for_one(revision: str, capabilities: Message) -> None:
    """TASK-03, TASK-23, TASK-26, TASK-47, TASK-48: the result itself comes, or what asks for input."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, capabilities)
            plain = await raw.call(1, "tools/call", name="echo", arguments={"text": "x"}, task=TASK)
            failed = await raw.call(2, "tools/call", name="fail", arguments={"how": "tool"}, task=TASK)
            prompt = await raw.call(3, "prompts/get", name="greet", arguments={"name": "x"}, task=TASK)
            for method in METHODS:
                assert (await raw.call(4, method, taskId="1"))["error"]["code"] == -32601

    assert plain["result"]["content"] == [{"type": "text", "text": "x"}]
    assert failed["result"]["isError"] is True
    assert prompt["result"]["messages"]
    for reply in (plain, failed, prompt):
        assert "task" not in reply["result"]
        assert reply["result"].get("resultType") == ("complete" if revision == MODERN else None)


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("support", ["forbidden", "optional", "required"])
async def test_no_client_wants_its_call_to_be_a_task(support: str, revision: str) -> None:
    """TOOL-27, TASK-05, TASK-14: whatever the server or its tool would take, or tells of tasks."""
    calls: list[Message] = []

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        listing = await raw.hear_method("tools/list")
        tool = {"name": "t", "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}}
        named = result(revision, tools=[tool], ttlMs=0, cacheScope="private")
        await raw.say({"id": listing["id"], "result": named})
        calls.append(await raw.hear_method("tools/call"))
        await raw.say(
            {"method": "notifications/tasks/status", "params": {"taskId": "1", "status": "completed"}},
            {"id": calls[0]["id"], "result": text(revision, "on")},
        )

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server), revision=revision) as client:
                await client.list_tools()
                assert text_of(await client.call_tool("t")) == "on"
            group.cancel_scope.cancel()
    assert "task" not in calls[0]["params"]
    assert "tasks" not in str(calls[0]["params"].get("_meta"))


async def test_a_client_answers_at_once_what_was_to_be_a_task() -> None:
    """TASK-01, TASK-03: questions to the user and to the model."""
    declared: list[Any] = []
    answers: list[Any] = []

    async def user(params: ElicitRequestParams) -> dict[str, Any]:
        return {"a": "x"}

    async def model(params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="hi"), model="m")

    async def server(raw: Raw) -> None:
        await opened(raw, LEGACY)
        declared.append(raw.heard[0]["params"]["capabilities"])
        call = await raw.hear_method("tools/call")
        form = {"type": "object", "properties": {"a": {"type": "string"}}}
        asked = await raw.call("q", "elicitation/create", message="?", requestedSchema=form, task=TASK)
        said = {"role": "user", "content": {"type": "text", "text": "?"}}
        sampled = await raw.call("s", "sampling/createMessage", messages=[said], maxTokens=1, task=TASK)
        answers.extend([asked["result"], sampled["result"]])
        answers.extend([(await raw.call("t", method, taskId="1"))["error"]["code"] for method in METHODS])
        await raw.say({"id": call["id"], "result": text(LEGACY, "on")})

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, server)
            async with MCPClient.connect(target, revision=LEGACY, elicitation=user, sampling=model) as client:
                assert text_of(await client.call_tool("t")) == "on"
            group.cancel_scope.cancel()

    assert "tasks" not in declared[0]
    assert answers[0] == {"action": "accept", "content": {"a": "x"}}
    assert answers[1]["content"] == {"type": "text", "text": "hi"}
    assert answers[2:] == [-32601] * 4
