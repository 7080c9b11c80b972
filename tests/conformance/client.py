"""The client that the official conformance suite examines: every revision, by the public `MCPClient` alone.

The suite starts one process for each scenario, names the scenario in the environment, and gives the
URL of its server as the last argument:

    MCP_CONFORMANCE_SCENARIO=tools_call python -m tests.conformance.client http://localhost:3000/mcp
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import anyio
import msgspec

from dedalus_mcp import MCPClient, types

__all__ = ("main",)

Play: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Plays one scenario, with the URL of its server and what the suite says beside it."""


async def list_and_call(url: str, context: Mapping[str, Any]) -> None:
    """Call every tool that is listed, with something for each argument."""
    async with MCPClient.connect(url) as client:
        for tool in (await client.list_tools()).tools:
            await client.call_tool(tool.name, _something(tool.inputSchema))


async def list_only(url: str, context: Mapping[str, Any]) -> None:
    """List the tools, and look at nothing that their schemas point to."""
    async with MCPClient.connect(url) as client:
        await client.list_tools()


async def answer_with_defaults(url: str, context: Mapping[str, Any]) -> None:
    """Accept a form and fill in nothing."""

    async def accept(params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async with MCPClient.connect(url, elicitation=accept) as client:
        await client.list_tools()
        await client.call_tool("test_client_elicitation_defaults")


async def declare_everything(url: str, context: Mapping[str, Any]) -> None:
    """List and call as a client that can do all that a server may ask for."""

    async def decline(params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async def sample(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text="Yes."), model="none")

    async with MCPClient.connect(url, elicitation=decline, sampling=sample, roots=["file:///home"]) as client:
        for tool in (await client.list_tools()).tools:
            await client.call_tool(tool.name, _something(tool.inputSchema))


async def use_every_list(url: str, context: Mapping[str, Any]) -> None:
    """Use every tool, resource and prompt."""
    async with MCPClient.connect(url) as client:
        for tool in (await client.list_tools()).tools:
            await client.call_tool(tool.name, _something(tool.inputSchema))
        for resource in (await client.list_resources()).resources:
            await client.read_resource(resource.uri)
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name, {argument.name: "x" for argument in prompt.arguments or ()})


async def repeat_calls(url: str, context: Mapping[str, Any]) -> None:
    """Make the calls that the suite dictates."""
    async with MCPClient.connect(url) as client:
        await client.list_tools()
        for call in context["toolCalls"]:
            await client.call_tool(call["name"], call["arguments"])


async def echo_a_schema(url: str, context: Mapping[str, Any]) -> None:
    """Give a schema back as it came."""
    async with MCPClient.connect(url) as client:
        schemas = {tool.name: tool.inputSchema for tool in (await client.list_tools()).tools}
        await client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


async def answer_in_rounds(url: str, context: Mapping[str, Any]) -> None:
    """Answer what tools ask in rounds, with other calls between and after."""

    async def confirm(params: types.ElicitRequestParams) -> types.ElicitResult:
        unrelated = await client.call_tool("test_mrtr_unrelated")
        assert not unrelated.isError
        return types.ElicitResult(action="accept", content={"confirmed": True})

    async with MCPClient.connect(url, elicitation=confirm) as client:
        await client.list_tools()
        for tool in ("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"):
            result = await client.call_tool(tool)
            assert not result.isError


async def sign_in(url: str, context: Mapping[str, Any]) -> None:
    """Call a tool of a server that wants to know who asks, or say why that cannot be done."""
    from tests.conformance.signing_in import refused, way  # noqa: PLC0415 - the other scenarios do without

    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    with refused(scenario):
        async with MCPClient.connect(url, auth=way(scenario, context)) as client:
            for tool in (await client.list_tools()).tools:
                await client.call_tool(tool.name, _something(tool.inputSchema))


SCENARIOS: dict[str, Play] = {
    "elicitation-sep1034-client-defaults": answer_with_defaults,
    "http-custom-headers": repeat_calls,
    "http-standard-headers": use_every_list,
    "initialize": list_only,
    "json-schema-2020-12-preservation": echo_a_schema,
    "json-schema-ref-no-deref": list_only,
    "request-metadata": declare_everything,
    "sep-2322-client-request-state": answer_in_rounds,
}
"""Those that need more than `list_and_call`."""


def _something(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that fit the properties of a schema."""
    values: dict[str, Any] = {
        "string": "x",
        "number": 1.5,
        "integer": 1,
        "boolean": True,
        "array": [],
        "object": {},
        "null": None,
    }
    return {name: values.get(about.get("type"), "x") for name, about in schema.get("properties", {}).items()}


def main() -> None:
    """Play the scenario that the environment names."""
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"), type=dict[str, Any])
    usual = sign_in if scenario.startswith("auth/") else list_and_call
    anyio.run(SCENARIOS.get(scenario, usual), sys.argv[-1], context)


if __name__ == "__main__":
    main()
