"""What a prompt renderer may return, and the messages that become of it.

    message     (role, content) | {"role": ..., "content": ...} | PromptMessage
    messages    an iterable of these, an async one too; or one mapping or PromptMessage by itself
    mapping     {"messages": messages, "description": ...}
    GetPromptResult, None (no messages)

    content     str | a content block | a mapping with a block's `type`

A plain str is refused: whose words they are must be said.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any, TypeGuard, get_args

import msgspec

from dedalus_mcp.types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ResourceLink,
    Role,
    TextContent,
    UnknownContent,
)
from dedalus_mcp.types.lenient import block_of

__all__ = ("UnrenderableError", "as_block", "comes_later", "is_list", "is_mapping", "render")

_BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
_ROLES: tuple[str, ...] = get_args(Role)
_MESSAGE = "Prompt message must be PromptMessage, mapping, or (role, content) tuple."


class UnrenderableError(TypeError):
    """A renderer returned what no messages can be made of; the text is fit for the client."""


def render(returned: Any, description: str | None) -> GetPromptResult:
    """Make the result of `prompts/get` of what a renderer returned.

    Args:
        returned: See the module.
        description: The prompt's own, where the renderer gives none.

    Raises:
        UnrenderableError: It is none of the legal forms.
    """
    if isinstance(returned, GetPromptResult):
        if returned.description is None and description is not None:
            return msgspec.structs.replace(returned, description=description)
        return returned
    if is_mapping(returned) and not _is_message(returned):
        if "messages" not in returned:
            raise UnrenderableError("Prompt mapping must include 'messages'")
        given = returned.get("description", description)
        if not isinstance(given, str | None):
            raise UnrenderableError(f"Prompt description must be a string, not {type(given).__name__}.")
        return GetPromptResult(description=given, messages=_messages(returned["messages"]))
    return GetPromptResult(description=description, messages=_messages(returned))


def as_block(content: Any) -> ContentBlock | None:
    """Return the content block that `content` is or describes; None if it is neither.

    Raises:
        msgspec.ValidationError: It describes a block, but a member is missing or wrong.
    """
    if isinstance(content, (*_BLOCKS, UnknownContent)):
        return content
    if is_mapping(content) and isinstance(content.get("type"), str):
        found: Any = block_of(content)
        return found if isinstance(found, _BLOCKS) else None
    return None


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether `value` is a mapping."""
    return isinstance(value, Mapping)


def comes_later(value: Any) -> TypeGuard[AsyncIterable[Any]]:
    """Whether `value` is an async generator or the like."""
    return isinstance(value, AsyncIterable)


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether `value` is a list or a tuple."""
    return isinstance(value, (list, tuple))


def _messages(returned: Any) -> list[PromptMessage]:
    if returned is None:
        return []
    if isinstance(returned, str):
        raise UnrenderableError("Prompt renderer returned raw string; supply role + content.")
    if isinstance(returned, PromptMessage) or _is_message(returned):
        return [_message(returned)]
    try:
        items = list(returned)
    except TypeError:
        raise UnrenderableError(
            f"Prompt renderer returned {type(returned).__name__}; return messages, a mapping with 'messages', "
            "GetPromptResult or None."
        ) from None
    return [_message(item) for item in items]


def _is_message(returned: Any) -> bool:
    return is_mapping(returned) and "role" in returned and "content" in returned and "messages" not in returned


def _message(item: Any) -> PromptMessage:
    if isinstance(item, PromptMessage):
        return item
    if is_mapping(item):
        if "role" not in item or "content" not in item:
            raise UnrenderableError("Prompt message mapping requires 'role' and 'content'.")
        return _said(item["role"], item["content"])
    if is_list(item) and len(item) == 2:
        return _said(item[0], item[1])
    instead = "str; a single tuple goes into a list, too" if isinstance(item, str) else type(item).__name__
    raise UnrenderableError(f"{_MESSAGE} Got {instead}.")


def _said(role: Any, content: Any) -> PromptMessage:
    if role not in _ROLES:
        raise UnrenderableError(f"Prompt message role must be 'user' or 'assistant', not {role!r:.80}.")
    if isinstance(content, str):
        return PromptMessage(role=role, content=TextContent(text=content))
    try:
        block = as_block(content)
    except msgspec.ValidationError as error:
        raise UnrenderableError(f"Invalid prompt content: {error}") from None
    if block is None:
        raise UnrenderableError(f"Unsupported prompt content: {type(content).__name__}")
    return PromptMessage(role=role, content=block)
