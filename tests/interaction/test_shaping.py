"""On the wire of a revision there is nothing newer than it, and nothing older: whole conversations, every message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import anyio
import pytest

from dedalus_mcp import Icon, MCPClient, types
from dedalus_mcp.types.keys import is_meta_key
from dedalus_mcp.types.revisions import LEGACY, REVISIONS
from tests.interaction.raw import Raw, Scripted, serving
from tests.interaction.reach import PATIENCE
from tests.interaction.scripts import agree, opened, result, text
from tests.interaction.server import make

MEMBERS = {
    # member: the first and the last revision whose messages may hold it; None for no end
    "completions": ("2025-03-26", None),
    "annotations": ("2025-03-26", None),
    "readOnlyHint": ("2025-03-26", None),
    "title": ("2025-06-18", None),
    "outputSchema": ("2025-06-18", None),
    "structuredContent": ("2025-06-18", None),
    "elicitation": ("2025-06-18", None),
    "icons": ("2025-11-25", None),
    "websiteUrl": ("2025-11-25", None),
    "execution": ("2025-11-25", "2025-11-25"),
    "tasks": ("2025-11-25", "2025-11-25"),
    "mode": ("2025-11-25", None),
    "resultType": ("2026-07-28", None),
    "ttlMs": ("2026-07-28", None),
    "cacheScope": ("2026-07-28", None),
    "supportedVersions": ("2026-07-28", None),
    "extensions": ("2026-07-28", None),
    "protocolVersion": ("2024-11-05", "2025-11-25"),
}
BLOCKS = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
# Within these, names belong to the author or to JSON Schema, not to the protocol.
OPAQUE = ("inputSchema", "outputSchema", "structuredContent", "requestedSchema", "data", "arguments")
DEFINED = ("tools", "prompts", "arguments", "content", "contents", "messages")


def members(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every member of a message, with the path to it."""
    if isinstance(value, dict):
        for name, member in cast("dict[str, Any]", value).items():
            yield (*path, name), member
            if name not in OPAQUE or isinstance(member, list):
                yield from members(member, (*path, name))
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from members(item, path)


def foreign(message: Any, revision: str) -> list[str]:
    """What a message holds that its revision does not know."""
    found: list[str] = []
    for path, member in members(message):
        first, last = MEMBERS.get(path[-1], ("", None))
        if not first <= revision <= (last or revision):
            found.append(".".join(path))
        if path[-1] == "type" and revision < BLOCKS.get(str(member), ""):
            found.append(f"{'.'.join(path)}={member}")
        if path[-1] == "_meta" and revision < "2025-06-18" and any(part in DEFINED for part in path):
            found.append(".".join(path))
        if path[-1] == "message" and "progress" in str(path) and revision < "2025-03-26":
            found.append(".".join(path))
        if path[-1].startswith("io.modelcontextprotocol/") and revision < "2026-07-28":
            found.append(".".join(path))
    return found


async def everything(raw: Raw, revision: str) -> None:
    """Have a server say all that it can say."""
    await raw.open(revision, {"elicitation": {}} if revision >= "2025-06-18" else {})
    for method in ("tools/list", "prompts/list", "server/discover", "logging/setLevel"):
        await raw.call(1, method, level="debug")
    meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"}
    for name, arguments in [
        ("echo", {"text": "x"}),
        ("pair", {"a": 1}),
        ("blocks", {}),
        ("logs", {}),
        ("progress", {"steps": 2}),
        ("fail", {"how": "tool"}),
        ("fail", {"how": "protocol"}),
        ("nope", {}),
    ]:
        await raw.call(2, "tools/call", name=name, arguments=arguments, _meta=meta)
    await raw.call(3, "prompts/get", name="greet", arguments={"name": "x"})
    await raw.begin(4, "tools/call", name="ask", arguments={"message": "?"})
    answer = await raw.hear()
    if "method" in answer:
        await raw.say({"id": answer["id"], "result": {"action": "accept", "content": {"ok": True}}})
        await raw.reply(4)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_says_nothing_that_the_revision_does_not_know(revision: str) -> None:
    """RPC-18, LIFE-09, META-12, RPC-27, STDIO-09: no message of a conversation that has all of them."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await everything(raw, revision)

    assert [found for message in raw.heard for found in foreign(message, revision)] == []
    keys = {path[-1] for message in raw.heard for path, _ in members(message) if "_meta" in path[-2:-1]}
    assert [key for key in keys if not is_meta_key(key)] == []
    requests = {message["method"] for message in raw.heard if "id" in message and "method" in message}
    assert requests == ({"elicitation/create"} if revision in ("2025-06-18", "2025-11-25") else set())
    notices = {message["method"] for message in raw.heard if "id" not in message}
    assert notices == {"notifications/message", "notifications/progress"}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_says_all_that_the_revision_knows(revision: str) -> None:
    """TOOL-06, TOOL-09: what is left out for one reader is there for the others."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await everything(raw, revision)
            listed = (await raw.call(9, "tools/list"))["result"]["tools"]
            pair = (await raw.tool(9, "pair", a=1))["result"]
            blocks = (await raw.tool(9, "blocks"))["result"]["content"]

    found = {path[-1] for message in raw.heard for path, _ in members(message)}
    expected = {"title", "outputSchema", "structuredContent", "icons", "annotations", "resultType", "ttlMs"}
    assert found & expected == {name for name in expected if MEMBERS[name][0] <= revision}
    assert all(tool["inputSchema"]["type"] == "object" for tool in listed)
    assert '"a":1' in pair["content"][0]["text"]  # as text, whoever reads it
    assert len(blocks) == 3
    assert [block["type"] for block in blocks] == [
        "text",
        "audio" if revision >= BLOCKS["audio"] else "text",
        "resource_link" if revision >= BLOCKS["resource_link"] else "text",
    ]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_client_says_nothing_that_the_revision_does_not_know(revision: str) -> None:
    """LIFE-01, LIFE-06, META-01, RPC-19, STDIO-03, STDIO-08, B118: nor does it ever send null for what is absent."""

    results = {
        "server/discover": agree(revision),
        "ping": {},
        "tools/list": result(revision, tools=[]),
        "tools/call": text(revision, "yes"),
        "prompts/get": result(revision, messages=[]),
    }

    ends: list[Raw] = []

    async def server(raw: Raw) -> None:
        ends.append(raw)
        await opened(raw, revision)
        while True:
            message = await raw.hear()
            if message["method"] in results:
                await raw.say({"id": message["id"], "result": results[message["method"]]})

    info = types.Implementation(
        name="c",
        version="1",
        title="C",
        websiteUrl="https://example.com",
        icons=[Icon(src="https://example.com/i.png")],
    )
    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(
                Scripted(group, server),
                revision=revision,
                client_info=info,
                elicitation=_decline,
                elicitation_url=_decline,
            ) as client,
        ):
            await client.list_tools()
            await client.list_tools_page()
            await client.call_tool("a")
            await client.call_tool("a", {"x": None}, meta={"mine/key": 1})
            await client.get_prompt("p")
            await client.get_prompt("p", {"n": 5})
            await client.ping()

    sent = ends[0].heard
    assert [found for message in sent for found in foreign(message, revision)] == []
    assert [path for message in sent for path, member in members(message) if member is None] == []
    assert all("method" in message for message in sent)  # no responses: nothing was asked
    if revision in LEGACY:
        assert [message["method"] for message in sent[:2]] == ["initialize", "notifications/initialized"]
        assert {"protocolVersion", "capabilities", "clientInfo"} == set(sent[0]["params"])
        assert [message for message in sent if "_meta" in message.get("params", {})] == [
            message for message in sent if message.get("params", {}).get("arguments") == {"x": None}
        ]
    else:
        for message in sent:
            assert message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == revision
            assert "io.modelcontextprotocol/clientCapabilities" in message["params"]["_meta"]
    (number,) = (message for message in sent if "n" in message.get("params", {}).get("arguments", {}))
    assert number["params"]["arguments"]["n"] == "5"  # B026: prompts take strings


async def _decline(params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="decline")
