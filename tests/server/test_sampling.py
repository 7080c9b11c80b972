"""What a model may be asked; how the question travels is in `interaction`."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.errors import AskFailed, NoActiveCall
from dedalus_mcp.server.sampling import check, messages_of, sample
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    ModelPreferences,
    SamplingMessage,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)

HELLO = TextContent(text="Hello")


def use(id: str) -> ToolUseContent:
    return ToolUseContent(id=id, name="look", input={})


def result(id: str) -> ToolResultContent:
    return ToolResultContent(toolUseId=id, content=[])


def user(*blocks: Any) -> SamplingMessage:
    return SamplingMessage(role="user", content=list(blocks))


def assistant(*blocks: Any) -> SamplingMessage:
    return SamplingMessage(role="assistant", content=list(blocks))


def params(*messages: SamplingMessage, **members: Any) -> CreateMessageRequestParams:
    limited: dict[str, Any] = {"maxTokens": 1, **members}
    return CreateMessageRequestParams(messages=list(messages or messages_of("Hello")), **limited)


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("Hello", ["user"]),
        (HELLO, ["user"]),
        (["Hello", HELLO], ["user", "user"]),
        ([user(HELLO), assistant(HELLO), "And?"], ["user", "assistant", "user"]),
        ([], []),
    ],
    ids=["text", "block", "several", "messages", "none"],
)
def test_texts_and_blocks_are_what_the_user_says(given: Any, roles: list[str]) -> None:
    assert [message.role for message in messages_of(given)] == roles


def test_what_is_no_message_is_refused() -> None:
    wrong: Any = [7]
    with pytest.raises(TypeError, match="a message is a SamplingMessage, a text or a content block, not a int"):
        messages_of(wrong)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"maxTokens": 0}, "maxTokens must be at least 1, not 0"),
        ({"temperature": float("nan")}, "temperature must be a number"),
        ({"modelPreferences": ModelPreferences(costPriority=2)}, "modelPreferences.costPriority must be from 0 to 1"),
        ({"modelPreferences": ModelPreferences(speedPriority=-1)}, "modelPreferences.speedPriority must be from 0 to"),
    ],
    ids=str,
)
def test_numbers_are_within_their_bounds(members: dict[str, Any], text: str) -> None:
    """SAMP-06."""
    with pytest.raises(ValueError, match=text):
        check(params(**members))
    check(params(temperature=0, modelPreferences=ModelPreferences(intelligencePriority=1)))


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([user(HELLO), assistant(use("1")), user(result("1"), HELLO)], r"messages\[2\]: tool results stand alone"),
        (
            [assistant(use("1")), assistant(result("1"))],
            r"messages\[1\]: tool results stand alone in a message of the user",
        ),
        ([assistant(use("1")), user(HELLO)], r"messages\[1\]: expected the results of exactly the tool uses before it"),
        ([assistant(use("1"), use("2")), user(result("1"))], r"messages\[1\]: expected the results"),
        ([assistant(use("1")), user(result("1")), user(result("1"))], r"messages\[2\]: expected the results"),
        ([user(result("1"))], r"messages\[0\]: expected the results"),
        ([user(use("1"))], r"messages\[0\]: only the assistant uses tools"),
        ([assistant(HELLO, use("1"))], "the last tool uses have no results"),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value)[:20],
)
def test_tool_uses_are_answered_at_once_and_apart(messages: list[SamplingMessage], text: str) -> None:
    """SAMP-07, SAMP-08."""
    with pytest.raises(ValueError, match=text):
        check(params(*messages))


def test_a_conversation_with_tools_is_legal() -> None:
    """SAMP-07, SAMP-08."""
    check(params(user(HELLO), assistant(HELLO, use("1"), use("2")), user(result("2"), result("1")), assistant(HELLO)))


async def test_outside_of_a_call_no_model_is_asked() -> None:
    with pytest.raises(NoActiveCall, match="Sampling needs an active request") as caught:
        await sample(None, params(), timeout=None, key=None)
    assert isinstance(caught.value, AskFailed)
