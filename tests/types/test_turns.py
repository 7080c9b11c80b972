"""`turns`: tool calls and their results stay together in what a model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.types import SamplingMessage, TextContent, ToolResultContent, ToolUseContent
from dedalus_mcp.types.turns import unbalanced

TEXT = TextContent(text="x")


def use(id: str) -> ToolUseContent:
    return ToolUseContent(id=id, name="t", input={})


def result(id: str) -> ToolResultContent:
    return ToolResultContent(toolUseId=id)


def turn(role: Any, *blocks: Any) -> SamplingMessage:
    return SamplingMessage(role=role, content=blocks[0] if len(blocks) == 1 else list(blocks))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [turn("user", TEXT)],
        [turn("assistant", TEXT), turn("assistant", TEXT)],
        [turn("assistant", use("1")), turn("user", result("1"))],
        [turn("assistant", TEXT, use("1"), use("2")), turn("user", result("2"), result("1")), turn("user", TEXT)],
        [turn("assistant", use("1")), turn("user", result("1"))] * 2,
    ],
    ids=["none", "text", "texts", "one", "two", "twice"],
)
def test_turns_that_keep_calls_and_results_together_are_balanced(messages: list[SamplingMessage]) -> None:
    """SAMP-07, SAMP-08."""
    assert unbalanced(messages) is None


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([turn("user", result("1"), TEXT)], "messages[0] holds tool results"),
        ([turn("assistant", use("1")), turn("assistant", result("1"))], "messages[1] holds tool results"),
        ([turn("user", result("1"))], "messages[0] must hold one result for each tool call"),
        ([turn("assistant", use("1")), turn("user", TEXT)], "messages[1] must hold"),
        ([turn("assistant", use("1")), turn("user", result("1"), result("1"))], "messages[1] must hold"),
        ([turn("assistant", use("1")), turn("user", result("2"))], "messages[1] must hold"),
        ([turn("user", use("1")), turn("user", result("1"))], "messages[0] holds tool calls"),
        ([turn("assistant", use("1"))], "the last message holds tool calls"),
    ],
    ids=["mixed", "role", "uncalled", "unanswered", "twice", "other", "caller", "last"],
)
def test_what_separates_them_is_named(messages: list[SamplingMessage], named: str) -> None:
    """SAMP-07, SAMP-08."""
    assert str(unbalanced(messages)).startswith(named)
