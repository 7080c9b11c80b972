"""`Link`: one connection, the revision spoken on it, and its end."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import ConnectionLost, Timeout
from dedalus_mcp.client.answers import Answers
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.client.link import InputRequired, Link
from dedalus_mcp.types import (
    CallToolRequestParams,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    NotificationParams,
    RequestParams,
)
from dedalus_mcp.types.methods import INITIALIZED, PING, TOOLS_CALL
from dedalus_mcp_transports.memory import pair
from tests.client.counting import back_to, living_tasks
from tests.interaction.raw import Raw
from tests.interaction.scripts import text

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def linked(**handlers: Any) -> tuple[Link, Raw]:
    near, far = pair()
    return Link(near, partial(Handlers, **handlers), Implementation(name="me", version="1")), Raw(far)


async def nobody(params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="cancel")


async def answer(raw: Raw, result: Any) -> dict[str, Any]:
    asked: dict[str, Any] = await raw.hear()
    await raw.say({"id": asked["id"], "result": result})
    return asked


async def test_a_modern_request_carries_the_envelope_and_a_legacy_one_does_not() -> None:
    for revision, members in ((LEGACY, 0), (MODERN, 3)):
        link, raw = linked(answers=Answers(elicitation=nobody))
        link.speak(revision)
        heard: list[dict[str, Any]] = []
        async with anyio.create_task_group() as group:

            async def far(raw: Raw = raw, heard: list[dict[str, Any]] = heard, revision: str = revision) -> None:
                heard.append(await answer(raw, text(revision, "x")))

            group.start_soon(far)
            await link.request(TOOLS_CALL, CallToolRequestParams(name="x", meta={"mine": 1}))
        meta = heard[0]["params"]["_meta"]
        assert meta.pop("mine") == 1
        assert len(meta) == members
        await link.close()


async def test_capabilities_are_declared_in_the_words_of_the_revision() -> None:
    """ELIC-01, ELIC-02."""
    link, _ = linked(answers=Answers(elicitation=nobody))

    assert link.capabilities_in("2025-03-26").elicitation is None
    assert link.capabilities_in(LEGACY).elicitation is not None
    assert link.capabilities_in(MODERN).elicitation is not None
    await link.close()


async def test_a_log_level_goes_with_later_modern_requests() -> None:
    """LOG-04."""
    link, raw = linked()
    link.speak(MODERN)
    link.log_from("error")
    heard: list[dict[str, Any]] = []

    async def far() -> None:
        heard.append(await answer(raw, text(MODERN, "x")))

    async with anyio.create_task_group() as group:
        group.start_soon(far)
        await link.request(TOOLS_CALL, CallToolRequestParams(name="x"))
    assert heard[0]["params"]["_meta"]["io.modelcontextprotocol/logLevel"] == "error"
    await link.close()


async def test_a_timeout_that_progress_resets_asks_for_progress() -> None:
    """CANC-14, PROG-01: even if nobody wants to hear it; each request under a token of its own."""
    link, raw = linked()
    tokens: list[Any] = []

    async def far() -> None:
        for _ in range(3):
            asked = await answer(raw, {})
            tokens.append(asked.get("params", {}).get("_meta", {}).get("progressToken"))

    async with anyio.create_task_group() as group:
        group.start_soon(far)
        await link.request(PING, RequestParams(), timeout=Timeout(5, reset_on_progress=True))
        await link.request(PING, RequestParams(), timeout=Timeout(5))
        await link.request(PING, RequestParams(), progress=lambda params: None)
    assert tokens[1] is None
    assert None not in {tokens[0], tokens[2]}
    assert tokens[0] != tokens[2]
    await link.close()


async def test_a_result_that_asks_for_input_is_an_error_that_holds_the_questions() -> None:
    link, raw = linked()
    link.speak(MODERN)

    async def far() -> None:
        await answer(raw, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})

    async with anyio.create_task_group() as group:
        group.start_soon(far)
        with pytest.raises(InputRequired, match="asks for input to 'tools/call'") as caught:
            await link.request(TOOLS_CALL, CallToolRequestParams(name="x"))
        assert caught.value.result.requestState == "s"
    await link.close()


async def test_a_notice_is_sent() -> None:
    link, raw = linked()
    link.notify(INITIALIZED, NotificationParams())

    assert (await raw.hear())["method"] == "notifications/initialized"
    await link.close()


async def test_the_end_fails_what_is_open_and_says_why() -> None:
    before = living_tasks()
    for far_ends in (True, False):
        link, raw = linked()
        reasons: list[str] = []

        async def call(link: Link = link, reasons: list[str] = reasons) -> None:
            try:
                await link.request(PING, RequestParams())
            except ConnectionLost as error:
                reasons.append(error.reason)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await wait_all_tasks_blocked()
                assert link.ended is None
                if far_ends:
                    await raw.close()
                else:
                    await link.close("enough")
        assert link.ended is not None
        assert reasons == [link.ended]
        await link.close()
        await link.close()
    assert reasons == ["enough"]
    await back_to(before)
