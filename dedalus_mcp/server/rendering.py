"""What a prompt renderer may return, and the messages that become of it.

    messages    an iterable of (role, content) | {"role", "content"} | PromptMessage
    mapping     {"messages": messages, "description": ...}
    GetPromptResult, None (no messages)

    content     str | a content block | a mapping with a block's `type`

A plain str is refused: the role must be said.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dedalus_mcp.types import ContentBlock, GetPromptResult, PromptMessage, TextContent
from dedalus_mcp.types.content import blocks_of

__all__ = ("Unrenderable", "render")

_LEGAL = "return messages, a mapping with 'messages', a GetPromptResult or None"
