"""`in_rounds` and `relay`: what comes back before the result, from servers of 2026-07-28 that ours are not."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, McpError, MCPServer, proxy, tool
from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS
from dedalus_mcp.proxies import relaying
from dedalus_mcp.types import ElicitRequestParams
from dedalus_mcp.types.meta import LOG_LEVEL_KEY
from dedalus_mcp.types.revisions import LEGACY, MODERN
from tests.interaction.raw import Raw, Scripted, serving
from tests.interaction.reach import PATIENCE, text_of
from tests.proxies.scripted import COMPLETE, Answer, modern, text

outside = pytest.mark.parametrize("outside", ["2025-11-25", "2026-07-28"])


async def listing(raw: Raw, message: dict[str, Any]) -> None:
    tools = [{"name": "one", "inputSchema": {"type": "object"}}]
    await raw.say({"id": message["id"], "result": {"tools": tools, **COMPLETE}})


def answering(call: Answer) -> Any:
    return modern({"tools/list": listing, "tools/call": call}, {"tools": {}})


def asking(form: dict[str, Any]) -> dict[str, Any]:
    question: dict[str, Any] = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": form}}
    return {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"}


async def agree(params: ElicitRequestParams) -> dict[str, Any]:
    return {"ok": True}


@outside
async def test_a_server_that_only_wants_to_be_called_again_is_called_again(outside: str) -> None:
    """MRTR-13."""
    states: list[str | None] = []

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        states.append(message["params"].get("requestState"))
        later = {"resultType": "input_required", "requestState": f"s{len(states)}"}
        await raw.say({"id": message["id"], "result": later if len(states) < 3 else {**text("done"), **COMPLETE}})

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            server = proxy(Scripted(group, answering(call)))
            async with MCPClient.connect(server, revision=outside) as client:
                assert text_of(await client.call_tool("one")) == "done"

    assert states == [None, "s1", "s2"]


@outside
async def test_a_server_that_asks_without_end_is_given_up(outside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaying, "MAX_ROUNDS", 4)
    form: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    calls: list[Any] = []

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        calls.append(message["id"])
        await raw.say({"id": message["id"], "result": asking(form)})

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(
                proxy(Scripted(group, answering(call)), name="front"), revision=outside, elicitation=agree
            ) as client,
        ):
            with pytest.raises(McpError, match="more than 4 rounds of input") as raised:
                await client.call_tool("one")
            assert raised.value.code == INTERNAL_ERROR

    assert len(calls) == 5


@outside
async def test_a_question_that_is_not_legal_is_put_to_nobody(outside: str) -> None:
    asked: list[Any] = []
    form: dict[str, Any] = {"type": "object", "properties": {"deep": {"type": "object", "properties": {}}}}

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": asking(form)})

    async def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        asked.append(params)
        return {}

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(proxy(Scripted(group, answering(call))), revision=outside, elicitation=elicit) as client,
        ):
            result = await client.call_tool("one")
            assert result.isError
            assert "deep" in text_of(result)

    assert asked == []


async def test_a_server_that_does_not_say_what_it_can_do_is_asked_for_its_lists() -> None:
    async def call(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": {**text("done"), **COMPLETE}})

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            silent = modern({"tools/list": listing, "tools/call": call}, {})
            server = proxy(Scripted(group, silent), revision="2026-07-28")
            async with MCPClient.connect(server) as client:
                assert text_of(await client.call_tool("one")) == "done"
                assert client.server_capabilities.tools is not None
                assert client.server_capabilities.prompts is None
                with pytest.raises(McpError, match="Method not found"):
                    await client.list_prompts()


@pytest.mark.parametrize("arguments", [[1], "a", 3, {"a": "b"}, None])
async def test_arguments_are_an_object_before_they_go_anywhere(arguments: Any) -> None:
    """TOOL-16."""
    seen: list[Any] = []

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        seen.append(message["params"].get("arguments"))
        await raw.say({"id": message["id"], "result": {**text("done"), **COMPLETE}})

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group, serving(proxy(Scripted(group, answering(call)))) as raw:
            await raw.open("2026-07-28")
            reply = await raw.call(1, "tools/call", {"name": "one", "arguments": arguments})
            if arguments is None or isinstance(arguments, dict):
                assert seen == [arguments]
            else:
                assert reply["error"]["code"] == INVALID_PARAMS
                assert seen == []


@tool
async def counting(ctx: Context, refuse: bool) -> str:
    for number in range(20):
        await ctx.info(str(number))
    if refuse:
        raise McpError(-32000, "no")
    return "done"


@outside
@pytest.mark.parametrize("inside", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("outcome", ["result", "error"])
async def test_what_a_call_tells_arrives_whole_in_order_and_before_its_result(
    outside: str, inside: str, outcome: str
) -> None:
    upstream = MCPServer("upstream")
    upstream.collect(counting)
    with anyio.fail_after(PATIENCE):
        async with serving(proxy(proxy(upstream, revision=inside), revision=inside)) as raw:
            await raw.open(outside)
            if outside in LEGACY:
                await raw.call("level", "logging/setLevel", level="debug")
            meta = {"_meta": {LOG_LEVEL_KEY: "debug"}} if outside in MODERN else {}
            arguments = {"refuse": outcome == "error"}
            await raw.begin("call", "tools/call", {"name": "counting", "arguments": arguments, **meta})
            told = [(await raw.hear()).get("params") for _ in range(20)]
            assert outcome in await raw.hear()

    assert [params["data"]["msg"] for params in told] == [str(number) for number in range(20)]
