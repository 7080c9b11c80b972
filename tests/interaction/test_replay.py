"""The retry reaches another process: the handler runs again there, and its journal answers what was asked before.

Two servers with the same name and keys stand for two processes: they share nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, get_context, tool
from dedalus_mcp.errors import McpError, StepError
from dedalus_mcp.server.config import ParkingConfig
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE
from tests.interaction.server import Story
from tests.interaction.test_rounds import ABLE, MODERN, Talk, answering, ask, asked, rejected, text

KEY = b"k" * 32


def offering(
    *functions: Callable[..., Any], keys: tuple[bytes, ...] = (KEY,), name: str = "s", **parking: Any
) -> MCPServer:
    server = MCPServer(name, state_keys=keys, config=ServerConfig(parking=ParkingConfig(**parking)))
    server.collect(*functions)
    return server


@pytest.fixture
def story() -> Story:
    return Story()


def buying(story: Story) -> Callable[..., Any]:
    """A tool with two questions and a side effect between them."""

    async def reserve(seat: int) -> tuple[str, int]:
        story.tell(f"reserved {seat}")
        return ("seat", seat)

    @tool
    async def buy() -> str:
        story.tell("began")
        seat = await ask("seat")
        held = await get_context().step("reserve", reserve, int(seat))
        sure = await ask("sure")
        story.tell("bought")
        return f"{held} {sure}"

    return buy


async def test_every_retry_reaches_another_process_and_the_step_ran_once(story: Story) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as first, serving(offering(buy)) as second, serving(offering(buy)) as third:
            for raw in (first, second, third):
                await raw.open(MODERN, ABLE)
            one = await Talk(first, "buy").call()
            two = await Talk(second, "buy").call(**answering(one, seat=7))
            end = await Talk(third, "buy").call(**answering(two, sure=1))

    assert text(end) == "('seat', 7) 1"
    assert story.told == ["began", "began", "reserved 7", "began", "bought"]


async def test_in_the_process_that_holds_it_nothing_runs_again(story: Story) -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buying(story))) as raw:
            await raw.open(MODERN, ABLE)
            one = await Talk(raw, "buy").call()
            two = await Talk(raw, "buy").call(**answering(one, seat=7))
            end = await Talk(raw, "buy").call(**answering(two, sure=1))

    assert text(end) == "('seat', 7) 1"
    assert story.told == ["began", "reserved 7", "bought"]


async def test_a_holder_that_gets_a_newer_state_catches_up(story: Story) -> None:
    """Processes that take turns: neither runs anything that it has run already."""
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as first, serving(offering(buy)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            one = await Talk(first, "buy").call()
            two = await Talk(second, "buy").call(**answering(one, seat=7))
            end = await Talk(first, "buy").call(**answering(two, sure=1))

    assert text(end) == "('seat', 7) 1"
    assert story.told == ["began", "began", "reserved 7", "bought"]


async def test_a_state_survives_a_restart(story: Story) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as before:
            await before.open(MODERN, ABLE)
            one = await Talk(before, "buy").call()
        async with serving(offering(buy)) as after:
            await after.open(MODERN, ABLE)
            two = await Talk(after, "buy").call(**answering(one, seat=7))
            assert text(await Talk(after, "buy").call(**answering(two, sure=1))) == "('seat', 7) 1"


@pytest.mark.parametrize(
    ("keys", "good"),
    [((b"n" * 32, KEY), True), ((KEY, b"n" * 32), True), ((b"n" * 32,), False), ((), False)],
    ids=["old key kept", "new key not used yet", "old key gone", "no keys"],
)
async def test_keys_are_changed_by_keeping_the_old_one(story: Story, keys: tuple[bytes, ...], *, good: bool) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as before, serving(offering(buy, keys=keys)) as after:
            await before.open(MODERN, ABLE)
            await after.open(MODERN, ABLE)
            reply = await Talk(after, "buy").call(**answering(await Talk(before, "buy").call(), seat=7))

    assert set(asked(reply)) == {"sure"} if good else rejected(reply)


async def test_a_state_is_no_good_for_a_server_of_another_name_or_for_another_request(story: Story) -> None:
    buy = buying(story)

    @tool
    async def other() -> str:
        return str(await ask("seat"))

    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy, other)) as before, serving(offering(buy, other, name="t")) as after:
            await before.open(MODERN, ABLE)
            await after.open(MODERN, ABLE)
            retry = answering(await Talk(before, "buy").call(), seat=7)
            assert rejected(await Talk(after, "buy").call(**retry))
            assert rejected(await Talk(before, "other").call(**retry))
            assert rejected(await Talk(before, "buy", a=1).call(**retry))
            for spoilt in (retry["requestState"] + "A", "~", "~AAAA", "~" + "A" * 100_000, retry["requestState"][:-4]):
                assert rejected(await Talk(before, "buy").call(**{**retry, "requestState": spoilt}))


async def test_an_expired_state_is_no_good_anywhere(story: Story) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy, round_seconds=0.0)) as before, serving(offering(buy)) as after:
            await before.open(MODERN, ABLE)
            await after.open(MODERN, ABLE)
            assert rejected(await Talk(after, "buy").call(**answering(await Talk(before, "buy").call(), seat=7)))


async def test_a_replayed_retry_sent_twice_runs_once_in_that_process(story: Story) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as first, serving(offering(buy)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            two = await Talk(first, "buy").call(**answering(await Talk(first, "buy").call(), seat=7))
            last = answering(two, sure=1)
            talk = Talk(second, "buy")
            for _ in range(2):
                await talk.begin(**last)
            replies = [await second.hear(), await second.hear()]
            again = await talk.call(**last)

    assert {text(reply) for reply in (*replies, again)} == {"('seat', 7) 1"}
    assert story.told.count("bought") == 1


@pytest.mark.parametrize("leaving", [0, 1, 2])
async def test_retries_that_joined_a_replay_all_get_its_next_round_and_one_that_leaves_ends_nothing(
    leaving: int,
) -> None:
    """Not even the one that came first: the handler runs for all of them."""
    running, go_on = anyio.Event(), anyio.Event()

    @tool
    async def act() -> str:
        first = await ask("first")
        running.set()
        await go_on.wait()
        return f"{first} {await ask('second')}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(act)) as one, serving(offering(act)) as other:
            await one.open(MODERN, ABLE)
            await other.open(MODERN, ABLE)
            retry = answering(await Talk(one, "act").call(), first=1)
            talk = Talk(other, "act")
            ids = [await talk.begin(**retry)]
            await running.wait()
            ids += [await talk.begin(**retry) for _ in range(2)]
            await other.barrier()
            await other.notify("notifications/cancelled", requestId=ids[leaving])
            await other.barrier()
            go_on.set()
            replies = [await other.hear() for _ in range(2)]
            end = await talk.call(**answering(replies[0], second=2))

    assert {reply["id"] for reply in replies} == set(ids) - {ids[leaving]}
    assert {frozenset(asked(reply)) for reply in replies} == {frozenset({"second"})}
    assert text(end) == "1 2"


async def test_a_replay_ends_when_the_last_of_its_retries_leaves_and_can_be_begun_again(story: Story) -> None:
    """Also while what was left still cleans up: the new one waits for it, and runs then."""

    @tool
    async def act() -> str:
        first = await ask("first")
        try:
            story.tell("running")
            await story.until("go on")
        finally:
            story.tell("ending")
            with anyio.CancelScope(shield=True):
                await story.until("tidy")
                story.tell("over")
        return str(first)

    with anyio.fail_after(PATIENCE):
        async with serving(offering(act)) as one, serving(offering(act)) as other:
            await one.open(MODERN, ABLE)
            await other.open(MODERN, ABLE)
            retry = answering(await Talk(one, "act").call(), first=1)
            talk = Talk(other, "act")
            id = await talk.begin(**retry)
            await story.until("running")
            await other.notify("notifications/cancelled", requestId=id)
            await story.until("ending")
            again = await talk.begin(**retry)
            await other.barrier()
            assert story.told.count("running") == 1
            story.tell("tidy")
            story.tell("go on")
            assert text(await other.reply(again)) == "1"

    assert story.told.count("running") == story.told.count("over") == 2


async def test_a_bad_answer_is_refused_before_anything_runs_and_a_good_one_is_taken(story: Story) -> None:
    buy = buying(story)
    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy)) as first, serving(offering(buy)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            good = answering(await Talk(first, "buy").call(), seat=7)
            bad = {**good, "inputResponses": dict.fromkeys(good["inputResponses"], 5)}
            assert (await Talk(second, "buy").call(**bad))["error"]["code"] == -32602
            assert story.told == ["began"]
            assert set(asked(await Talk(second, "buy").call(**good))) == {"sure"}


async def test_a_question_that_changed_is_asked_afresh() -> None:
    async def handler(word: str) -> str:
        first = await ask(f"{word}?")
        return f"{first} {await ask('sure')}"

    @tool("buy")
    async def before() -> str:
        return await handler("seat")

    @tool("buy")
    async def after() -> str:
        return await handler("row")

    with anyio.fail_after(PATIENCE):
        async with serving(offering(before)) as first, serving(offering(after)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            one = await Talk(first, "buy").call()
            two = await Talk(second, "buy").call(**answering(one, **{"seat?": 1}))
            assert set(asked(two)) == {"row?"}


async def test_a_declined_and_a_timed_out_question_are_replayed_as_such(story: Story) -> None:
    @tool
    async def careful() -> str:
        first = await ask("first")
        second = "answered"
        try:
            await ask("second", timeout=0.01)
        except McpError as error:
            second = error.message
            story.tell("late")
        return f"{first}; {second}; {await ask('third')}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(careful)) as one, serving(offering(careful)) as other:
            await one.open(MODERN, ABLE)
            await other.open(MODERN, ABLE)
            talk = Talk(one, "careful")
            first = await talk.call()
            declined = {"inputResponses": {asked(first)["first"]: {"action": "decline"}}}
            second = await talk.call(**declined, requestState=first["result"]["requestState"])
            await story.until("late")
            third = await talk.call(requestState=second["result"]["requestState"], inputResponses={})
            assert set(asked(third)) == {"third"}
            end = await Talk(other, "careful").call(**answering(third, third=3))

    assert text(end) == "decline; elicitation request timed out; 3"


async def test_a_failed_step_is_replayed_as_the_same_failure(story: Story) -> None:
    def charge() -> None:
        story.tell("charged")
        raise ValueError("no money")

    @tool
    async def pay() -> str:
        why = "paid"
        try:
            await get_context().step("charge", charge)
        except StepError as error:
            why = f"{error} {error.error.code}"
        return f"{why} {await ask('sure')}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(pay)) as first, serving(offering(pay)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            end = await Talk(second, "pay").call(**answering(await Talk(first, "pay").call(), sure=1))

    assert text(end) == "step 'charge' failed: ValueError: no money -32603 1"
    assert story.told == ["charged"]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (McpError(-1, "no", {"n": 10**30}), f"no {{'n': {10**30}}}"),
        (McpError(-1, "no", object()), "no None"),
        (ValueError("half \ud800"), "ValueError: half \ufffd None"),
    ],
    ids=["long number", "no JSON", "half a character"],
)
async def test_a_step_may_fail_with_anything_and_every_run_is_told_the_same(raised: Exception, told: str) -> None:
    def charge() -> None:
        raise raised

    @tool
    async def pay() -> str:
        with pytest.raises(StepError) as failed:
            await get_context().step("charge", charge)
        why = f"{failed.value.error.message} {failed.value.error.data}"
        return f"{why} {await ask('sure')}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(pay)) as first, serving(offering(pay)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            retry = answering(await Talk(first, "pay").call(), sure=1)
            ends = [await Talk(raw, "pay").call(**retry) for raw in (first, second)]

    assert [text(end) for end in ends] == [f"{told} 1"] * 2


async def test_siblings_in_any_order_get_their_own_answers(story: Story) -> None:
    @tool
    async def many() -> list[Any]:
        found: dict[str, Any] = {}

        async def two(name: str) -> None:
            found[name] = [await ask(name), await ask(f"{name} again")]

        async with anyio.create_task_group() as group:
            for name in "abcd":
                group.start_soon(two, name)
        return [found[name] for name in "abcd"]

    servers = [offering(many) for _ in range(3)]
    with anyio.fail_after(PATIENCE):
        async with serving(servers[0]) as first, serving(servers[1]) as second, serving(servers[2]) as third:
            for raw in (first, second, third):
                await raw.open(MODERN, ABLE)
            one = await Talk(first, "many").call()
            two = await Talk(second, "many").call(**answering(one, a=1, b=2, c=3, d=4))
            again = {f"{name} again": n for n, name in enumerate("abcd", 5)}
            end = await Talk(third, "many").call(**answering(two, **again))

    assert end["result"]["structuredContent"]["result"] == [[1, 5], [2, 6], [3, 7], [4, 8]]


async def test_a_round_waits_for_the_steps_that_run(story: Story) -> None:
    """Else the step's result would not be in the state, and the step would run again."""

    async def slow() -> str:
        story.tell("step began")
        await story.until("go on")
        return "done"

    @tool
    async def both() -> str:
        found: list[str] = []

        async def step() -> None:
            found.append(await get_context().step("slow", slow))

        async with anyio.create_task_group() as group:
            group.start_soon(step)
            await story.until("step began")
            found.append(str(await ask("sure")))
        return f"{sorted(found)}"

    with anyio.fail_after(PATIENCE):
        async with serving(offering(both)) as first, serving(offering(both)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            talk = Talk(first, "both")
            id = await talk.begin()
            await story.until("step began")
            await first.barrier()
            assert not [message for message in first.heard if message.get("id") == id]
            story.tell("go on")
            one = await first.reply(id)
            end = await Talk(second, "both").call(**answering(one, sure=1))

    assert text(end) == "['1', 'done']"
    assert story.told.count("step began") == 1


async def test_a_copy_that_expired_takes_no_step_in_its_cleanup(story: Story) -> None:
    """Another process may have completed the call: what would be undone is not this copy's."""

    async def release() -> None:
        story.tell("released")

    @tool
    async def buy() -> str:
        try:
            return str(await ask("sure"))
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await get_context().step("release", release)
                except McpError as error:
                    story.tell(f"refused: {error.message}")
                story.tell("over")

    with anyio.fail_after(PATIENCE):
        async with serving(offering(buy, round_seconds=0.0)) as raw:
            await raw.open(MODERN, ABLE)
            await Talk(raw, "buy").call()
            await story.until("over")

    assert "released" not in story.told
    assert any("is not taken" in told for told in story.told)


async def test_a_journal_that_grew_too_long_stays_in_this_process(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def long() -> str:
        await get_context().step("much", lambda: "x" * 100_000)
        return str(await ask("sure"))

    with anyio.fail_after(PATIENCE), caplog.at_level(logging.WARNING):
        async with serving(offering(long)) as first, serving(offering(long)) as second:
            await first.open(MODERN, ABLE)
            await second.open(MODERN, ABLE)
            one = await Talk(first, "long").call()
            assert len(one["result"]["requestState"]) < 100
            assert rejected(await Talk(second, "long").call(**answering(one, sure=1)))
            assert text(await Talk(first, "long").call(**answering(one, sure=1))) == "1"

    assert "it can be resumed in this process alone" in caplog.text
    caplog.clear()
