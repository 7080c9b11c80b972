"""Asking from everywhere in a call, and from nowhere else; the rules of the wire are in `interaction`."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio import from_thread

from dedalus_mcp import AskFailed, MCPClient, MCPServer, ServerConfig, prompt, tool
from dedalus_mcp.errors import NoActiveCall
from dedalus_mcp.server.config import ElicitationConfig
from dedalus_mcp.types import ElicitRequestParams, TextContent

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PARAMS = ElicitRequestParams(message="n?", requestedSchema=SCHEMA)
server = MCPServer("asking")
impatient = MCPServer("impatient", config=ServerConfig(elicitation=ElicitationConfig(timeout=0.05)))


@tool
def from_a_thread() -> str:
    answer = from_thread.run(server.request_elicitation, PARAMS)
    return f"{answer.content}"


@tool
async def from_child_tasks() -> str:
    answers: list[Any] = []

    async def ask() -> None:
        answers.append((await server.request_elicitation(PARAMS)).content)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(ask)
    return f"{answers}"


@tool
async def uncaught_in_a_group() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(impatient.request_elicitation, PARAMS)


@prompt("ask")
async def from_a_prompt(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return [("user", f"{(await server.request_elicitation(PARAMS)).content}")]


server.collect(from_a_thread, from_child_tasks, from_a_prompt)
impatient.collect(uncaught_in_a_group)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_threads_child_tasks_and_prompts_ask_alike(revision: str) -> None:
    with anyio.fail_after(20):
        async with MCPClient.connect(server, revision=revision, elicitation=lambda params: {"n": 7}) as client:
            for name, found in (("from_a_thread", "{'n': 7}"), ("from_child_tasks", str([{"n": 7}] * 3))):
                (block,) = (await client.call_tool(name)).content
                assert isinstance(block, TextContent)
                assert block.text == found
            (message,) = (await client.get_prompt("ask")).messages
            assert isinstance(message.content, TextContent)
            assert message.content.text == "{'n': 7}"


async def test_the_configured_timeout_counts_and_a_failed_ask_in_a_group_is_told_as_itself() -> None:
    async def silent(params: ElicitRequestParams) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    with anyio.fail_after(20):
        async with MCPClient.connect(impatient, revision="2025-11-25", elicitation=silent) as client:
            result = await client.call_tool("uncaught_in_a_group")
    (block,) = result.content
    assert result.isError
    assert isinstance(block, TextContent)
    assert block.text == "elicitation request timed out"


async def test_outside_of_a_call_and_after_its_end_nothing_can_be_asked() -> None:
    with pytest.raises(NoActiveCall, match="active request") as raised:
        await server.request_elicitation(PARAMS)
    assert isinstance(raised.value, AskFailed | RuntimeError)
    assert raised.value.code == -32601

    late = MCPServer("late")
    failed: list[AskFailed] = []
    replied = anyio.Event()

    async def ask_late() -> None:
        await replied.wait()
        try:
            await late.request_elicitation(PARAMS)
        except AskFailed as error:
            failed.append(error)

    async with anyio.create_task_group() as group:

        @tool
        async def leave() -> None:
            group.start_soon(ask_late)

        late.collect(leave)
        async with MCPClient.connect(late, revision="2025-11-25", elicitation=lambda params: {"n": 7}) as client:
            assert not (await client.call_tool("leave")).isError
            replied.set()
            with anyio.fail_after(20):
                await client.ping()
    assert isinstance(failed[0], NoActiveCall)
