"""Tools with schemas that their authors wrote, from one end to the other, in the words of every revision."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, StdioServer, tool
from dedalus_mcp.types import CallToolResult, TextContent
from dedalus_mcp.types.revisions import REVISIONS, V2025_06_18, V2026_07_28
from tests.interaction.reach import PATIENCE, script, text_of, ways

__all__ = ("make",)

every = pytest.mark.parametrize("revision", REVISIONS)

CONTACT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"place": {"$anchor": "place", "title": "Place", "type": "object", "properties": {"city": True}}},
    "properties": {"place": {"$ref": "#/$defs/place"}, "phone": {"type": "string"}, "email": {"type": "string"}},
    "anyOf": [{"required": ["phone"]}, {"required": ["email"]}],
    "additionalProperties": False,
}
TOTAL: dict[str, Any] = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}


@tool(input_schema=CONTACT)
async def reach(contact: dict[str, Any], ctx: Context) -> str:
    """Take the whole object."""
    assert ctx.server.name == "given"
    return ",".join(contact)


@tool(input_schema=CONTACT, inline=True)
def reach_by(place: Any = None, phone: str = "", email: str = "") -> str:
    """Take each by name."""
    return f"{place} {phone} {email}"


@tool(output_schema=TOTAL)
def total(value: str) -> Any:
    """Return what a schema promises, or not."""
    outcomes = {
        "right": {"total": 3, "more": [1]},
        "wrong": {"total": "3"},
        "bare": 3,
        "whole": CallToolResult(content=[TextContent(text="three")], structuredContent={"total": 3}),
        "whole but wrong": CallToolResult(structuredContent={}),
        "nothing structured": CallToolResult(content=[TextContent(text="three")]),
        "failed": CallToolResult(content=[TextContent(text="no total")], isError=True),
    }
    return outcomes[value]


@tool(output_schema=NUMBERS)
def numbers() -> list[int]:
    """Return an array as it is."""
    return [1, 2]


def make() -> MCPServer:
    server = MCPServer("given")
    server.collect(reach, reach_by, total, numbers)
    return server


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.test_given_schemas")


@ways
@every
async def test_given_schemas_are_published_to_the_letter(revision: str, transport: str) -> None:
    """TOOL-06, TOOL-07, TOOL-08: an array is wrapped for readers that want an object."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
    assert tools["reach"].inputSchema == tools["reach_by"].inputSchema == CONTACT
    assert list(tools["reach"].inputSchema) == list(CONTACT)
    if revision < V2025_06_18:
        assert tools["total"].outputSchema is None
    else:
        assert tools["total"].outputSchema == TOTAL
        boxed = {"type": "object", "properties": {"result": NUMBERS}, "required": ["result"]}
        assert tools["numbers"].outputSchema == (NUMBERS if revision == V2026_07_28 else boxed)


@ways
@every
async def test_arguments_are_checked_and_handed_over(revision: str, transport: str) -> None:
    """TOOL-17."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            right = {"place": {"city": None, "zip": 1}, "email": "a@b.c"}
            assert text_of(await client.call_tool("reach", right)) == "place,email"
            assert text_of(await client.call_tool("reach_by", right)) == "{'city': None, 'zip': 1}  a@b.c"
            for wrong, why in [
                (None, "anyOf"),
                ({"email": 7}, 'email: the value is not of type "string"'),
                ({"email": "a", "fax": "b"}, "Additional properties"),
                ({"email": "a", "place": "b"}, 'place: the value is not of type "object"'),
            ]:
                for name in ("reach", "reach_by"):
                    result = await client.call_tool(name, wrong)
                    assert result.isError
                    assert why in text_of(result)


@ways
@every
async def test_results_keep_the_promise_or_are_errors(revision: str, transport: str) -> None:
    """TOOL-09."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            structured = revision >= V2025_06_18
            right = await client.call_tool("total", {"value": "right"})
            assert text_of(right) == '{"total":3,"more":[1]}'
            assert (right.structuredContent == {"total": 3, "more": [1]}) == structured
            whole = await client.call_tool("total", {"value": "whole"})
            assert (text_of(whole), whole.isError) == ("three", False)
            failed = await client.call_tool("total", {"value": "failed"})
            assert (text_of(failed), failed.isError) == ("no total", True)
            for wrong, why in [
                ("wrong", 'total: the value is not of type "integer"'),
                ("bare", 'result: the value is not of type "object"'),
                ("whole but wrong", '"total" is a required property'),
                ("nothing structured", "none, though output_schema promises one"),
            ]:
                result = await client.call_tool("total", {"value": wrong})
                assert result.isError
                assert why in text_of(result)
            array = await client.call_tool("numbers")
            assert [block.text for block in array.content if isinstance(block, TextContent)] == ["1", "2"]
            if structured:
                assert array.structuredContent == ([1, 2] if revision == V2026_07_28 else {"result": [1, 2]})


def test_without_the_library_registering_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)

    with pytest.raises(ImportError, match=r"dedalus-mcp\[schema\]"):
        MCPServer("poor").collect(reach)


@pytest.mark.parametrize("schema", [[], "object", True])
def test_what_is_no_mapping_is_refused_by_the_decorator(schema: Any) -> None:
    for name in ("input_schema", "output_schema"):
        with pytest.raises(TypeError, match=f"{name} is a mapping"):
            tool(**{name: schema})


if __name__ == "__main__":
    make().run()
