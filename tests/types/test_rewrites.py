"""How values are reworded for readers that have no words for them."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp import types
from dedalus_mcp.types import rewrites

TEXT = types.TextContent(text="a")
IMAGE = types.ImageContent(data="", mimeType="image/png")


def test_a_link_is_its_title_and_uri() -> None:
    assert rewrites.link_as_text(types.ResourceLink(uri="x:a", name="n", title="T")).text == "T: x:a"
    assert rewrites.link_as_text(types.ResourceLink(uri="x:a", name="n")).text == "n: x:a"


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (types.AudioContent(data="", mimeType="audio/wav"), "audio/wav"),
        (types.ToolUseContent(id="1", name="n", input={}), "tool_use"),
        (types.ToolResultContent(toolUseId="1"), "tool_result"),
    ],
)
def test_a_block_left_out_leaves_a_note(block: Any, kind: str) -> None:
    assert rewrites.note(block).text.startswith(f"[{kind} left out")


def test_a_note_is_for_whom_the_block_was() -> None:
    annotations = types.Annotations(audience=["user"])

    assert rewrites.note(types.AudioContent(data="", mimeType="m", annotations=annotations)).annotations is annotations


def test_structured_content_is_text_where_there_is_no_other() -> None:
    alone = types.CallToolResult(structuredContent={"a": [1]})
    beside = types.CallToolResult(content=[TEXT], structuredContent={"a": [1]})

    assert rewrites.structured_as_text(alone).content == [types.TextContent(text='{"a":[1]}')]
    assert rewrites.structured_as_text(beside) is beside
    assert rewrites.structured_as_text(none := types.CallToolResult()) is none


@pytest.mark.parametrize("content", [None, 5, "x", [1], True])
def test_structured_content_that_is_no_object_is_wrapped(content: Any) -> None:
    result = types.CallToolResult(structuredContent=content)

    assert rewrites.structured_as_object(result).structuredContent == {"result": content}


def test_structured_content_that_is_an_object_stays() -> None:
    result = types.ToolResultContent(toolUseId="1", structuredContent={"a": 1})

    assert rewrites.structured_as_object(result) is result
    assert rewrites.structured_as_object(none := types.CallToolResult()) is none


@pytest.mark.parametrize(
    ("schema", "shaped"),
    [
        (None, None),
        ({"type": "object", "$ref": "#"}, {"type": "object", "$ref": "#"}),
        (
            {"type": "array", "items": {"type": "integer"}},
            {
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"type": "integer"}}},
                "required": ["result"],
            },
        ),
        (
            {"$schema": "s", "type": "array", "items": {"$ref": "#/$defs/T"}, "$defs": {"T": {"type": "null"}}},
            {
                "$schema": "s",
                "$defs": {"T": {"type": "null"}},
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
                "required": ["result"],
            },
        ),
        ({"type": "array", "items": {"$ref": "#"}}, None),  # "#" would mean the wrapper
        ({"type": ["object", "null"]}, None),  # an object would not be wrapped
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, None),
        ({}, None),
    ],
)
def test_an_output_schema_is_an_objects_or_none(schema: Any, shaped: Any) -> None:
    tool = rewrites.structured_schema(types.Tool(name="n", inputSchema={}, outputSchema=schema))

    assert tool.outputSchema == shaped


def test_messages_of_several_blocks_are_several_messages() -> None:
    message = types.SamplingMessage(role="user", content=[TEXT, IMAGE])
    plain = types.SamplingMessage(role="assistant", content=TEXT)
    params = types.CreateMessageRequestParams(messages=[message, plain], maxTokens=5)

    assert rewrites.one_block_each(params).messages == [
        types.SamplingMessage(role="user", content=TEXT),
        types.SamplingMessage(role="user", content=IMAGE),
        plain,
    ]
    only = types.CreateMessageRequestParams(messages=[plain], maxTokens=5)
    assert rewrites.one_block_each(only) is only


@pytest.mark.parametrize(
    ("blocks", "one"),
    [
        ([IMAGE], IMAGE),
        ([TEXT, TEXT], types.TextContent(text="a\n\na")),
        ([IMAGE, TEXT], IMAGE),
        ([], types.TextContent(text="")),
        (TEXT, TEXT),
    ],
)
def test_an_answer_of_several_blocks_becomes_one(blocks: Any, one: Any) -> None:
    result = types.CreateMessageResult(role="assistant", model="m", content=blocks)

    assert rewrites.one_block(result).content == one
