"""Content blocks of unknown types, and nulls, never fail the message that holds them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.lenient import block_of, lenient
from dedalus_mcp.types.method import Payload
from dedalus_mcp.types.methods import PROMPTS_GET, SAMPLING_CREATE_MESSAGE, TOOLS_CALL

HOLOGRAM = {"type": "hologram", "x": 1, "_meta": {"k": [None]}, "content": {"deep": 1.5}}
TEXT = {"type": "text", "text": "a"}
NESTED = {"type": "tool_result", "toolUseId": "1", "content": [HOLOGRAM, TEXT], "structuredContent": None}
SAID = {"role": "user", "content": HOLOGRAM}


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (types.CallToolResult, {"_meta": {"k": 1}, "content": [HOLOGRAM, TEXT], "structuredContent": None}),
        (types.ToolResultContent, NESTED),
        (types.PromptMessage, SAID),
        (types.GetPromptResult, {"messages": [SAID, {"role": "user", "content": TEXT}], "description": "d"}),
        (types.SamplingMessage, SAID),
        (types.SamplingMessage, {"role": "assistant", "content": [HOLOGRAM, NESTED, TEXT]}),
        (types.CreateMessageResult, {"role": "assistant", "content": HOLOGRAM, "model": "m"}),
        (types.CreateMessageRequestParams, {"messages": [SAID], "maxTokens": 5}),
        (
            types.InputRequiredResult,
            {
                "resultType": "input_required",
                "inputRequests": {
                    "s": {"method": "sampling/createMessage", "params": {"messages": [SAID], "maxTokens": 5}},
                    "e": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}},
                    "r": {"method": "roots/list"},
                },
                "requestState": "s",
            },
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_unknown_blocks_survive_wherever_blocks_are(cls: Any, message: dict[str, Any]) -> None:
    """B121: an unknown content type is carried as a raw block."""
    value = Payload[Any](cls).decode(msgspec.json.encode(message))

    assert type(value) is cls
    assert msgspec.json.decode(msgspec.json.encode(value)) == message


def test_an_unknown_block_reads_its_type_and_its_members() -> None:
    """B121: both blocks are returned, `_meta` equal."""
    result = TOOLS_CALL.decode_result(
        b'{"content":[{"type":"hologram","x":1},{"type":"text","text":"a"}],"more":1,"_meta":{"k":{"a":[1]}}}'
    )
    unknown, text = result.content

    assert isinstance(unknown, types.UnknownContent)
    assert unknown.type == "hologram"
    assert unknown["x"] == 1
    assert text == types.TextContent(text="a")
    assert result.meta == {"k": {"a": [1]}}


@pytest.mark.parametrize("raw", [b"{}", b'{"content":null}', b'{"content":[]}', b'{"content":[],"isError":null}'])
def test_an_empty_tool_result_has_no_content(raw: bytes) -> None:
    """B103: missing optional members take protocol defaults."""
    result = TOOLS_CALL.decode_result(raw)

    assert result == types.CallToolResult()
    assert msgspec.json.encode(result) == b'{"content":[]}'


@pytest.mark.parametrize(
    "raw",
    [
        b'{"content":[{"type":"text"}]}',
        b'{"content":[{"type":"text","text":5}]}',
        b'{"content":[{"type":5}]}',
        b'{"content":[{}]}',
        b'{"content":["text"]}',
        b'{"content":{"type":"text","text":"a"}}',
        b'{"content":[{"type":"hologram"},{"type":"image","data":"a"}]}',
        b'{"content":[{"type":"hologram"}],"isError":"no"}',
        b"[]",
        b'"x"',
    ],
)
def test_what_is_wrong_is_still_refused(raw: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        TOOLS_CALL.decode_result(raw)


def test_messages_without_their_role_are_still_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="role"):
        PROMPTS_GET.decode_result(b'{"messages":[{"content":{"type":"hologram"}}]}')
    with pytest.raises(msgspec.ValidationError, match="maxTokens"):
        SAMPLING_CREATE_MESSAGE.decode_params(b'{"messages":[{"role":"user","content":{"type":"hologram"}}]}')
    with pytest.raises(msgspec.ValidationError):
        PROMPTS_GET.decode_result(b'{"messages":5}')


def test_a_mapping_becomes_the_block_that_it_is() -> None:
    """The prompts document: content may be a full content-block mapping."""
    assert block_of({"type": "text", "text": "a"}) == types.TextContent(text="a")
    assert block_of({"type": "resource", "resource": {"uri": "x:", "text": "t"}}) == types.EmbeddedResource(
        resource=types.TextResourceContents(uri="x:", text="t")
    )
    assert block_of({"type": "hologram"}) == types.UnknownContent(type="hologram")
    with pytest.raises(msgspec.ValidationError, match="`type`"):
        block_of({"text": "a"})


def test_what_is_made_already_is_taken_as_it_is() -> None:
    block = types.TextContent(text="a")
    message = types.PromptMessage(role="user", content=block)
    unknown = types.UnknownContent(HOLOGRAM)

    assert lenient(types.CallToolResult, {"content": [block, unknown, TEXT]}).content == [block, HOLOGRAM, block]
    assert lenient(types.GetPromptResult, {"messages": [message, SAID]}).messages[0] is message
    assert lenient(types.PromptMessage, {"role": "user", "content": block}).content is block
