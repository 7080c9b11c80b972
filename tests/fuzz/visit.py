"""What a client does with a server that cannot be trusted: something of everything, with a handler for all it may ask.

Whatever the server says to that, each call ends in a result or in one of the package's own errors, and the
connection outlives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dedalus_mcp import Form, MCPClient, types
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.errors import DedalusError
from dedalus_mcp.types.revisions import MODERN
from tests.fuzz.judging import allowed
from tests.interaction.raw import INFO, Message

__all__ = ("honest", "visit")

LONGEST = 8 * 1024
"""Characters of an error of the package's own: what the server says in it is an excerpt."""

CAPABILITIES: Message = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}}
RESULTS: dict[str, Message] = {
    "server/discover": {"supportedVersions": list(MODERN), "capabilities": CAPABILITIES},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "t"}]},
    "prompts/list": {"prompts": [{"name": "p"}]},
    "prompts/get": {"messages": []},
    "resources/list": {"resources": [{"name": "r", "uri": "file:///r"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "file:///r", "text": "r"}]},
    "completion/complete": {"completion": {"values": ["v"]}},
}


def honest(request: Message) -> Message:
    """Return the reply of a server that means well, in the words of any revision."""
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **RESULTS.get(request["method"], {})}
    if request["method"] == "initialize":
        revision = request["params"]["protocolVersion"]
        result = {"protocolVersion": revision, "capabilities": CAPABILITIES, "serverInfo": INFO}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


async def visit(target: Connectable, reform: Callable[[], None], **settings: Any) -> None:
    """Connect to a server, use it, see to it that it can be used still, and leave.

    Args:
        target: The server.
        reform: Has it mean well from now on.
        settings: More for `MCPClient.connect`.
    """
    client: MCPClient | None = None
    with allowed(DedalusError, longest=LONGEST):
        client = await MCPClient.connect(
            target,
            elicitation=_fill_in,
            elicitation_url=_go,
            sampling=_think,
            sampling_tools=True,
            roots=_roots,
            logging=_hear,
            tools_list_changed=_hear,
            resources_list_changed=_hear,
            prompts_list_changed=_hear,
            resource_updated=_hear,
            **settings,
        )
    if client is None:
        return
    try:
        await _use(client)
        reform()
        assert client.ended is None, f"the connection is over: {client.ended}"
        await client.ping()
    finally:
        await client.close()


async def _use(client: MCPClient) -> None:
    with allowed(DedalusError, longest=LONGEST):
        await client.list_tools()
    for name in ("t", "u"):
        with allowed(DedalusError, longest=LONGEST):
            result = await client.call_tool(name, {"a": 1}, progress=_hear)
            repr(result.text)
    with allowed(DedalusError, longest=LONGEST):
        await client.list_resources()
    with allowed(DedalusError, longest=LONGEST):
        await client.subscribe_resource("file:///r")
    with allowed(DedalusError, longest=LONGEST):
        await client.read_resource("file:///r")
    with allowed(DedalusError, longest=LONGEST):
        await client.get_prompt("p", {"a": "b"})
    with allowed(DedalusError, longest=LONGEST):
        await client.complete(types.PromptReference(name="p"), "a", "v")
    with allowed(DedalusError, longest=LONGEST):
        await client.set_logging_level("info")


async def _fill_in(form: Form) -> types.ElicitResult:
    try:
        return form.accept()
    except ValueError:  # something has to be filled in
        return form.decline()


async def _go(params: types.ElicitRequestURLParams) -> types.ElicitResult:
    return types.ElicitResult(action="cancel")


async def _think(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(text="t"))


async def _hear(params: Any) -> None:
    repr(params)


async def _roots() -> list[str]:
    return ["file:///r"]
