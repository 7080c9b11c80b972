"""What a client does with a server that cannot be trusted: something of everything, with a handler for all it may ask.

Whatever the server says to that, each call ends in a result or in one of the package's own errors, and the
connection outlives it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dedalus_mcp import Form, MCPClient, types
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.errors import DedalusError
from dedalus_mcp.types.revisions import MODERN
from tests.fuzz.judging import allowed
from tests.fuzz.loop import settled
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


async def visit(target: Connectable, lies: list[bytes], **settings: Any) -> None:
    """Connect to a server, use it, see to it that it can be used still, and leave.

    Args:
        target: The server.
        lies: What it answers to the next requests, before it means well.
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
        await _use(client, lies)
        lies.clear()
        await settled()  # what it has begun to say may end what is asked next
        assert client.ended is None, f"the connection is over: {client.ended}"
        await client.ping()
    finally:
        await client.close()


async def _use(client: MCPClient, lies: list[bytes]) -> None:
    """Make calls, as long as the server does not mean well."""
    for call in _CALLS:
        if not lies:
            return
        with allowed(DedalusError, longest=LONGEST):
            repr(await call(client))


_CALLS: tuple[Callable[[MCPClient], Awaitable[object]], ...] = (
    lambda client: client.list_tools(),
    lambda client: client.call_tool("t", {"a": 1}, progress=_hear),
    lambda client: client.call_tool("u", {"a": 1}, progress=_hear, raise_on_error=True),
    lambda client: client.list_resources(),
    lambda client: client.subscribe_resource("file:///r"),
    lambda client: client.read_resource("file:///r"),
    lambda client: client.get_prompt("p", {"a": "b"}),
    lambda client: client.complete(types.PromptReference(name="p"), "a", "v"),
    lambda client: client.set_logging_level("info"),
    lambda client: client.list_resource_templates(),
)


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
