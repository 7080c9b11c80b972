"""The release assistant: its questions, what it writes down, and a restart in the middle of a release."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio import to_thread

from dedalus_mcp import Cancelled, Declined, MCPClient
from dedalus_mcp.testing import mock_context
from dedalus_mcp.types import ElicitRequestParams
from examples import release
from tests.examples.programs import command, listening
from tests.interaction.reach import PATIENCE
from tests.process.ports import free_port

ANSWERS: dict[str, dict[str, Any]] = {
    "What is to be released of web?": {"version": "1.4.0", "channel": "stable"},
    "Release web 1.4.0 to stable?": {"confirm": True},
    "Who is to be told?": {"choice": "the team"},
}
WRITTEN = {"id": 1, "service": "web", "version": "1.4.0", "channel": "stable", "state": "published", "told": "the team"}
KEYS = {"DEDALUS_MCP_STATE_KEYS": "k" * 32}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(release, "FILE", tmp_path / "releases.db")
    return tmp_path / "releases.db"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_release_asks_three_things_and_is_written_down(revision: str, file: Path) -> None:
    asked: list[str] = []

    def answer(params: ElicitRequestParams) -> dict[str, Any]:
        asked.append(params.message)
        return ANSWERS[params.message]

    async with MCPClient.connect(release.server, revision=revision, elicitation=answer) as client:
        result = await client.call_tool("release", {"service": "web"})
        written = msgspec.json.decode((await client.read_resource("releases://all")).text)

    assert result.text == "Release 1: web 1.4.0 is stable, and the team was told"
    assert written == [WRITTEN]
    assert asked == list(ANSWERS)


@pytest.mark.parametrize("no", [Declined(), Cancelled(), False])
async def test_a_release_that_is_not_agreed_to_is_withdrawn(no: Declined | Cancelled | bool, file: Path) -> None:
    with mock_context(answers=[{"version": "2"}, no]) as ctx:
        assert await release.release("web", ctx) == "Release 1 was withdrawn"

    assert [(row["state"], row["told"]) for row in release.releases()] == [("withdrawn", None)]


async def test_nothing_is_written_down_before_the_first_answer(file: Path) -> None:
    with mock_context(answers=[Declined()]) as ctx:
        assert await release.release("web", ctx) == "Nothing was released"

    assert release.releases() == []


def test_a_step_that_is_taken_twice_changes_nothing(file: Path) -> None:
    plan = release.Plan("3")
    first = release.plan_release("key", "web", plan)
    release.settle(first, "published")
    release.announce(first, "everybody")

    assert release.plan_release("key", "web", plan) == first
    release.settle(first, "withdrawn")
    release.announce(first, "nobody")
    assert [(row["state"], row["told"]) for row in release.releases()] == [("published", "everybody")]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("when", list(ANSWERS), ids=["first question", "second question", "third question"])
async def test_a_release_goes_on_after_a_restart(when: str, tmp_path: Path) -> None:
    """MRTR-22: the server is killed while a question is open; no answer is asked for again, and no step taken again."""
    port, asked = free_port(), list[str]()
    env = {**KEYS, "RELEASES": str(tmp_path / "releases.db")}
    with ExitStack() as running:

        def start() -> subprocess.Popen[bytes]:
            return running.enter_context(listening(command("release.py", str(port)), port, tmp_path / "log", **env))

        first = await to_thread.run_sync(start)

        def answer(params: ElicitRequestParams) -> dict[str, Any]:
            asked.append(params.message)
            if params.message == when:
                first.kill()
                first.wait(PATIENCE)
                start()
            return ANSWERS[params.message]

        with anyio.fail_after(3 * PATIENCE):
            async with MCPClient.connect(f"http://127.0.0.1:{port}/mcp", elicitation=answer) as client:
                result = await client.call_tool("release", {"service": "web"}, raise_on_error=True)
                written = msgspec.json.decode((await client.read_resource("releases://all")).text)

    assert result.text == "Release 1: web 1.4.0 is stable, and the team was told"
    assert written == [WRITTEN]
    assert asked == list(ANSWERS)
