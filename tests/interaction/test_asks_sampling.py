"""What a handler asks the client's model, over every transport and legacy revision."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from tests.interaction.asked import Talking, asked, everywhere, text_of
from tests.interaction.asking_server import make
from tests.interaction.reach import PATIENCE

legacy = pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
every = pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
LATEST = "2025-11-25"
REPLY = {"role": "assistant", "model": "m", "stopReason": "endTurn", "content": {"type": "text", "text": "Hi"}}


def client(
    able: dict[str, Any], revision: str = LATEST, transport: str = "memory"
) -> AbstractAsyncContextManager[Talking]:
    return asked(make(), "tests.interaction.asking_server", transport, revision, able)


@everywhere
@every
async def test_a_model_is_asked_with_all_that_was_said(revision: str, transport: str) -> None:
    """SAMP-01, SAMP-06, B010."""
    if transport == "http" and revision == "2024-11-05":
        pytest.skip("that revision has another HTTP transport")
    with anyio.fail_after(PATIENCE):
        async with client({"sampling": {}}, revision, transport) as talking:
            question = await talking.begin("sample")
            assert question["method"] == "sampling/createMessage"
            assert question["params"] == {
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "Hello"}},
                    {"role": "assistant", "content": {"type": "text", "text": "Yes?"}},
                ],
                "maxTokens": 7,
                "systemPrompt": "Be short.",
                "temperature": 0.5,
                "stopSequences": ["."],
                "metadata": {"m": 1},
                "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 1},
            }
            assert (await talking.text(question, REPLY)).startswith("m endTurn TextContent(text='Hi'")


@legacy
async def test_tools_go_only_to_a_client_that_declared_them(revision: str) -> None:
    """SAMP-02: of a revision that knows them."""
    able: dict[str, Any] = {"sampling": {"tools": {}}}
    with anyio.fail_after(PATIENCE):
        async with client({"sampling": {}}, revision) as talking:
            found = text_of(await talking.begin("sample", with_tools=True))
            assert found == "Client does not advertise the sampling capability for 'tools'"
        async with client(able, revision) as talking:
            first = await talking.begin("sample", with_tools=True)
            if revision < LATEST:
                assert text_of(first) == "Sampling with tools needs protocol revision 2025-11-25 or later"
                return
            assert first["params"]["tools"] == [{"name": "look", "inputSchema": {"type": "object"}}]
            assert first["params"]["toolChoice"] == {"mode": "required"}
            use: dict[str, Any] = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
            found = await talking.text(first, {**REPLY, "stopReason": "toolUse", "content": [use]})
            assert found.startswith("m toolUse [ToolUseContent(")


@pytest.mark.parametrize(
    ("able", "revision", "sent"),
    [
        ({"sampling": {}}, LATEST, None),
        ({"sampling": {"context": {}}}, LATEST, "thisServer"),
        ({"sampling": {}}, "2025-06-18", "thisServer"),
    ],
)
async def test_context_is_asked_only_of_a_client_that_declared_it(
    able: dict[str, Any], revision: str, sent: str | None
) -> None:
    """SAMP-03."""
    with anyio.fail_after(PATIENCE):
        async with client(able, revision) as talking:
            question = await talking.begin("sample", include_context=True)
            assert question["params"].get("includeContext") == sent
            await talking.text(question, REPLY)


@legacy
async def test_without_the_capability_no_model_is_asked(revision: str) -> None:
    """LIFE-09."""
    with anyio.fail_after(PATIENCE):
        async with client({"elicitation": {}, "roots": {}}, revision) as talking:
            reply = await talking.begin("sample")
    assert (reply["result"]["isError"], text_of(reply)) == (
        True,
        "Client does not advertise the sampling capability",
    )


@legacy
async def test_a_refusal_and_nonsense_are_errors_in_the_tool(revision: str) -> None:
    """SAMP-12."""
    with anyio.fail_after(PATIENCE):
        async with client({"sampling": {}}, revision) as talking:
            await talking.refuse(await talking.begin("sample"), -1, "User rejected sampling request")
            assert await talking.text() == "User rejected sampling request"
            for nonsense in ({}, {**REPLY, "content": 5}, {**REPLY, "model": None}):
                found = await talking.text(await talking.begin("sample"), nonsense)
                assert found.startswith("the client's answer to the sampling is not legal: ")
                await talking.text(await talking.begin("sample"), REPLY)  # else it were asked no more


@everywhere
@pytest.mark.parametrize("revision", [LATEST, "2026-07-28"])
async def test_all_kinds_are_asked_at_once(revision: str, transport: str) -> None:
    """B011, SAMP-17, ROOT-05: from one task group; answered in whatever order."""
    able: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    with anyio.fail_after(PATIENCE):
        async with client(able, revision, transport) as talking:
            questions = [await talking.begin("all_at_once"), await talking.hear(), await talking.hear()]
            answers: dict[str, dict[str, Any]] = {
                "elicitation/create": {"action": "accept", "content": {"confirm": True}},
                "sampling/createMessage": REPLY,
                "roots/list": {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]},
            }
            assert {question["method"] for question in questions} == set(answers)
            for question in reversed(questions):
                await talking.answer(question, answers[question["method"]])
            assert (await talking.hear())["result"]["structuredContent"] == {"result": ["True", "m", "2"]}
