"""How long people may take to answer, in virtual time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import AskFailed, Context, ElicitationConfig, MCPServer, ServerConfig, tool
from tests.interaction.asked import asked
from tests.virtual_time import virtual

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28")
YES = {"action": "accept", "content": {"confirm": True}}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


def patient(default: float | None, timeout: float | None = None) -> MCPServer:
    """A server that asks one question: in `default` seconds, or in `timeout` where that is given."""
    server = MCPServer("patient", config=ServerConfig(elicitation=ElicitationConfig(timeout=default)))

    @tool
    async def ask(ctx: Context) -> str:
        given: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        try:
            return str(await ctx.confirm("Sure?", **given))
        except AskFailed as error:
            return f"{anyio.current_time() - begin:.0f} s: {error}"

    begin = 0.0

    @tool
    async def start() -> None:
        nonlocal begin
        begin = anyio.current_time()

    server.collect(ask, start)
    return server


@pytest.mark.parametrize("revision", ASKING)
@pytest.mark.parametrize(
    ("default", "timeout", "seconds"), [(600.0, None, 599), (None, None, 599), (5.0, 120.0, 119), (None, 599.0, 590)]
)
async def test_an_answer_counts_however_long_it_took_within_the_time_that_was_given(
    default: float | None, timeout: float | None, seconds: int, revision: str
) -> None:
    """B013: no other limit is hidden anywhere."""
    server = patient(default, timeout)
    async with asked(server, "", "memory", revision, {"elicitation": {}}) as talking:
        question = await talking.begin("ask")
        await anyio.sleep(seconds)
        assert await talking.text(question, YES) == "True"


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_without_a_limit_a_live_question_waits_for_a_week(revision: str) -> None:
    """B013."""
    async with asked(patient(None), "", "memory", revision, {"elicitation": {}}) as talking:
        question = await talking.begin("ask")
        await anyio.sleep(7 * 24 * 3600)
        assert await talking.text(question, YES) == "True"


@pytest.mark.parametrize(("default", "timeout", "seconds"), [(30.0, None, 30), (None, 30.0, 30), (600.0, 7.0, 7)])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_question_runs_out_of_time_when_its_author_says(
    default: float | None, timeout: float | None, seconds: int, revision: str
) -> None:
    """B013: not before, and the client is told."""
    async with asked(patient(default, timeout), "", "memory", revision, {"elicitation": {}}) as talking:
        await talking.begin("start")
        question = await talking.begin("ask")
        taken_back = await talking.hear()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]
        assert await talking.text() == f"{seconds} s: elicitation request timed out"
