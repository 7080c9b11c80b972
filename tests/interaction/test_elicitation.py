"""A server asks in the middle of a call: what is checked, what goes out, and every way that it can end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, StdioServer, types
from tests.ids import shown
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE, script, ways
from tests.interaction.server import YES_OR_NO, Story, make

asking = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
ABLE: dict[str, Any] = {"elicitation": {}}


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


async def asked(raw: Raw, id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that asks, and return the question."""
    await raw.begin(id, "tools/call", name=tool, arguments=arguments)
    return await raw.hear_method("elicitation/create")


async def answer(raw: Raw, question: dict[str, Any], **result: Any) -> None:
    await raw.say({"id": question["id"], "result": result})


async def said(raw: Raw, id: Any) -> str:
    reply = await raw.reply(id)
    return str(reply["result"]["content"][0]["text"])


@ways
@asking
async def test_the_question_goes_out_and_the_answer_comes_back(revision: str, transport: str) -> None:
    """ELIC-04: with exactly the members that the revision has."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            question = await asked(raw, 1, "ask", message="Really?")
            assert question["params"] == {"message": "Really?", "requestedSchema": YES_OR_NO}
            await answer(raw, question, action="accept", content={"ok": True})
            assert await said(raw, 1) == "accept {'ok': True}"


@pytest.mark.parametrize(
    ("capabilities", "asks"),
    [
        ({"elicitation": {}}, {"form"}),
        ({"elicitation": {"form": {}}}, {"form"}),
        ({"elicitation": {"form": {}, "url": {}}}, {"form", "url"}),
        ({"elicitation": {"url": {}}}, {"url"}),
        ({}, set[str]()),
        ({"sampling": {}, "roots": {}}, set[str]()),
    ],
    ids=shown,
)
async def test_a_mode_is_used_only_if_it_was_declared(capabilities: dict[str, Any], asks: set[str]) -> None:
    """ELIC-03, ELIC-06, LIFE-09, B020: nothing is sent otherwise."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open("2025-11-25", capabilities)
            for mode, tool, arguments in (
                ("form", "ask", {"message": "?"}),
                ("url", "visit", {"url": "https://example.com/x"}),
            ):
                await raw.begin(mode, "tools/call", name=tool, arguments=arguments)
                first = await raw.hear()
                if mode not in asks:
                    assert first["result"]["isError"]
                    assert "does not advertise the elicitation capability" in first["result"]["content"][0]["text"]
                    continue
                assert first["params"].get("mode", "form") == mode
                if mode == "url":
                    assert (first["params"]["url"], first["params"]["elicitationId"]) == ("https://example.com/x", "e1")
                await answer(raw, first, action="accept", content={"ok": True})
                assert (await said(raw, mode)).startswith("accept")


@asking
@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"ok": "yes"}, "-32602 ok: "),
        ({"ok": 1}, "-32602 ok: "),
        ({"ok": None}, "-32602 ok: "),
        ({}, "-32602 ok: required"),
        ({"ok": True, "extra": [1, 2]}, "-32602 extra: "),
        ({"ok": {"nested": {}}}, "-32602 ok: "),
        (None, "-32602 ok: required"),
        ([1], "-32602 "),
        ("x", "-32602 "),
    ],
    ids=str,
)
async def test_accepted_content_that_does_not_fit_is_an_error_that_names_the_field(
    content: Any, found: str, revision: str
) -> None:
    """ELIC-20, B017: the handler never sees it."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            await answer(raw, await asked(raw, 1, "code", message="?"), action="accept", content=content)
            assert (await said(raw, 1)).startswith(found)


@asking
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("members", [{}, {"content": None}, {"content": {}}, {"content": {"ok": 5}}], ids=str)
async def test_no_content_comes_with_a_no(action: str, members: dict[str, Any], revision: str) -> None:
    """ELIC-20, B014: null, absent and given by mistake are the same."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            await answer(raw, await asked(raw, 1, "ask", message="?"), action=action, **members)
            assert await said(raw, 1) == f"{action} None"


@asking
@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ({"error": {"code": -1, "message": "user closed", "data": {"a": 1}}}, "-1 user closed"),
        ({"error": {"code": -32601, "message": "Method not found"}}, "-32601 Method not found"),
        ({"result": {}}, "-32602 "),
        ({"result": {"action": "maybe"}}, "-32602 "),
        ({"result": {"action": 5}}, "-32602 "),
        ({"result": []}, "-32602 "),
        ({"result": None}, "-32602 "),
        ({"result": {"action": "cancel"}, "error": {"code": 1, "message": "both"}}, "-32602 "),
        ({"error": "no object"}, "-32602 "),
    ],
    ids=str,
)
async def test_an_error_and_an_illegal_answer_are_errors_in_the_handler(
    reply: dict[str, Any], found: str, revision: str
) -> None:
    """RPC-07, ELIC-20: none of them kills the conversation or leaves the handler waiting."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            question = await asked(raw, 1, "code", message="?")
            await raw.say({"id": question["id"], **reply})
            assert (await said(raw, 1)).startswith(found)
            assert await raw.barrier() == []


@asking
async def test_uncaught_in_a_tool_a_failed_question_is_told_to_the_model(revision: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            question = await asked(raw, 1, "ask", message="?")
            await raw.say({"id": question["id"], "error": {"code": -1, "message": "user closed"}})
            result = (await raw.reply(1))["result"]
            assert (result["isError"], result["content"][0]["text"]) == (True, "user closed")


@ways
@asking
async def test_many_questions_at_once_are_told_apart(revision: str, transport: str) -> None:
    """B011: from one call; answered in the opposite order, in several ways."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            await raw.begin(1, "tools/call", name="ask_at_once", arguments={"times": 5})
            questions = sorted(
                [await raw.hear_method("elicitation/create") for _ in range(5)], key=lambda q: q["params"]["message"]
            )
            assert len({question["id"] for question in questions}) == 5
            actions = ["accept", "decline", "cancel", "accept", "decline"]
            for question, action in reversed(list(zip(questions, actions, strict=True))):
                await answer(raw, question, action=action, content={"ok": True})
            assert (await raw.reply(1))["result"]["structuredContent"]["result"] == actions


@ways
@asking
async def test_ten_questions_in_turn_while_other_calls_go_on(revision: str, transport: str) -> None:
    """B011, STDIO-12: a call that waits for the user holds up nothing."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            await raw.begin(1, "tools/call", name="ask_in_turn", arguments={"times": 10})
            for number in range(10):
                question = await raw.hear_method("elicitation/create")
                assert question["params"]["message"] == f"question {number}"
                assert (await raw.tool(2, "echo", text="on"))["result"]["content"][0]["text"] == "on"
                await answer(raw, question, action="accept", content={"ok": True})
            assert (await raw.reply(1))["result"]["structuredContent"]["result"] == [True] * 10


@ways
@asking
async def test_a_question_that_runs_out_of_time_is_taken_back(revision: str, transport: str) -> None:
    """CANC-02, B013: the client is told of the question's own id, and a late answer is dropped."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            question = await asked(raw, 1, "code", message="?", timeout=0.01)
            cancelled = await raw.hear_method("notifications/cancelled")
            assert cancelled["params"]["requestId"] == question["id"]
            assert await said(raw, 1) == "-32603 elicitation request timed out"

            await answer(raw, question, action="accept", content={"ok": True})
            assert await raw.barrier() == []
            again = await asked(raw, 2, "ask", message="again")
            assert again["id"] != question["id"]
            await answer(raw, again, action="decline")
            assert await said(raw, 2) == "decline None"


@ways
@asking
async def test_cancelling_the_call_takes_its_question_back(revision: str, transport: str) -> None:
    """B049: also the second of two; a late answer is dropped; nobody answers the call."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            await raw.begin(1, "tools/call", name="ask_at_once", arguments={"times": 2})
            questions = [await raw.hear_method("elicitation/create") for _ in range(2)]
            await raw.notify("notifications/cancelled", requestId=1)
            taken = [(await raw.hear_method("notifications/cancelled"))["params"]["requestId"] for _ in range(2)]
            assert sorted(taken) == sorted(question["id"] for question in questions)

            await answer(raw, questions[0], action="accept", content={"ok": True})
            assert await raw.barrier() == []
            assert (await raw.tool(1, "echo", text="on"))["result"]["content"][0]["text"] == "on"


@ways
@asking
async def test_a_question_in_the_cleanup_of_a_cancelled_call_never_hangs(revision: str, transport: str) -> None:
    """B044: nothing is sent, and the cleanup goes on."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision, ABLE)
            await raw.begin(1, "tools/call", name="ask_at_the_end", arguments={"key": "k"})
            await raw.tool(2, "until", what="k began")
            await raw.notify("notifications/cancelled", requestId=1)
            await raw.tool(2, "until", what="k over")
            assert await raw.barrier() == []
            assert not [message for message in raw.heard if message.get("method") == "elicitation/create"]


@asking
async def test_a_client_that_goes_away_ends_the_question(revision: str) -> None:
    """B023: the handler's cleanup runs, closing returns."""

    story = Story()
    with anyio.fail_after(PATIENCE):
        async with serving(make(story=story)) as raw:
            await raw.open(revision, ABLE)
            await asked(raw, 1, "ask", message="Anybody?")
        assert "Anybody? over" in story.told


async def test_on_2026_07_28_no_request_goes_to_the_client() -> None:
    """ELIC-39, RPC-18, STDIO-09: the question is part of a result; see `test_rounds`."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open("2026-07-28", ABLE)
            assert (await raw.tool(2, "ask", message="?"))["result"]["resultType"] == "input_required"
            assert not [message for message in raw.heard if "method" in message]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
async def test_older_revisions_have_no_questions(revision: str) -> None:
    """ELIC-01, LIFE-09: whatever such a client declares."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            assert (await raw.tool(1, "code", message="?"))["result"]["content"][0]["text"].startswith("-3260")
            assert not [message for message in raw.heard if "method" in message]


ILLEGAL: list[Any] = [{}, {"type": "array"}, {"type": "object", "properties": {"a": {"type": "object"}}}]


@asking
@pytest.mark.parametrize("schema", ILLEGAL, ids=str)
async def test_the_capability_is_checked_before_the_schema_and_both_before_anything_is_sent(
    schema: Any, revision: str
) -> None:
    """ELIC-03, ELIC-04."""
    for capabilities, code in (({}, "-32601"), (ABLE, "-32602")):
        with anyio.fail_after(PATIENCE):
            async with serving(make()) as raw:
                await raw.open(revision, capabilities)
                assert (await raw.tool(1, "ask_badly", schema=schema))["result"]["content"][0]["text"].startswith(code)
                assert not [message for message in raw.heard if "method" in message]


def test_a_question_without_a_schema_cannot_be_made() -> None:
    """B016: a form that asks for nothing would leave the user with nothing to do."""
    with pytest.raises(TypeError):
        types.ElicitRequestParams(message="?")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@asking
async def test_a_prompt_may_ask_too(revision: str) -> None:
    """A failed question, uncaught there, is the request's error."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            for answers, found in [({"result": {"action": "decline"}}, "decline"), (CLOSED, -1)]:
                await raw.begin(1, "prompts/get", name="asking")
                question = await raw.hear_method("elicitation/create")
                await raw.say({"id": question["id"], **answers})
                reply = await raw.reply(1)
                if found == "decline":
                    assert reply["result"]["messages"][0]["content"]["text"] == found
                else:
                    assert reply["error"]["code"] == found


CLOSED: dict[str, Any] = {"error": {"code": -1, "message": "user closed"}}


@asking
async def test_one_failed_question_of_many_ends_the_call_with_its_message(revision: str) -> None:
    """The group that the tool ran them in is no part of the story, and the other questions are taken back."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, ABLE)
            await raw.begin("many", "tools/call", name="ask_at_once", arguments={"times": 3})
            first, *others = [await raw.hear_method("elicitation/create") for _ in range(3)]
            await raw.say({"id": first["id"], **CLOSED})
            taken = [(await raw.hear_method("notifications/cancelled"))["params"]["requestId"] for _ in others]
            assert sorted(taken) == sorted(question["id"] for question in others)
            result = (await raw.reply("many"))["result"]
            assert (result["isError"], result["content"][0]["text"]) == (True, "user closed")
