"""Our client and other people's servers: where they meet, and who answers when they ask."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any

from dedalus_mcp import StdioServer
from dedalus_mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

__all__ = ("ASKING", "LEGACY", "MODERN", "Person", "accept", "over", "server", "text")

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
ASKING = ["2025-06-18", "2025-11-25"]


def server(command: Sequence[str]) -> StdioServer:
    return StdioServer(command[0], command[1:], stderr=subprocess.DEVNULL)


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


class Person:
    """Answers forms, and remembers what was asked.

    Args:
        answers: One for each form, in order; the last one is repeated.
    """

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[ElicitRequestParams] = []

    async def __call__(self, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def accept(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


def over(revisions: Sequence[str]) -> list[tuple[str, str]]:
    return [(transport, revision) for transport in ("stdio", "http") for revision in revisions]
