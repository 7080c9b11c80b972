"""Rounds by hand: a request stops at what the server wants to know, and goes on elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, Round
from dedalus_mcp.errors import LocalProtocolError, RemoteProtocolError
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    SamplingCapability,
    TextContent,
)
from dedalus_mcp.types.methods import PROMPTS_GET, TOOLS_CALL, TOOLS_LIST
from tests.client.playing import Play, asks, form, page, playing, roots, said, sample
from tests.client.serving import LEGACY, echo, offering
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import ENV, text_of

CAN = ClientCapabilities(elicitation=ElicitationCapability(), sampling=SamplingCapability())
GREET = CallToolRequestParams(name="greet", arguments={"a": [1, None]})


async def nobody(params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="cancel")


async def first(play: Play) -> Round[CallToolResult]:
    round = await play.client.request_round(TOOLS_CALL, GREET, capabilities=CAN)
    assert isinstance(round, Round)
    return round


async def test_a_request_stops_at_a_round_and_another_connection_goes_on() -> None:
    """MRTR-13, MRTR-17, MRTR-22: the stored round is all that the second one needs."""
    with anyio.fail_after(20):
        async with playing(asks("s", who=form("Who?"))) as one:
            stored = (await first(one)).to_json()
        async with playing(asks(None, ok=form("Sure?")), said("hi")) as two:
            round = Round[CallToolResult].from_json(stored, TOOLS_CALL)
            assert round.questions["who"].method == "elicitation/create"
            step = await two.client.continue_round(round, {"who": ElicitResult(action="decline")})
            assert isinstance(step, Round)
            assert step.state is None
            result = await two.client.continue_round(step, {"ok": {"value": "x"}})

    assert isinstance(result, CallToolResult)
    assert text_of(result) == "hi"
    answered, again = two.params
    assert (answered.pop("inputResponses"), answered.pop("requestState")) == ({"who": {"action": "decline"}}, "s")
    assert again.pop("inputResponses") == {"ok": {"action": "accept", "content": {"value": "x"}}}
    assert one.params[0] == answered == again
    declared = again["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"elicitation": {}, "sampling": {}}


async def test_a_round_without_questions_goes_on_without_answers() -> None:
    with anyio.fail_after(20):
        async with playing(asks("later"), said("now")) as play:
            assert text_of(await play.client.continue_round(await first(play))) == "now"

    assert play.params[1]["requestState"] == "later"
    assert "inputResponses" not in play.params[1]


async def test_a_request_that_is_answered_at_once_has_no_round() -> None:
    with anyio.fail_after(20):
        async with playing(said("hi"), elicitation=nobody) as play:
            assert text_of(await play.client.request_round(TOOLS_CALL, GREET)) == "hi"

    declared = play.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"elicitation": {"form": {}}}


async def test_every_kind_of_question_takes_its_answers() -> None:
    spoken = CreateMessageResult(role="assistant", content=TextContent(text="x"), model="m")
    listed = ListRootsResult(roots=[Root(uri="file:///a")])
    answers = {"a": {"value": "x"}, "b": ElicitResult(action="accept"), "c": spoken, "d": listed, "e": ["file:///b"]}
    with anyio.fail_after(20):
        async with playing(asks(None, a=form(), b=page(), c=sample(), d=roots(), e=roots()), said("on")) as play:
            await play.client.continue_round(await first(play), answers)

    assert [list(answer) for answer in play.params[1]["inputResponses"].values()] == [
        ["action", "content"],
        ["action"],
        ["role", "content", "model"],
        ["roots"],
        ["roots"],
    ]


@pytest.mark.parametrize(
    ("answers", "error", "named"),
    [
        ({}, ValueError, r"keys \[\]; legal: \['who'\]"),
        ({"who": ElicitResult(action="cancel"), "x": {}}, ValueError, r"\['who', 'x'\]"),
        ({"who": {"value": 7}}, ValueError, "'who' is not legal: .*value"),
        ({"who": ElicitResult(action="accept", content={"other": ""})}, ValueError, "'who' is not legal: .*other"),
        ({"who": "yes"}, TypeError, "'yes'"),
        ({"who": ListRootsResult(roots=[])}, TypeError, "ListRootsResult"),
    ],
    ids=str,
)
async def test_an_answer_that_is_not_legal_is_not_sent(answers: Any, error: type[Exception], named: str) -> None:
    """ELIC-18: and the round can go on with better ones."""
    with anyio.fail_after(20):
        async with playing(asks("s", who=form()), said("hi")) as play:
            round = await first(play)
            with pytest.raises(error, match=named):
                await play.client.continue_round(round, answers)
            assert len(play.calls) == 1
            assert text_of(await play.client.continue_round(round, {"who": {}})) == "hi"


async def test_a_round_is_not_continued_where_there_are_none() -> None:
    """An older server would take it for a new request, and do everything twice."""
    with anyio.fail_after(20):
        async with playing(asks("s", who=form())) as play:
            round = await first(play)
        async with MCPClient.connect(offering(echo), revision=LEGACY) as client:
            with pytest.raises(LocalProtocolError, match="2025-11-25, which has none"):
                await client.continue_round(round, {"who": {}})
            result = await client.request_round(TOOLS_CALL, CallToolRequestParams(name="echo"))
            assert isinstance(result, CallToolResult)


async def test_a_round_that_asks_for_nothing_is_refused_by_hand_as_well() -> None:
    """MRTR-04."""
    with anyio.fail_after(20):
        async with playing(asks(None)) as play:
            with pytest.raises(RemoteProtocolError, match="neither what"):
                await play.client.request_round(TOOLS_CALL, GREET)


async def stored_round() -> bytes:
    with anyio.fail_after(20):
        async with playing(asks(" \u00e9\x00", a=form("\u2028"), b=sample(temperature=0.5), c=roots())) as play:
            return (await first(play)).to_json()


async def test_a_stored_round_is_plain_json_and_comes_back_as_it_was() -> None:
    stored = await stored_round()

    for data in (stored, stored.decode(), json.dumps(json.loads(stored))):
        round = Round[CallToolResult].from_json(data, TOOLS_CALL)
        assert round.to_json() == stored
        assert (round.state, list(round.questions)) == (" \u00e9\x00", ["a", "b", "c"])


async def test_a_stored_round_is_understood_by_another_process() -> None:
    stored = await stored_round()
    program = (
        "import sys\n"
        "from dedalus_mcp import Round\n"
        "from dedalus_mcp.types.methods import TOOLS_CALL\n"
        "print(*Round.from_json(sys.stdin.read(), TOOLS_CALL).questions)\n"
    )

    ran = await anyio.run_process([sys.executable, "-c", program], input=stored, env=ENV, stderr=subprocess.STDOUT)

    assert ran.stdout.split() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    "data",
    [
        "",
        "7",
        "{}",
        "[" * 100_000,
        '{"method":"tools/call","params":{},"result":{"resultType":"input_required","requestState":"s"}}',
        '{"method":"tools/call","params":{"name":"a"},"result":{"resultType":"input_required"}}',
        '{"method":"tools/call","params":{"name":"a"},"result":{"resultType":"complete","requestState":"s"}}',
    ],
    ids=lambda data: data[:60],
)
def test_what_is_no_stored_round_is_refused(data: str) -> None:
    with pytest.raises(ValueError, match="this is no round"):
        Round[CallToolResult].from_json(data, TOOLS_CALL)


async def test_a_stored_round_knows_its_method() -> None:
    stored = await stored_round()

    with pytest.raises(ValueError, match="a round of 'tools/call', not of 'prompts/get'"):
        Round[Any].from_json(stored, PROMPTS_GET)


async def test_answers_go_with_no_request_that_has_no_rounds() -> None:
    """MRTR-03, MRTR-16."""

    async def server(raw: Raw) -> None:
        asked = await raw.hear()
        agreed: dict[str, Any] = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {},
            "ttlMs": 0,
            "cacheScope": "private",
        }
        await raw.say({"id": asked["id"], "result": {"resultType": "complete", **agreed}})
        await raw.say({"id": (await raw.hear())["id"], "result": asks("s", a=form())})
        await raw.hear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server), revision="2026-07-28") as client:
                with pytest.raises(RemoteProtocolError, match="tools/list"):
                    await client.request_round(TOOLS_LIST, TOOLS_LIST.decode_params())
            group.cancel_scope.cancel()
