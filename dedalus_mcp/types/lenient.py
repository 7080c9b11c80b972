"""The slow way to decode, for the rare message that the fast way refuses.

msgspec refuses a whole message for one content block of a type it does not know.  `lenient`
takes such a message apart, keeps the unknown blocks as `UnknownContent`, and takes null for
absent.  What is truly wrong is refused here as there.

Layer: L1; imports the families only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dedalus_mcp.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
    UnknownContent,
)
from dedalus_mcp.types.prompts import GetPromptResult, PromptMessage
from dedalus_mcp.types.requests import CreateMessageRequest
from dedalus_mcp.types.rounds import InputRequest, InputRequiredResult
from dedalus_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from dedalus_mcp.types.tools import CallToolResult
from dedalus_mcp.types.wire import Wire, dec_hook

__all__ = ("block_of", "has_blocks", "lenient")

WireT = TypeVar("WireT", bound=Wire)


def block_of(members: Mapping[str, Any]) -> ContentBlock | ToolUseContent | ToolResultContent:
    """Make the content block that these members are; of an unknown type, an `UnknownContent`.

    Raises:
        msgspec.ValidationError: A member is missing or wrong, or `type` is no string.
    """
    type_ = members.get("type")
    if not isinstance(type_, str):
        raise msgspec.ValidationError("A content block has a `type`, a string")
    cls = _BLOCKS.get(type_)
    if cls is None:
        return UnknownContent(members)
    block: ContentBlock = lenient(cls, members)
    return block


def has_blocks(cls: type[Any]) -> bool:
    """Whether `cls` holds content blocks, so that `lenient` can do more than msgspec."""
    return cls in _PARTS


def lenient(cls: type[WireT], members: Mapping[str, Any]) -> WireT:
    """Make a `cls` of decoded members, whatever content blocks are among them.

    Blocks and messages that are wire types already are taken as they are.

    Raises:
        msgspec.ValidationError: A member is missing or of the wrong type.
    """
    parts = _PARTS.get(cls)
    if parts is None:
        return msgspec.convert(members, cls, dec_hook=dec_hook)
    there = {name: value for name, value in members.items() if value is not None or name == "structuredContent"}
    made: dict[str, Any] = {}
    for name, (empty, make) in parts.items():
        if name in there:
            try:
                made[name] = make(there[name])
            except msgspec.ValidationError as error:  # whose path begins in there
                raise msgspec.ValidationError(f"{error} - in `{name}`") from None
            there[name] = empty
    return msgspec.structs.replace(msgspec.convert(there, cls), **made)


def _object(value: Any) -> dict[str, Any]:
    return msgspec.convert(value, dict[str, Any])


def _block(value: Any) -> Any:
    return value if isinstance(value, Wire) else block_of(_object(value))


def _blocks(value: Any) -> list[Any]:
    return [_block(item) for item in msgspec.convert(value, list[Any])]


def _block_or_blocks(value: Any) -> Any:
    return _blocks(value) if isinstance(value, list) else _block(value)


def _each(cls: type[Wire]) -> Callable[[Any], list[Wire]]:
    def make(value: Any) -> list[Wire]:
        items = msgspec.convert(value, list[Any])
        return [item if isinstance(item, cls) else lenient(cls, _object(item)) for item in items]

    return make


def _input_requests(value: Any) -> dict[str, InputRequest]:
    return {key: _input_request(_object(request)) for key, request in _object(value).items()}


def _input_request(request: dict[str, Any]) -> InputRequest:
    if request.get("method") == "sampling/createMessage":
        return CreateMessageRequest(params=lenient(CreateMessageRequestParams, _object(request.get("params"))))
    made: InputRequest = msgspec.convert(request, InputRequest, dec_hook=dec_hook)
    return made


_BLOCKS: Final[dict[str, Any]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource": EmbeddedResource,
    "resource_link": ResourceLink,
    "tool_use": ToolUseContent,
    "tool_result": ToolResultContent,
}

# For each type that holds blocks: the members that lead to them, with something empty that
# msgspec takes in their place, and how they are made.
_PARTS: Final[dict[type[Any], dict[str, tuple[Any, Callable[[Any], Any]]]]] = {
    CallToolResult: {"content": ([], _blocks)},
    ToolResultContent: {"content": ([], _blocks)},
    PromptMessage: {"content": ({"type": "text", "text": ""}, _block)},
    GetPromptResult: {"messages": ([], _each(PromptMessage))},
    SamplingMessage: {"content": ([], _block_or_blocks)},
    CreateMessageResult: {"content": ([], _block_or_blocks)},
    CreateMessageRequestParams: {"messages": ([], _each(SamplingMessage))},
    InputRequiredResult: {"inputRequests": ({}, _input_requests)},
}
