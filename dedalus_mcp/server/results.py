"""What a tool may return, and the result that becomes of it.

    CallToolResult                       itself, or a mapping that has its members
    a content block, an iterable of them  the content; nothing structured
    None                                 no content, {"result": null}
    str, numbers, other scalars          their text, {"result": ...}
    list, tuple, set                     a block for each item, {"result": [...]}
    mapping, dataclass, Struct, model    its JSON as text, and itself
    anything else                        its text; nothing structured

A generator is refused: it would run here, in the event loop, after its tool is over.
Text that is JSON is compact and keeps its characters: models read it.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import NoneType
from typing import Any

import msgspec

from dedalus_mcp.schema.given import GivenReturns
from dedalus_mcp.schema.plain import plain
from dedalus_mcp.schema.returns import BOX, Returns
from dedalus_mcp.server.rendering import as_block, is_list, is_mapping
from dedalus_mcp.types import CallToolResult, ContentBlock, TextContent
from dedalus_mcp.types.lenient import lenient

__all__ = ("described", "failed", "reads_once", "result_of")

# What nearly every tool returns; asking an abstract class about it would take as long as all the rest.
_BUILT_IN = frozenset((str, int, float, bool, NoneType, list, dict, tuple))
_MEMBERS = frozenset(("content", "structuredContent", "isError", "_meta", "resultType"))


def failed(text: str) -> CallToolResult:
    """Return the result that tells the model what went wrong."""
    return CallToolResult(content=[TextContent(text=text)], isError=True)


def described(error: Exception) -> str:
    """Return the type and the message of an exception."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception's own code may be anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def result_of(value: Any, returns: Returns | GivenReturns) -> CallToolResult:
    """Make the result of `tools/call` of what a tool returned.

    Args:
        value: See the module.
        returns: What the tool promises.

    Raises:
        ValueError: The value is not what was promised, or cannot be JSON.
    """
    if isinstance(value, CallToolResult):
        if isinstance(returns, GivenReturns) and not value.isError:
            returns.check(value.structuredContent)
        return value
    if reads_once(value):
        raise ValueError(f"a {type(value).__name__}, which can be read once; return a list")
    if returns.schema is not None:
        structured = returns.structure(value)
        return CallToolResult(
            content=_content(value, structured[BOX] if returns.boxed else structured), structuredContent=structured
        )
    if is_mapping(value) and "content" in value and _MEMBERS.issuperset(value):
        try:
            return lenient(CallToolResult, value)
        except msgspec.ValidationError:
            pass  # it only looks like one
    blocks = _blocks(value)
    return _unpromised(value) if blocks is None else CallToolResult(content=blocks)


def reads_once(value: object) -> bool:
    """Whether `value` is a generator or the like, which runs while it is read."""
    return type(value) not in _BUILT_IN and isinstance(value, (Iterator, AsyncIterator))


def _unpromised(value: Any) -> CallToolResult:
    try:
        shown = plain(value, BOX)
    except ValueError:  # nothing of the kind was promised, so its text must do
        return CallToolResult(content=[TextContent(text=_str(value))])
    if isinstance(value, bytes):
        return CallToolResult(content=[TextContent(text=shown)])
    return CallToolResult(
        content=_content(value, shown), structuredContent=shown if is_mapping(shown) else {BOX: shown}
    )


def _blocks(value: Any) -> list[ContentBlock] | None:
    """The blocks that `value` is or consists of; None if any part of it is none."""
    found = [_block(item) for item in (value if is_list(value) else [value])]
    blocks = [block for block in found if block is not None]
    return blocks if blocks and len(blocks) == len(found) else None


def _content(value: Any, shown: Any) -> list[ContentBlock]:
    if value is None:
        return []
    if isinstance(shown, str) or not is_list(shown):
        return [TextContent(text=_text(shown))]
    given = value if is_list(value) and len(value) == len(shown) else shown
    return [_block(item) or TextContent(text=_text(text)) for item, text in zip(given, shown, strict=True)]


def _block(item: Any) -> ContentBlock | None:
    try:
        return as_block(item)
    except msgspec.ValidationError:
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if not value.isascii():
        value.encode()  # a lone surrogate has no place in JSON; its error is a ValueError
    return value


def _str(value: Any) -> str:
    try:
        return _text(str(value))
    except Exception as error:
        raise ValueError(f"a {type(value).__name__}, whose str() fails with {type(error).__name__}") from error
