"""What a server said of its tools is held against it: results must fit the tool's own output schema."""

from __future__ import annotations

import pickle
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import ClientSettings, InvalidOutput, MCPClient, MCPServer, tool
from dedalus_mcp.client import known_tools
from dedalus_mcp.client.known_tools import KnownTools, checks_outputs
from dedalus_mcp.errors import RemoteProtocolError, ToolError
from dedalus_mcp.types import CallToolResult, ListToolsResult, Tool, ToolAnnotations
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import opened, result

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
BOTH = pytest.mark.parametrize("revision", [LEGACY, MODERN])
SCHEMA: Message = {
    "type": "object",
    "properties": {"seats": {"type": "array", "items": {"type": "object", "properties": {"row": {"type": "integer"}}}}},
    "required": ["seats"],
}


class Server:
    """Has one tool with this schema, which returns whatever it is told to.

    Attributes:
        schema: The schema; None for none.
        returned: The members of its next result.
        listings: How often the tools were listed.
    """

    def __init__(self, revision: str, schema: Message | None = SCHEMA, **returned: Any) -> None:
        self.revision = revision
        self.schema = schema
        self.returned: Message = {"content": [], **returned}
        self.listings = 0
        self.raw: Raw

    async def script(self, raw: Raw) -> None:
        self.raw = raw
        await opened(raw, self.revision)
        while True:
            try:
                message = await raw.hear()
            except anyio.ClosedResourceError:
                return
            if message.get("method") == "tools/list":
                self.listings += 1
                described = {"name": "book", "inputSchema": {"type": "object"}}
                if self.schema is not None:
                    described["outputSchema"] = self.schema
                await raw.say({"id": message["id"], "result": result(self.revision, tools=[described])})
            elif "id" in message:
                await raw.say({"id": message["id"], "result": result(self.revision, **self.returned)})


@asynccontextmanager
async def connected(server: Server, **settings: Any) -> AsyncGenerator[MCPClient]:
    given: ClientSettings = {"revision": server.revision, **settings}  # type: ignore[typeddict-item]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server.script), **given) as client:
                yield client
            group.cancel_scope.cancel()


@BOTH
async def test_a_result_that_does_not_fit_its_schema_is_an_error_that_names_the_place(revision: str) -> None:
    """TOOL-09, B115, from the client's side: and the result is there for whoever can use it."""
    server = Server(revision, structuredContent={"seats": [{"row": 1}, {"row": "secret"}]})
    async with connected(server) as client:
        await client.list_tools()
        with pytest.raises(InvalidOutput, match=r"tool 'book' .*seats\[1\]\.row") as raised:
            await client.call_tool("book")
        assert isinstance(raised.value, RemoteProtocolError)
        assert raised.value.result.structuredContent["seats"][0] == {"row": 1}
        assert "secret" not in str(raised.value)
        server.returned["structuredContent"] = {"seats": []}
        assert (await client.call_tool("book")).structuredContent == {"seats": []}

    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


@BOTH
async def test_a_tool_with_an_output_schema_returns_something_structured(revision: str) -> None:
    """TOOL-09."""
    async with connected(Server(revision)) as client:
        await client.list_tools()
        with pytest.raises(InvalidOutput, match="structuredContent is missing"):
            await client.call_tool("book")


@BOTH
async def test_a_failed_result_need_not_fit(revision: str) -> None:
    """AMB-28."""
    async with connected(Server(revision, isError=True)) as client:
        await client.list_tools()
        assert (await client.call_tool("book")).isError
        with pytest.raises(ToolError):
            await client.call_tool("book", raise_on_error=True)


@BOTH
async def test_nothing_is_asked_for_the_checks_alone(revision: str) -> None:
    """A tool that was never listed has no schema that could be held against it."""
    server = Server(revision, structuredContent=7)
    async with connected(server) as client:
        assert (await client.call_tool("book")).structuredContent == 7

    assert server.listings == 0


@BOTH
async def test_the_checks_can_be_switched_off(revision: str) -> None:
    async with connected(Server(revision, structuredContent=7), check_outputs=False) as client:
        await client.list_tools()
        assert (await client.call_tool("book")).structuredContent == 7


async def test_a_tool_that_lost_its_schema_returns_what_it_likes() -> None:
    server = Server(LEGACY, structuredContent=7)
    async with connected(server) as client:
        await client.list_tools()
        server.schema = None
        await client.list_tools()
        assert (await client.call_tool("book")).structuredContent == 7


async def test_when_the_tools_have_changed_what_was_known_of_them_counts_no_longer() -> None:
    server, heard = Server(LEGACY, structuredContent=7), Heard[Any]()
    async with connected(server, tools_list_changed=heard) as client:
        await client.list_tools()
        await server.raw.notify("notifications/tools/list_changed")
        await heard.wait(1)
        assert (await client.call_tool("book")).structuredContent == 7


async def test_revisions_before_output_schemas_have_none() -> None:
    async with connected(Server("2025-03-26", structuredContent=7)) as client:
        await client.list_tools()
        await client.call_tool("book")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://127.0.0.1:1/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"type": 7},
        {"type": "object", "description": "x" * 300_000},
    ],
    ids=["network", "file", "no schema", "too large"],
)
async def test_a_schema_that_cannot_be_enforced_is_told_once_and_never_fetched(
    schema: Message, caplog: pytest.LogCaptureFixture
) -> None:
    """META-26 in spirit: the tool still works."""
    async with connected(Server(LEGACY, schema, structuredContent={"a": 1})) as client:
        await client.list_tools()
        for _ in range(2):
            assert (await client.call_tool("book")).structuredContent == {"a": 1}

    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].startswith("results of tool 'book' are not checked: outputSchema ")


async def test_our_own_servers_results_fit() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        return a + b

    server = MCPServer("own")
    server.collect(add)
    for revision in ("2025-06-18", LEGACY, MODERN):
        async with MCPClient.connect(server, revision=revision, check_outputs=True) as client:
            await client.list_tools()
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"


def test_without_the_library_nothing_is_checked_unless_that_was_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_tools, "_has_library", lambda: False)

    assert checks_outputs(None) is False
    assert checks_outputs(wanted=False) is False
    with pytest.raises(ImportError, match=r"dedalus-mcp\[schema\]"):
        checks_outputs(wanted=True)


def listed(*names: str, schema: Message | None = None, **hints: Any) -> ListToolsResult:
    annotations = ToolAnnotations(**hints) if hints else None
    return ListToolsResult(
        tools=[Tool(name=name, inputSchema={}, outputSchema=schema, annotations=annotations) for name in names]
    )


def test_what_is_known_of_tools_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_tools, "MAX_TOOLS", 2)
    known = KnownTools(checks=True)
    known.learn(listed("a", "b", "c", schema={"type": "object"}, readOnlyHint=True))

    assert [name for name in "abc" if known.may_repeat(name)] == ["a", "b"]
    for name in "ab":
        with pytest.raises(InvalidOutput):
            known.check(name, CallToolResult())
    known.check("c", CallToolResult())


def test_schemas_have_so_much_room_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_tools, "MAX_SCHEMAS_BYTES", 50)
    known = KnownTools(checks=True)
    for _ in range(3):
        known.learn(listed("a", "b", schema={"type": "object", "title": "title"}))  # 35 bytes
    known.check("b", CallToolResult())
    with pytest.raises(InvalidOutput):
        known.check("a", CallToolResult())

    known.learn(listed("a"))
    known.learn(listed("b", schema={"type": "object", "title": "title"}))
    with pytest.raises(InvalidOutput):
        known.check("b", CallToolResult())


def test_a_schema_that_is_too_deep_to_be_kept_is_none() -> None:
    deep: Message = {"type": "object"}
    for _ in range(5000):
        deep = {"not": deep}
    known = KnownTools(checks=True)
    known.learn(listed("a", schema=deep))

    known.check("a", CallToolResult(structuredContent=7))


def test_a_hint_that_is_taken_back_counts_no_longer() -> None:
    known = KnownTools(checks=False)
    known.learn(listed("a", idempotentHint=True))
    assert known.may_repeat("a")
    known.learn(listed("a", idempotentHint=False))
    assert not known.may_repeat("a")


@BOTH
async def test_a_server_cannot_make_its_client_check_for_ever(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """A schema of a few kilobytes whose definitions each refer twice to the next held up its client for days."""
    definitions = {str(at): {"anyOf": [{"$ref": f"#/$defs/{at + 1}"}] * 2} for at in range(60)}
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {**definitions, "60": {"type": "null"}},
    }
    server = Server(revision, schema, structuredContent={"a": 1})
    async with connected(server) as client:
        await client.list_tools()
        returned = await client.call_tool("book")

    assert returned.structuredContent == {"a": 1}
    assert "results of tool 'book' are not checked: with every reference followed" in caplog.text


@BOTH
async def test_nor_by_a_result_that_goes_deep(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    schema = {
        "type": "object",
        "anyOf": [{"additionalProperties": {"$ref": "#"}}, {"properties": {"a": {"$ref": "#"}}}],
    }
    deep: Message = {}
    for _ in range(60):
        deep = {"a": deep}
    server = Server(revision, schema, structuredContent=deep)
    async with connected(server) as client:
        await client.list_tools()
        returned = await client.call_tool("book")

    assert returned.structuredContent == deep
    assert "a result of tool 'book' is not checked: it is too large for its schema" in caplog.text
