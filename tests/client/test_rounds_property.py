"""Rounds of every shape: each question is asked once, and the result is the server's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedalus_mcp import McpError
from dedalus_mcp.types import CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, TextContent
from tests.client.playing import asks, form, playing, said, sample
from tests.interaction.raw import Message
from tests.interaction.reach import text_of
from tests.virtual_time import virtual

T = TypeVar("T")

KEYS = st.text(max_size=8)
STATES = st.none() | st.text(max_size=20)
# A round: its state, and by key which kind asks; every question says where it stands.
ROUNDS = st.lists(
    st.tuples(STATES, st.dictionaries(KEYS, st.sampled_from(["form", "model"]), max_size=4)).filter(
        lambda asked: asked[0] is not None or bool(asked[1])
    ),
    max_size=6,
)


def outcome(number: int, state: str | None, kinds: dict[str, str]) -> Message:
    """One round on the wire."""
    said = {key: f"{number} {key}" for key in kinds}
    result = asks(state)
    return result | {
        "inputRequests": {key: form(said[key]) if kind == "form" else sample(said[key]) for key, kind in kinds.items()}
    }


class Person:
    """Answers forms and samples with what was asked, after so many turns of the loop; one question may fail."""

    def __init__(self, turns: list[int], fails: str | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self._turns = turns
        self._fails = fails

    async def _think(self, question: str) -> str:
        self.asked[question] += 1
        for _ in range(self._turns[len(question) % len(self._turns)]):
            await anyio.lowlevel.checkpoint()
        if question == self._fails:
            raise McpError(-7, question)
        return question

    async def form(self, params: ElicitRequestParams) -> dict[str, Any]:
        return {"value": await self._think(params.message)}

    async def model(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        content: Any = params.messages[0].content
        return CreateMessageResult(
            role="assistant", content=TextContent(text=await self._think(content.text)), model="m"
        )


def answered(answer: Message) -> str:
    """What question an answer on the wire is to."""
    return str(answer["content"]["value"] if "action" in answer else answer["content"]["text"])


def run(play: Callable[[], Awaitable[T]]) -> T:
    """Run a conversation in virtual time: pauses cost nothing."""
    backend, options = virtual("asyncio")
    return anyio.run(play, backend=backend, backend_options=options)


@given(played=ROUNDS, turns=st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_every_question_is_asked_once_and_the_result_is_the_servers(
    played: list[tuple[str | None, dict[str, str]]], turns: list[int]
) -> None:
    """MRTR-12, MRTR-13, MRTR-15, MRTR-16."""
    person = Person(turns)

    async def play() -> list[Message]:
        outcomes = [outcome(number, *round) for number, round in enumerate(played)]
        async with playing(
            *outcomes, said("end"), said("after"), elicitation=person.form, sampling=person.model
        ) as play:
            assert text_of(await play.client.call_tool("t")) == "end"
            assert text_of(await play.client.call_tool("t")) == "after"
            assert len({call["id"] for call in play.calls}) == len(played) + 2
            return play.params

    first, *retries, after = run(play)

    asked = [f"{number} {key}" for number, (_, kinds) in enumerate(played) for key in kinds]
    assert person.asked == Counter(asked)
    for number, ((state, kinds), params) in enumerate(zip(played, retries, strict=True)):
        assert params.get("requestState") == state
        found = {key: answered(answer) for key, answer in params.get("inputResponses", {}).items()}
        assert found == {key: f"{number} {key}" for key in kinds}
    for params in (first, after):
        assert params.keys().isdisjoint({"inputResponses", "requestState"})


@given(played=ROUNDS, turns=st.lists(st.integers(0, 5), min_size=1, max_size=4), data=st.data())
def test_a_question_that_fails_ends_the_request_and_nothing_else(
    played: list[tuple[str | None, dict[str, str]]], turns: list[int], data: st.DataObject
) -> None:
    questions = [(number, f"{number} {key}") for number, (_, kinds) in enumerate(played) for key in kinds]
    number, fails = data.draw(st.sampled_from(questions)) if questions else (0, None)
    person = Person(turns, fails)

    async def play() -> int:
        outcomes = [outcome(number, *round) for number, round in enumerate(played)]
        async with playing(*outcomes, said("end"), elicitation=person.form, sampling=person.model) as play:
            if fails is None:
                assert text_of(await play.client.call_tool("t")) == "end"
            else:
                with pytest.raises(McpError) as caught:
                    await play.client.call_tool("t")
                assert caught.value.message == fails
            return len(play.calls)

    sent = run(play)

    assert sent == (len(played) + 1 if fails is None else number + 1)
    assert max(person.asked.values(), default=1) == 1


@settings(max_examples=60)
@given(played=ROUNDS, turns=st.lists(st.integers(0, 5), min_size=1, max_size=4), after=st.integers(0, 60))
def test_a_request_may_be_cancelled_at_any_point_of_any_round(
    played: list[tuple[str | None, dict[str, str]]], turns: list[int], after: int
) -> None:
    """Nothing is asked twice, nothing more is sent, and the client can still be used."""
    person = Person(turns)

    async def play() -> None:
        outcomes = [outcome(number, *round) for number, round in enumerate(played)]
        more = [said("end")] * 2
        async with playing(*outcomes, *more, elicitation=person.form, sampling=person.model) as play:
            async with anyio.create_task_group() as group:
                group.start_soon(play.client.call_tool, "t")
                for _ in range(after):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            await play.client.ping()
            sent = len(play.calls)
            await play.client.ping()
            assert len(play.calls) == sent

    run(play)

    assert max(person.asked.values(), default=1) == 1
