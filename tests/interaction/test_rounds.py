"""A server asks on 2026-07-28, where it makes no calls: rounds on the wire, and what becomes of the handler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dedalus_mcp import MCPServer, ServerConfig, get_context, tool
from dedalus_mcp.errors import AskFailed, McpError, NoActiveCall
from dedalus_mcp.jsonrpc.peer import Limits
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.types import ElicitRequestParams
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE
from tests.interaction.server import Story

MODERN = "2026-07-28"
ABLE: dict[str, Any] = {"elicitation": {}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def offering(*functions: Callable[..., Any], **parking: Any) -> MCPServer:
    server = MCPServer("rounds", config=ServerConfig(parking=ParkingConfig(**parking)))
    server.collect(*functions)
    return server


async def ask(message: str, **options: Any) -> int | str:
    """Ask for a number; what was done instead of giving one, otherwise."""
    result = await get_context().server.request_elicitation(
        ElicitRequestParams(message=message, requestedSchema=SCHEMA), **options
    )
    return result.action if result.content is None else int(str(result.content["n"]))


def accept(n: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"n": n}}


def asked(reply: dict[str, Any]) -> dict[str, str]:
    """The questions of a round: names by message."""
    result = reply["result"]
    assert result["resultType"] == "input_required"
    assert all(each["method"] == "elicitation/create" for each in result["inputRequests"].values())
    return {each["params"]["message"]: name for name, each in result["inputRequests"].items()}


def answering(reply: dict[str, Any], **numbers: int) -> dict[str, Any]:
    """The members that a retry adds: these answers by message, and the state."""
    names = asked(reply)
    return {
        "inputResponses": {names[message]: accept(n) for message, n in numbers.items()},
        "requestState": reply["result"]["requestState"],
    }


def text(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"])


def rejected(reply: dict[str, Any]) -> bool:
    return bool(reply["error"] == {"code": -32602, "message": "Invalid or expired requestState"})


class Talk:
    """A client that calls one tool in rounds."""

    def __init__(self, raw: Raw, name: str, **arguments: Any) -> None:
        self.raw = raw
        self._params = {"name": name, "arguments": arguments}
        self._id = 0

    async def begin(self, **more: Any) -> int:
        self._id += 1
        await self.raw.begin(self._id, "tools/call", {**self._params, **more})
        return self._id

    async def call(self, **more: Any) -> dict[str, Any]:
        return await self.raw.reply(await self.begin(**more))


@pytest.fixture
def story() -> Story:
    return Story()


async def test_the_body_runs_once_however_many_rounds_it_takes(story: Story) -> None:
    """MRTR-01, MRTR-04, MRTR-05: nothing is run again, and its variables are as they were."""

    @tool
    async def add() -> str:
        story.tell("began")
        first = await ask("one")
        story.tell("between")
        second = await ask("two")
        story.tell("over")
        return f"{first} {second}"

    server = offering(add)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "add")
            one = await talk.call()
            two = await talk.call(**answering(one, one=1))
            assert len(server.parkings.here()) == 1
            end = await talk.call(**answering(two, two=2))

    assert text(end) == "1 2"
    assert end["result"]["resultType"] == "complete"
    assert story.told == ["began", "between", "over"]
    assert one["result"]["requestState"] != two["result"]["requestState"]
    assert {each["params"]["requestedSchema"]["type"] for each in one["result"]["inputRequests"].values()} == {"object"}


async def test_questions_of_sibling_tasks_go_out_in_one_round() -> None:
    @tool
    async def many() -> list[int]:
        found: dict[str, Any] = {}

        async def one(name: str) -> None:
            found[name] = await ask(name)

        async with anyio.create_task_group() as group:
            for name in "abcdef":
                group.start_soon(one, name)
        return [found[name] for name in "abcdef"]

    with anyio.fail_after(PATIENCE):
        async with serving(offering(many)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "many")
            one = await talk.call()
            end = await talk.call(**answering(one, **{name: n for n, name in enumerate("abcdef")}))

    assert end["result"]["structuredContent"] == {"result": [0, 1, 2, 3, 4, 5]}


@tool
async def pair() -> str:
    found: dict[str, Any] = {}

    async def one(name: str) -> None:
        found[name] = await ask(name)

    async with anyio.create_task_group() as group:
        group.start_soon(one, "a")
        group.start_soon(one, "b")
    return f"{found['a']} {found['b']}"


async def test_what_was_not_answered_is_asked_again_and_what_was_not_asked_is_ignored() -> None:
    """MRTR-19, MRTR-20."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            one = await talk.call()
            more = answering(one, a=1)
            more["inputResponses"]["unknown"] = {"action": "decline"}
            two = await talk.call(**more)
            assert set(asked(two)) == {"b"}
            assert text(await talk.call(**answering(two, b=2))) == "1 2"


@pytest.mark.parametrize("bad", [12345, None, "x", {"action": "maybe"}, {"content": {}}, []], ids=repr)
async def test_an_answer_that_is_none_is_refused_and_the_round_waits_on(bad: Any) -> None:
    """MRTR-18."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            one = await talk.call()
            good = answering(one, a=1, b=2)
            spoilt = {**good, "inputResponses": {**good["inputResponses"], asked(one)["a"]: bad}}
            assert (await talk.call(**spoilt))["error"]["code"] == -32602
            assert text(await talk.call(**good)) == "1 2"


async def test_an_answer_that_does_not_fit_the_form_is_told_to_the_handler_as_live() -> None:
    @tool
    async def strict() -> str:
        try:
            await ask("n")
        except AskFailed as error:
            return f"{error.code} {error.message}"
        return "?"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(strict)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "strict")
            one = await talk.call()
            more = answering(one, n=1)
            more["inputResponses"][asked(one)["n"]] = accept("seven")
            end = text(await talk.call(**more))

    assert end.startswith("-32602")
    assert "'n'" in end or '"n"' in end or "n:" in end


async def test_an_answer_of_long_numbers_ends_the_call_as_any() -> None:
    """JSON has no longest number: what keeps answers must not have one either."""

    @tool
    async def add() -> str:
        return f"{await ask('one')}"

    server = offering(add)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "add")
            retry = answering(await talk.call(), one=10**30)
            ends = [await talk.call(**retry) for _ in range(2)]

    assert [text(end) for end in ends] == [f"{10**30}"] * 2


async def test_the_same_retry_once_more_gets_the_same_and_runs_nothing_twice(story: Story) -> None:
    """Its response got lost."""

    @tool
    async def twice() -> str:
        first = await ask("one")
        story.tell(f"got {first}")
        second = await ask("two")
        story.tell(f"got {second}")
        return f"{first} {second}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(twice)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "twice")
            one = await talk.call()
            retry = answering(one, one=1)
            two = await talk.call(**retry)
            again = await talk.call(**{**retry, "_meta": {"progressToken": "other"}})
            assert again["result"] == two["result"]
            last = answering(two, two=2)
            end = await talk.call(**last)
            assert (await talk.call(**last))["result"] == end["result"]
            assert rejected(await talk.call(**retry))  # long over

    assert story.told == ["got 1", "got 2"]


async def test_another_answer_to_a_round_that_is_answered_is_refused() -> None:
    """MRTR-11: a state is used once; what is sent again word for word gets what it got."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            one = await talk.call()
            end = await talk.call(**answering(one, a=1, b=2))
            assert rejected(await talk.call(**answering(one, a=1, b=3)))
            assert text(await talk.call(**answering(one, b=2, a=1))) == text(end) == "1 2"


async def test_a_retry_sent_twice_while_it_runs_is_joined(story: Story) -> None:
    @tool
    async def slow() -> str:
        answer = await ask("n")
        story.tell("running")
        await story.until("go on")
        return f"{answer}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(slow)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "slow")
            retry = answering(await talk.call(), n=1)
            first = await talk.begin(**retry)
            await story.until("running")
            second = await talk.begin(**retry)
            await raw.barrier()
            assert rejected(await talk.call(**{**retry, "inputResponses": {}}))
            story.tell("go on")
            replies = [await raw.hear(), await raw.hear()]

    assert {reply["id"] for reply in replies} == {first, second}
    assert {text(reply) for reply in replies} == {"1"}
    assert story.told.count("running") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"requestState": "{}-TAMPERED"},
        {"requestState": "x{}"},
        {"requestState": ""},
        {"requestState": "a.b"},
        {"requestState": "a.b.1"},
        {"requestState": "..."},
        {"name": "other"},
        {"arguments": {"a": 1}},
    ],
    ids=repr,
)
async def test_a_state_is_good_for_the_request_that_it_was_given_for_alone(change: dict[str, Any]) -> None:
    """MRTR-08, MRTR-09, MRTR-10: whatever is wrong with it, the text is the same."""

    @tool
    async def other() -> str:
        return "other"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair, other)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            retry = answering(await talk.call(), a=1, b=2)
            if "requestState" in change:
                change = {"requestState": change["requestState"].format(retry["requestState"])}
            assert rejected(await talk.call(**{**retry, **change}))
            assert text(await talk.call(**retry)) == "1 2"


async def test_a_state_is_good_on_the_connection_alone_that_it_was_given_on() -> None:
    server = offering(pair)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw, serving(server) as stranger:
            await raw.open(MODERN, ABLE)
            await stranger.open(MODERN, ABLE)
            retry = answering(await Talk(raw, "pair").call(), a=1, b=2)
            assert rejected(await Talk(stranger, "pair").call(**retry))
            assert text(await Talk(raw, "pair").call(**retry)) == "1 2"


async def test_empty_params_may_be_written_or_left_out_in_a_retry() -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair)) as raw:
            await raw.open(MODERN, ABLE)
            retry = answering(await Talk(raw, "pair").call(), a=1, b=2)
            reply = await raw.call("x", "tools/call", name="pair", **retry)
            assert text(reply) == "1 2"


async def test_a_capability_that_the_retry_does_not_declare_is_not_used() -> None:
    """MRTR-06: it is that of the very request."""

    @tool
    async def twice() -> str:
        await ask("one")
        await ask("two")
        return "?"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(twice)) as raw:
            await raw.open(MODERN, ABLE)
            one = await Talk(raw, "twice").call()
            await raw.open(MODERN, {})
            reply = await Talk(raw, "twice").call(**answering(one, one=1))

    assert reply["error"]["code"] == -32021
    assert reply["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def test_progress_and_logs_are_those_of_the_request_that_is_attached(story: Story) -> None:
    @tool
    async def noisy() -> str:
        context = get_context()
        await context.report_progress(1)
        await ask("n")
        await context.report_progress(2)
        await context.info("after")
        return f"{context.progress_token}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(noisy)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "noisy")
            one = await talk.call(_meta={"progressToken": "first"})
            log = {"io.modelcontextprotocol/logLevel": "info"}
            end = await talk.call(_meta={"progressToken": "second", **log}, **answering(one, n=1))

    notices = [message for message in raw.heard if "method" in message]
    assert [(n["method"], n["params"].get("progressToken")) for n in notices] == [
        ("notifications/progress", "first"),
        ("notifications/progress", "second"),
        ("notifications/message", None),
    ]
    assert text(end) == "second"


async def test_between_two_rounds_nothing_is_sent(story: Story) -> None:
    @tool
    async def noisy() -> str:
        context = get_context()

        async def chatter() -> None:
            await story.until("parked")
            await context.report_progress(1)
            await context.error("lost")
            story.tell("chattered")

        async with anyio.create_task_group() as group:
            group.start_soon(chatter)
            await ask("n")
        return "done"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(noisy)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "noisy")
            one = await talk.call(_meta={"progressToken": "first", "io.modelcontextprotocol/logLevel": "debug"})
            story.tell("parked")
            await story.until("chattered")
            assert await raw.barrier() == []
            assert text(await talk.call(**answering(one, n=1))) == "done"


async def test_cancelling_a_retry_ends_the_handler(story: Story) -> None:
    """MRTR-07, CANC-07: nobody waits for it any more."""

    @tool
    async def held() -> str:
        try:
            await ask("n")
            story.tell("running")
            await anyio.sleep_forever()
        finally:
            story.tell(f"over: {get_context().cancel_reason}")
        return "?"

    server = offering(held)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "held")
            retry = answering(await talk.call(), n=1)
            id = await talk.begin(**retry)
            await story.until("running")
            await raw.notify("notifications/cancelled", requestId=id, reason="enough")
            await story.until("over: enough")
            assert await raw.barrier() == []
            assert rejected(await talk.call(**retry))
            assert len(server.parkings.here()) == 0


async def test_cancelling_one_of_two_that_wait_ends_nothing(story: Story) -> None:
    @tool
    async def held() -> str:
        await ask("n")
        story.tell("running")
        await story.until("go on")
        return "done"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(held)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "held")
            retry = answering(await talk.call(), n=1)
            first = await talk.begin(**retry)
            await story.until("running")
            second = await talk.begin(**retry)
            await raw.barrier()
            await raw.notify("notifications/cancelled", requestId=second)
            await raw.barrier()
            story.tell("go on")
            assert text(await raw.reply(first)) == "done"


async def test_cancelling_a_request_that_was_answered_with_a_round_does_nothing() -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            one = await talk.call()
            await raw.notify("notifications/cancelled", requestId=1)
            await raw.barrier()
            assert text(await talk.call(**answering(one, a=1, b=2))) == "1 2"


async def test_a_connection_takes_its_parked_calls_with_it(story: Story) -> None:
    @tool
    async def held() -> str:
        try:
            await ask("n")
        finally:
            story.tell("over")
        return "?"

    server = offering(held)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            await Talk(raw, "held").call()
        await story.until("over")
        assert len(server.parkings.here()) == 0


async def test_nobody_comes_back_and_the_call_is_cancelled_and_forgotten(story: Story) -> None:
    """MRTR-07."""

    @tool
    async def held() -> str:
        try:
            await ask("n")
        finally:
            story.tell(f"over: {get_context().cancel_reason}")
        return "?"

    server = offering(held, round_seconds=0.0)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "held")
            retry = answering(await talk.call(), n=1)
            await story.until("over: nobody came back with an answer in time")
            assert rejected(await talk.call(**retry))
            assert len(server.parkings.here()) == 0


async def test_the_outcome_is_kept_for_a_while_and_within_bounds() -> None:
    for bounds, kept in (({}, True), ({"max_outcome_bytes": 10}, False)):
        with anyio.fail_after(PATIENCE):
            async with serving(offering(pair, **bounds)) as raw:
                await raw.open(MODERN, ABLE)
                talk = Talk(raw, "pair")
                retry = answering(await talk.call(), a=1, b=2)
                end = await talk.call(**retry)
                again = await talk.call(**retry)

        assert again.get("result") == end["result"] if kept else rejected(again)


async def test_too_many_parked_calls_fail_the_ask_and_evict_nobody() -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(offering(pair, max_parked=2)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "pair")
            rounds = [await talk.call() for _ in range(2)]
            refused = await talk.call()
            assert refused["result"]["isError"]  # and both siblings failed alike
            assert text(refused) == "too many parked calls: 2 are the limit"
            for one in rounds:
                assert text(await talk.call(**answering(one, a=1, b=2))) == "1 2"
            assert asked(await talk.call())


async def test_a_retry_is_taken_though_all_slots_wait_for_it() -> None:
    """Else a lock that a parked handler holds would stay locked until nobody waits for it any more."""
    lock = anyio.Lock()

    @tool
    async def locked() -> str:
        async with lock:
            return str(await ask("n"))

    server = MCPServer("rounds", config=ServerConfig(limits=Limits(max_in_flight=2)))
    server.collect(locked)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "locked")
            one = await talk.call()
            waiting = [await talk.begin() for _ in range(2)]
            assert "Too many calls" in (await talk.call())["error"]["message"]
            assert text(await talk.call(**answering(one, n=1))) == "1"
            reply = await raw.hear()
            assert reply["id"] in waiting
            assert asked(reply)


async def test_a_timeout_of_the_question_raises_between_the_rounds_and_its_result_waits() -> None:
    @tool
    async def impatient() -> str:
        try:
            await ask("n", timeout=0.05)
        except McpError as error:
            return f"{error.code} {error.message}"
        return "?"

    server = offering(impatient)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "impatient")
            one = await talk.call()
            while len(server.parkings.here()):
                await anyio.lowlevel.checkpoint()
            end = await talk.call(**answering(one, n=1))

    assert text(end) == "-32603 elicitation request timed out"


async def test_a_question_that_is_given_up_before_its_round_goes_out_holds_up_no_other() -> None:
    """It was the first to be asked, and so the one that collected the others."""

    @tool
    async def hasty() -> str:
        found: dict[str, Any] = {}

        async def first() -> None:
            with anyio.move_on_after(0):
                found["first"] = await ask("first")

        async def second() -> None:
            found["second"] = await ask("second")

        async with anyio.create_task_group() as group:
            group.start_soon(first)
            group.start_soon(second)
        return f"{found}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(hasty)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "hasty")
            one = await talk.call()
            assert "second" in asked(one)
            assert text(await talk.call(**answering(one, second=2))) == "{'second': 2}"


async def test_what_the_handler_raises_is_the_retry_s_error() -> None:
    @tool
    async def failing() -> str:
        await ask("n")
        raise McpError(-32001, "no", {"why": 1})

    with anyio.fail_after(PATIENCE):
        async with serving(offering(failing)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "failing")
            retry = answering(await talk.call(), n=1)
            reply = await talk.call(**retry)
            again = await talk.call(**retry)

    assert reply["error"] == again["error"] == {"code": -32001, "message": "no", "data": {"why": 1}}


async def test_answers_that_come_with_the_call_itself_are_taken_by_the_author_s_keys() -> None:
    """MRTR-19: what else comes is ignored; an answer that is none is refused."""

    @tool
    async def keyed() -> str:
        return (await get_context().text("name?", key="who")) or "nobody"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(keyed)) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "keyed")
            ((name, question),) = (await talk.call())["result"]["inputRequests"].items()
            assert name == "who"
            (field,) = question["params"]["requestedSchema"]["properties"]
            answer = {"action": "accept", "content": {field: "Ada"}}
            assert text(await talk.call(inputResponses={"who": answer, "else": {"x": 1}})) == "Ada"
            assert (await talk.call(inputResponses={"who": 5}))["error"]["code"] == -32602
            assert asked(await talk.call(inputResponses={"whose": answer})) == {"name?": "who"}


async def test_a_state_on_a_legacy_request_means_nothing() -> None:
    @tool
    async def plain() -> str:
        return "plain"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(plain)) as raw:
            await raw.open("2025-11-25")
            assert text(await raw.call(1, "tools/call", name="plain", requestState="x")) == "plain"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_question_that_outlives_its_handler_fails_and_waits_for_nobody() -> None:
    late: list[asyncio.Task[int | str]] = []

    @tool
    async def leave() -> str:
        late.append(asyncio.create_task(ask("late")))
        await checkpoint()
        return "left"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(leave)) as raw:
            await raw.open(MODERN, ABLE)
            assert text(await Talk(raw, "leave").call()) == "left"
            with pytest.raises(NoActiveCall, match="outlived its handler"):
                await late[0]


async def test_a_question_that_is_shielded_fails_once_its_call_is_cancelled(story: Story) -> None:
    """Nobody can answer it: without that it would keep its handler, and the server's end, for ever."""

    @tool
    async def stubborn() -> str:
        await ask("first")
        with anyio.CancelScope(shield=True):
            try:
                await ask("second")
            except NoActiveCall as error:
                story.tell(f"{error}")
        return "over"

    server = offering(stubborn)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            talk = Talk(raw, "stubborn")
            await talk.call(**answering(await talk.call(), first=1))
        await story.until("The call is cancelled: the other end of the memory pair was closed")
