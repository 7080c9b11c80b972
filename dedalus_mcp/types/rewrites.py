"""How a value is reworded for a reader whose revision has no words for it.

Leaving a member out is the business of the tables in `revisions`; here is what needs thought.
Each function takes a value and returns what stands for it, the same object when it will do.

Layer: L1; imports the families only.
Source: the protocol has no rules here; these lose as little as a text block can carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dedalus_mcp.types.content import AudioContent, ResourceLink, TextContent, ToolResultContent, ToolUseContent
from dedalus_mcp.types.sampling import CreateMessageRequestParams, SamplingMessage
from dedalus_mcp.types.tools import CallToolResult, Tool

__all__ = (
    "link_as_text",
    "note",
    "one_block",
    "one_block_each",
    "structured_as_object",
    "structured_as_text",
    "structured_schema",
)


def link_as_text(link: ResourceLink) -> TextContent:
    """Return the link's title or name, and its URI."""
    return TextContent(text=f"{link.title or link.name}: {link.uri}", annotations=link.annotations)


def note(block: AudioContent | ToolUseContent | ToolResultContent) -> TextContent:
    """Return a note that the block was left out, and of which kind it was."""
    kind = block.mimeType if isinstance(block, AudioContent) else block.type
    return TextContent(
        text=f"[{kind} left out: this protocol revision has no such content]",
        annotations=block.annotations if isinstance(block, AudioContent) else None,
    )


def structured_as_text(result: CallToolResult) -> CallToolResult:
    """Return the result with its structured content as text too, if there is no other content."""
    if result.structuredContent is UNSET or result.content:
        return result
    text = msgspec.json.encode(result.structuredContent).decode()
    return replace(result, content=[TextContent(text=text)])


def structured_as_object(value: CallToolResult | ToolResultContent) -> CallToolResult | ToolResultContent:
    """Return the result with structured content that is no mapping as ``{"result": ...}``."""
    content = value.structuredContent
    if content is UNSET or isinstance(content, Mapping):
        return value
    return replace(value, structuredContent={"result": content})


def structured_schema(tool: Tool) -> Tool:
    """Return the tool with an output schema that fits `structured_as_object`.

    A schema of one type that is not "object" is wrapped as the content is.  One that allows
    objects beside other types is dropped, since content that is an object is not wrapped.
    """
    schema = tool.outputSchema
    if schema is None or (kind := schema.get("type")) == "object":
        return tool
    if not isinstance(kind, str) or not _moves(schema):
        return replace(tool, outputSchema=None)
    inner = dict(schema)
    outer = {key: inner.pop(key) for key in ("$schema", "$defs") if key in inner}
    return replace(
        tool, outputSchema={**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}
    )


def _moves(schema: dict[str, Any]) -> bool:
    """Whether every reference in the schema still holds when all but its `$defs` moves down."""
    text = msgspec.json.encode(schema)
    return text.count(b'"$ref":"#') == text.count(b'"$ref":"#/$defs/')


def one_block_each(params: CreateMessageRequestParams) -> CreateMessageRequestParams:
    """Return the request with messages of one block each: one of several blocks becomes several."""
    if not any(isinstance(message.content, list) for message in params.messages):
        return params
    messages: list[SamplingMessage] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        messages += [replace(message, content=block) for block in blocks]
    return replace(params, messages=messages)


def one_block(message: SamplingMessage) -> SamplingMessage:
    """Return the message with one block: several texts become one, of others the first is kept."""
    blocks = message.content
    if not isinstance(blocks, list):
        return message
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    one = blocks[0] if blocks and len(texts) != len(blocks) else TextContent(text="\n\n".join(texts))
    return replace(message, content=blocks[0] if len(blocks) == 1 else one)
