"""Who asked whom for what is told to `on_ask`, whatever comes of it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import AskRecord, MCPServer, ServerConfig
from dedalus_mcp.server.config import ElicitationConfig
from tests.interaction.asked import asked, text_of
from tests.interaction.asking_server import make
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, Heard

LATEST = "2025-11-25"
ABLE: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
REPLY = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}}


async def told(server: MCPServer, tool: str, answer: dict[str, Any] | None, able: dict[str, Any] = ABLE) -> str:
    """Call a tool that asks once, answer, and return its text."""
    async with asked(server, "", "memory", LATEST, able) as talking:
        first = await talking.begin(tool)
        if answer is None:
            return text_of(first)
        await talking.answer(first, answer)
        reply = await talking.hear()
        while "method" in reply:  # the notice that a page is done
            reply = await talking.hear()
        return text_of(reply)


@pytest.mark.parametrize(
    ("tool", "answer", "kind", "message", "outcome"),
    [
        ("confirm", {"action": "accept", "content": {"confirm": True}}, "elicitation", "Really?", "accept"),
        ("confirm", {"action": "decline"}, "elicitation", "Really?", "decline"),
        ("deploy", {"action": "cancel"}, "elicitation", "Deploy?", "cancel"),
        ("visit", {"action": "accept"}, "elicitation", "Pay", "accept"),
        ("sample", REPLY, "sampling", None, "answered"),
        ("roots", {"roots": []}, "roots", None, "answered"),
    ],
)
async def test_each_question_is_told_when_it_is_over(
    tool: str, answer: dict[str, Any], kind: str, message: str | None, outcome: str
) -> None:
    records: list[AskRecord] = []
    with anyio.fail_after(PATIENCE):
        await told(make(records.append), tool, answer)

    (record,) = records
    assert (record.kind, record.message, record.outcome, record.error) == (kind, message, outcome, None)
    assert (record.method, record.request_id, record.session_id) == ("tools/call", "1", None)
    assert record.client is not None
    assert record.client.name == "raw"
    assert record.seconds >= 0
    assert record.values is None


@pytest.mark.parametrize(
    ("answer", "able", "code"),
    [
        (None, {}, -32601),
        ({"action": "accept", "content": {}}, ABLE, -32602),
        ({"action": "maybe"}, ABLE, -32602),
    ],
    ids=["never sent", "does not fit", "no answer"],
)
async def test_a_question_that_fails_is_told_with_its_error(
    answer: dict[str, Any] | None, able: dict[str, Any], code: int
) -> None:
    records: list[AskRecord] = []
    with anyio.fail_after(PATIENCE):
        await told(make(records.append), "confirm", answer, able)

    (record,) = records
    assert record.outcome == "failed"
    assert record.error is not None
    assert record.error.code == code


async def test_a_question_that_nobody_waits_for_any_more_is_told_too() -> None:
    heard: Heard[AskRecord] = Heard()
    with anyio.fail_after(PATIENCE):
        async with serving(make(heard)) as raw:
            await raw.open(LATEST, ABLE)
            await raw.begin(1, "tools/call", name="confirm")
            await raw.hear_method("elicitation/create")
            await raw.notify("notifications/cancelled", requestId=1)
            (record,) = await heard.wait(1)
    assert (record.outcome, record.error) == ("abandoned", None)


async def test_the_authors_name_for_a_question_is_told() -> None:
    records: list[AskRecord] = []
    with anyio.fail_after(PATIENCE):
        async with asked(make(records.append), "", "memory", LATEST, ABLE) as talking:
            questions = [await talking.begin("all_at_once"), await talking.hear(), await talking.hear()]
            answers: dict[str, dict[str, Any]] = {
                "elicitation/create": {"action": "decline"},
                "sampling/createMessage": REPLY,
                "roots/list": {"roots": []},
            }
            for question in questions:
                await talking.answer(question, answers[question["method"]])
            await talking.hear()
    assert {record.kind: record.key for record in records} == {"elicitation": "sure", "sampling": None, "roots": None}


async def test_what_was_answered_is_told_only_if_that_is_configured() -> None:
    records: list[AskRecord] = []
    server = make(records.append, ServerConfig(elicitation=ElicitationConfig(audit_values=True)))
    with anyio.fail_after(PATIENCE):
        await told(server, "confirm", {"action": "accept", "content": {"confirm": True}})
        await told(server, "roots", {"roots": []})
    assert [record.values for record in records] == [{"confirm": True}, []]


@pytest.mark.parametrize("error", [ValueError("the hook's own"), SystemExit("the hook's own")], ids=repr)
async def test_a_hook_that_fails_costs_nothing(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def broken(record: AskRecord) -> None:
        raise error

    with anyio.fail_after(PATIENCE):
        found = await told(make(broken), "confirm", {"action": "accept", "content": {"confirm": True}})
    assert found == "True"
    assert "on_ask failed" in caplog.text


@pytest.mark.parametrize("wrong", [5, told], ids=["number", "async"])
def test_a_hook_is_a_plain_function(wrong: Any) -> None:
    with pytest.raises(TypeError, match="on_ask is a plain function of an AskRecord, not "):
        MCPServer("test", on_ask=wrong)
