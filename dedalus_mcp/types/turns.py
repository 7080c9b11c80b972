"""Whether the messages of a sampling request keep tool calls and their results together.

Layer: L1; imports the families only.
Source: MCP 2025-11-25, client/sampling, "Message Content Constraints".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedalus_mcp.types.content import ToolResultContent, ToolUseContent
from dedalus_mcp.types.sampling import SamplingMessage

__all__ = ("unbalanced",)


def unbalanced(messages: Sequence[SamplingMessage]) -> str | None:
    """Return what is wrong with the turns of a conversation; None if nothing is.

    A message with tool calls is followed by one with a result for each of them, and results
    stand in no other place and share their message with nothing else (SAMP-07, SAMP-08).
    """
    called: list[str] = []
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        results = [block.toolUseId for block in blocks if isinstance(block, ToolResultContent)]
        if results and (len(results) != len(blocks) or message.role != "user"):
            return f"messages[{index}] holds tool results; they are alone in a message of the user"
        if sorted(results) != sorted(called):
            return f"messages[{index}] must hold one result for each tool call of the message before it, and no other"
        called = [block.id for block in blocks if isinstance(block, ToolUseContent)]
        if called and message.role != "assistant":
            return f"messages[{index}] holds tool calls; they are in messages of the assistant only"
    return "the last message holds tool calls without results" if called else None


def _blocks(message: SamplingMessage) -> list[Any]:
    return message.content if isinstance(message.content, list) else [message.content]
