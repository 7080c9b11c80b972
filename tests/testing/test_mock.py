"""`mock_context`: handlers called as the functions they are, with everything that a context has."""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from dedalus_mcp import Accepted, AskFailed, Cancelled, Context, Declined, MCPServer, form, get_context, prompt, tool
from dedalus_mcp.errors import CapabilityMissing, ConnectionLost, ErrorData, McpError
from dedalus_mcp.server.context import active_context
from dedalus_mcp.testing import REVISIONS, MockContext, mock_context
from dedalus_mcp.types import (
    ClientCapabilities,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    TextContent,
)


class Region(enum.Enum):
    EU = "eu"
    US = "us"


@form
@dataclass
class Place:
    region: Region
    copies: int = 2


@tool
async def deploy(name: str) -> str:
    ctx = get_context()
    await ctx.info("deploying", data={"name": name})
    await ctx.report_progress(1, total=2, message="half")
    match await ctx.elicit(f"Where does {name} go?", Place):
        case Accepted(place):
            return f"{name} to {place.region.name}, {place.copies} times"
        case Declined():
            return "declined"
        case Cancelled():
            return "cancelled"


@pytest.mark.parametrize("revision", REVISIONS[2:])
async def test_a_handler_is_tested_as_the_function_it_is(revision: str) -> None:
    with mock_context(answers=[{"region": "eu"}], revision=revision) as ctx:
        assert await deploy("web") == "web to EU, 2 times"

    assert ctx.captured_logs == [("info", "deploying", {"name": "web"})]
    assert ctx.captured_progress == [(1, 2, "half")]
    assert [question["message"] for question in ctx.captured_questions] == ["Where does web go?"]
    assert active_context() is None


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Accepted({"region": "us", "copies": 3}), "web to US, 3 times"),
        (Accepted(Place(Region.US)), "web to US, 2 times"),
        (Place(Region.EU, 1), "web to EU, 1 times"),
        (ElicitResult(action="accept", content={"region": "eu"}), "web to EU, 2 times"),
        (Declined(), "declined"),
        (Cancelled(), "cancelled"),
        (ElicitResult(action="decline"), "declined"),
    ],
    ids=repr,
)
async def test_an_answer_may_be_given_in_any_way_that_says_what_it_is(answer: Any, outcome: str) -> None:
    with mock_context(answers=[answer]):
        assert await deploy("web") == outcome


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"region": "asia"}, "region: expected one of 'eu', 'us'"),
        ({}, "region: "),
        ({"region": "eu", "copies": "two"}, "copies: "),
        (7, ""),
    ],
    ids=repr,
)
async def test_an_answer_that_does_not_fit_the_form_fails_as_it_does_for_real(content: Any, fault: str) -> None:
    with mock_context(answers=[content]), pytest.raises(AskFailed) as caught:
        await deploy("web")

    assert caught.value.code == -32602
    assert fault in caught.value.message


async def test_short_questions_take_bare_values() -> None:
    answers = [True, False, Region.US, "us", [Region.EU], "a text", 1.5, 7, True, Declined()]
    with mock_context(answers=answers) as ctx:
        assert await ctx.confirm("?") is True
        assert await ctx.confirm("?") is False
        assert await ctx.choose("?", Region) is Region.US
        assert await ctx.choose("?", ["eu", "us"]) == "us"
        assert await ctx.choose_many("?", Region) == [Region.EU]
        assert await ctx.text("?") == "a text"
        assert await ctx.number("?") == 1.5
        assert await ctx.integer("?") == 7
        assert await ctx.elicit_url("?", "https://example.com")
        assert not await ctx.elicit_url("?", "https://example.com")


async def test_the_model_and_the_roots_are_asked_alike() -> None:
    said = CreateMessageResult(role="assistant", content=TextContent(text="as it is"), model="mine")
    with mock_context(answers=["hi", said], roots=["file:///work"]) as ctx:
        assert (await ctx.sample("hello")).content == TextContent(text="hi")
        assert (await ctx.sample("hello")).model == "mine"
        assert [root.uri for root in await ctx.list_roots()] == ["file:///work"]


@pytest.mark.parametrize("failure", [ErrorData(-1, "no", {"a": 1}), McpError(-1, "no", {"a": 1})], ids=repr)
async def test_the_client_may_answer_with_an_error(failure: Any) -> None:
    with mock_context(answers=[failure]) as ctx, pytest.raises(AskFailed) as caught:
        await ctx.confirm("?")

    assert (caught.value.code, caught.value.message, caught.value.data) == (-1, "no", {"a": 1})


async def test_an_answer_that_never_comes_is_waited_for_as_long_as_is_said() -> None:
    with mock_context(answers=[..., True]) as ctx:
        with pytest.raises(AskFailed, match="elicitation request timed out"):
            await ctx.confirm("?", timeout=0.01)
        assert await ctx.confirm("?")

    (cancelled,) = ctx.captured_notices
    assert cancelled[0] == "notifications/cancelled"


async def test_a_client_that_goes_away_ends_the_question_and_is_asked_no_more() -> None:
    with mock_context(answers=[ConnectionLost("it was closed")]) as ctx:
        for _ in range(2):
            with pytest.raises(AskFailed, match="the client is gone: it was closed") as caught:
                await ctx.confirm("?")
            assert caught.value.code == -32000


async def test_a_call_that_is_cancelled_asks_nothing() -> None:
    with mock_context() as ctx:
        ctx.call.cancel("the user has left")
        with pytest.raises(AskFailed, match="this one is cancelled: the user has left"):
            await ctx.confirm("?")

    assert ctx.captured_questions == []


async def test_code_that_cannot_be_cancelled_is_told() -> None:
    told: list[str | None] = []
    with mock_context() as ctx, ctx.on_cancel(lambda: told.append(ctx.cancel_reason)):
        ctx.call.cancel("enough")

    assert told == ["enough"]


async def test_questions_at_once_are_each_answered() -> None:
    answers: list[str | None] = []

    async def ask(number: int) -> None:
        answers.append(await ctx.text(f"{number}?"))

    with mock_context(answers=lambda params: params["message"]) as ctx:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, number)

    assert sorted(map(str, answers)) == sorted(f"{number}?" for number in range(20))


async def test_logs_of_every_way_to_log_are_kept() -> None:
    logger = logging.getLogger("tests.mocked")
    logger.setLevel("INFO")
    with mock_context() as ctx:
        await ctx.warning("a", data=[1])
        await ctx.debug("b", data={"msg": "c", "n": 1})
        with ctx.forwarding_logs("tests.mocked"):
            logger.info("forwarded %d", 1)
            await anyio.wait_all_tasks_blocked()

    assert ctx.captured_logs[:2] == [("warning", "a", {"data": [1]}), ("debug", "b", {"n": 1})]
    ((level, message, data),) = ctx.captured_logs[2:]
    assert level == "info"
    assert "forwarded 1" in repr((message, data))


async def test_answers_may_depend_on_the_question() -> None:
    with mock_context(answers=lambda params: "red" in params["message"]) as ctx:
        assert await ctx.confirm("Is it red?")
        assert not await ctx.confirm("Is it blue?")


async def test_a_question_without_an_answer_is_told_and_so_is_an_answer_without_a_question() -> None:
    with pytest.raises(AssertionError, match=r"elicitation/create .* no answer left: .*Sure\?"), mock_context() as ctx:
        await ctx.confirm("Sure?")

    with (
        pytest.raises(AssertionError, match="2 answers were not asked for, first True"),
        mock_context(answers=[True, 1]),
    ):
        pass


@tool
async def deaf() -> str:
    try:
        return str(await get_context().confirm("Sure?"))
    except Exception:  # noqa: BLE001 - such handlers there are
        return "failed"


def _fails(params: Any) -> Any:
    return params["no such"]


@pytest.mark.parametrize(
    ("answers", "error"),
    [(range(0), AssertionError), (_fails, KeyError), ([object()], TypeError)],
    ids=["none left", "raised", "no answer"],
)
async def test_a_handler_that_takes_everything_does_not_hide_that_it_could_not_be_answered(
    answers: Any, error: type[Exception]
) -> None:
    with pytest.raises(error), mock_context(answers=answers):
        assert await deaf() == "failed"


@pytest.mark.parametrize("answer", [object(), Declined, ValueError("no")], ids=["object", "class", "exception"])
async def test_what_is_no_answer_is_refused_and_what_would_be_is_said(answer: Any) -> None:
    with (
        pytest.raises(TypeError, match=r"is no answer to elicitation/create: legal are content, .* Declined\(\), "),
        mock_context(answers=[answer]) as ctx,
    ):
        await ctx.confirm("Sure?")


async def _later(params: Any) -> bool:
    return True


@pytest.mark.parametrize("answers", ["yes", {"confirm": True}, True, _later], ids=["text", "mapping", "bool", "async"])
def test_answers_are_a_list_or_a_plain_function(answers: Any) -> None:
    with (
        pytest.raises(TypeError, match="answers are a list, or a plain function of a question's params, not "),
        mock_context(answers=answers),
    ):
        pass


async def test_what_the_handler_raises_is_not_hidden_by_answers_that_are_left() -> None:
    with pytest.raises(LookupError), mock_context(answers=[True]):
        raise LookupError


async def test_a_client_that_cannot_do_it_is_not_asked() -> None:
    none: list[ClientCapabilities | dict[str, Any]] = [{}, ClientCapabilities()]
    for capabilities in none:
        with mock_context(capabilities=capabilities, answers=[]) as ctx:
            with pytest.raises(CapabilityMissing, match="does not advertise the elicitation capability"):
                await ctx.confirm("?")
            assert ctx.captured_questions == []


async def test_a_revision_that_cannot_ask_so_does_not() -> None:
    with mock_context(revision="2025-06-18") as ctx, pytest.raises(AskFailed, match="needs protocol revision"):
        await ctx.elicit_url("?", "https://example.com")


async def test_it_has_what_a_context_has() -> None:
    server = MCPServer("mine")
    who = Implementation(name="client", version="3")
    with mock_context(
        request_id=7,
        revision="2026-07-28",
        client_info=who,
        progress_token=0,
        meta={"mine": 1},
        headers={"X-Tenant": "a"},
        session_id="s",
        principal="p",
        lifespan={"db": 1},
        session_lifespan="cart",
        server=server,
    ) as ctx:
        assert get_context() is ctx
        assert ctx.server is server
        assert (ctx.request_id, ctx.revision, ctx.modern, ctx.client_info) == ("7", "2026-07-28", True, who)
        assert (ctx.progress_token, ctx.meta["mine"], ctx.headers) == (0, 1, {"x-tenant": "a"})
        assert (ctx.session_id, ctx.principal, ctx.lifespan) == ("s", "p", {"db": 1})
        assert ctx.session_lifespan == "cart"
        async with ctx.progress(total=3) as bar:
            await bar.advance(3)
        assert await ctx.step("once", lambda: 5) == 5

    assert ctx.captured_progress == [(3, 3, None)]
    assert ctx.finished


async def test_the_long_way_to_ask_finds_the_same_context() -> None:
    server = MCPServer("mine")
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    with mock_context(server=server, answers=[True]):
        result = await server.request_elicitation(ElicitRequestParams(message="?", requestedSchema=schema))

    assert result.content == {"sure": True}


async def test_a_client_that_wants_no_progress_gets_none() -> None:
    with mock_context(progress_token=None) as ctx:
        await ctx.report_progress(1)
        async with ctx.progress() as bar:
            await bar.advance(1)

    assert ctx.captured_progress == []


async def test_other_notices_are_kept_too() -> None:
    with mock_context(answers=[True]) as ctx:
        visit = await ctx.elicit_url("?", "https://example.com", elicitation_id="e")
        await visit.complete()

    assert ctx.captured_notices == [("notifications/elicitation/complete", {"elicitationId": "e"})]


@tool
def ask_in_thread(question: str, ctx: Context) -> str:
    return "yes" if ctx.wait(ctx.confirm(question)) else "no"


async def test_a_plain_function_that_asks_runs_in_a_thread_as_it_does_for_real() -> None:
    with mock_context(answers=[True, False, {"region": "eu"}]) as ctx:
        assert await ctx.run(ask_in_thread, "Sure?", ctx) == "yes"
        assert await ctx.run(ask_in_thread, "Sure?", ctx=ctx) == "no"
        assert await ctx.run(deploy, "web") == "web to EU, 2 times"


@prompt
def report(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return [("user", f"{arguments['what']} for {get_context().request_id}")]


def test_no_event_loop_is_needed_where_nothing_is_awaited() -> None:
    with mock_context(request_id="r") as ctx:
        assert report({"what": "a report"}) == [("user", "a report for r")]
        assert isinstance(ctx, MockContext)

    with mock_context(answers=["eu"]) as ctx:
        assert anyio.run(ctx.choose, "?", ["eu", "us"]) == "eu"


def test_contexts_may_be_nested() -> None:
    with mock_context(request_id="outer") as outer:
        with mock_context(request_id="inner"):
            assert get_context().request_id == "inner"
        assert get_context() is outer


async def test_after_the_block_nothing_is_asked_any_more() -> None:
    with mock_context() as ctx:
        pass

    with pytest.raises(AskFailed, match="needs an active request"):
        await ctx.confirm("?")
    await ctx.info("too late")
    assert ctx.captured_logs == []


def test_a_revision_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no revision 'x'; legal are 2024-11-05"), mock_context(revision="x"):
        pass
