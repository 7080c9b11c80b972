"""A user is asked by one and the same tool, whatever revision its server and client agree on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import Form, MCPClient, MCPServer, get_context, tool, types
from dedalus_mcp.types import CallToolRequestParams, CallToolResult, ElicitResult, ProgressNotificationParams
from dedalus_mcp.types.methods import TOOLS_CALL
from tests.client.playing import asks, form, roots, said, sample
from tests.interaction.reach import PATIENCE, Heard, text_of
from tests.transports.scripted_http import Asked, Talk, event, scripted

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28", None)
MODERN = "2026-07-28"
YES = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def booking() -> MCPServer:
    server = MCPServer("booking")

    async def sure(message: str) -> bool:
        answer = await server.request_elicitation(types.ElicitRequestParams(message=message, requestedSchema=YES))
        return answer.action == "accept" and bool((answer.content or {})["ok"])

    @tool
    async def book(seats: int) -> str:
        booked = 0
        for number in range(seats):
            await get_context().report_progress(number, total=seats)
            booked += await sure(f"seat {number}?")
        return f"{booked} of {seats}"

    @tool
    async def both() -> int:
        answers: list[bool] = []

        async def ask(message: str) -> None:
            answers.append(await sure(message))

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "one?")
            group.start_soon(ask, "two?")
        return sum(answers)

    server.collect(book, both)
    return server


@pytest.mark.parametrize("revision", ASKING)
async def test_the_same_tool_asks_in_every_revision(revision: str | None) -> None:
    """Once for each question; and the newest revision is spoken if none is named."""
    asked: list[str] = []
    heard = Heard[ProgressNotificationParams]()

    async def person(form: Form) -> ElicitResult:
        asked.append(form.message)
        return form.decline() if form.message == "seat 1?" else form.accept(ok=True)

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(booking(), revision=revision, elicitation=person) as client:
            assert client.revision == (revision or MODERN)
            result = await client.call_tool("book", {"seats": 3}, progress=heard)
            assert text_of(result) == "2 of 3"
            assert text_of(await client.call_tool("both")) == "2"
            await heard.wait(3)

    assert asked[:3] == ["seat 0?", "seat 1?", "seat 2?"]
    assert sorted(asked[3:]) == ["one?", "two?"]
    assert [progress.progress for progress in heard.values] == [0, 1, 2]


async def test_our_own_server_is_answered_by_hand() -> None:
    able = types.ClientCapabilities(elicitation=types.ElicitationCapability())
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(booking()) as client:
            params = CallToolRequestParams(name="book", arguments={"seats": 2})
            step = await client.request_round(TOOLS_CALL, params, capabilities=able)
            while not isinstance(step, CallToolResult):
                (key,) = step.questions
                step = await client.continue_round(step, {key: {"ok": True}})
            assert text_of(step) == "2 of 2"


async def test_rounds_are_played_over_http() -> None:
    """MRTR-13, MRTR-15: an answer is one JSON document, or the end of a stream with progress in it."""
    outcomes = [asks("1", who=form("who")), asks("2", a=sample(), b=roots()), said("hi")]
    calls: list[dict[str, Any]] = []
    heard = Heard[ProgressNotificationParams]()

    async def server(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover":
            await talk.result({"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}}})
            return
        calls.append(asked.message)
        assert asked.headers["mcp-method"] == "tools/call"
        assert asked.headers["mcp-name"] == "greet"
        outcome = outcomes[len(calls) - 1]
        if len(calls) == 2:
            token = asked.message["params"]["_meta"]["progressToken"]
            progress = {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
            await talk.stream(event({"jsonrpc": "2.0", **progress}), event(talk.reply(outcome)))
        else:
            await talk.result(outcome)

    async def person(params: types.ElicitRequestParams) -> dict[str, Any]:
        return {"value": params.message}

    async def model(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="x"), model="m")

    with anyio.fail_after(PATIENCE):
        async with (
            scripted(server) as served,
            MCPClient.connect(served.url, elicitation=person, sampling=model, roots=["file:///a"]) as client,
        ):
            assert client.revision == MODERN
            assert text_of(await client.call_tool("greet", {"a": 1}, progress=heard)) == "hi"
            await heard.wait(1)

    assert len({call["id"] for call in calls}) == 3
    assert [call["params"].get("requestState") for call in calls] == [None, "1", "2"]
    assert [sorted(call["params"].get("inputResponses", {})) for call in calls] == [[], ["who"], ["a", "b"]]
