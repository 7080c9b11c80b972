"""Tools and what they return."""

from __future__ import annotations

import msgspec

from dedalus_mcp import types
from dedalus_mcp.types.methods import TOOLS_LIST


def test_schemas_survive_unchanged() -> None:
    """B121: what a schema holds is kept, known or not."""
    tools = b'{"tools":[{"name":"n","inputSchema":{"$schema":"s","x-foo":[null],"enumNames":["a"],"type":"object"}}]}'

    assert msgspec.json.encode(TOOLS_LIST.decode_result(tools).tools[0].inputSchema) == (
        b'{"$schema":"s","x-foo":[null],"enumNames":["a"],"type":"object"}'
    )


def test_structured_content_tells_null_from_absent() -> None:
    """2026-07-28, server/tools: structured content is any JSON value, null too."""
    null, absent = types.CallToolResult(structuredContent=None), types.CallToolResult()

    assert msgspec.json.encode(null) == b'{"content":[],"structuredContent":null}'
    assert msgspec.json.encode(absent) == b'{"content":[]}'
    assert msgspec.json.decode(msgspec.json.encode(null), type=types.CallToolResult) == null != absent


def test_the_text_of_a_result_is_its_text_blocks_on_lines_of_their_own() -> None:
    image = types.ImageContent(data="", mimeType="image/png")
    result = types.CallToolResult(content=[types.TextContent(text="a"), image, types.TextContent(text="b")])

    assert result.text == "a\nb"
    assert types.CallToolResult().text == ""


def test_the_text_of_messages_and_resources_is_read_alike() -> None:
    image = types.ImageContent(data="", mimeType="image/png")
    text = types.TextContent(text="a")
    blob = types.BlobResourceContents(uri="a://b", blob="")
    page = types.TextResourceContents(uri="a://b", text="a")

    assert types.PromptMessage(role="user", content=text).text == "a"
    assert types.PromptMessage(role="user", content=image).text == ""
    assert types.SamplingMessage(role="user", content=text).text == "a"
    assert types.SamplingMessage(role="user", content=[text, image, text]).text == "a\na"
    assert types.CreateMessageResult(role="assistant", content=image, model="m").text == ""
    assert types.ReadResourceResult(contents=[page, blob, page]).text == "a\na"
    assert types.ReadResourceResult(contents=[]).text == ""
