"""`Watching`: who has a resource elsewhere is asked to tell of it, once, and as long as somebody listens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from dedalus_mcp import MCPServer, resource
from dedalus_mcp.errors import ConnectionLost, McpError
from dedalus_mcp.server.changes import TOOLS, updated
from dedalus_mcp.server.watching import Watching
from dedalus_mcp.types import ReadResourceResult
from tests.interaction.reach import PATIENCE


class Elsewhere:
    """Resources of another server, which says what it is asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.story: list[str] = []
        self.ended = anyio.Event()
        self._error = error

    async def read(self, uri: str) -> ReadResourceResult:
        return ReadResourceResult(contents=[])

    @asynccontextmanager
    async def watched(self, uri: str) -> AsyncGenerator[None]:
        self.story.append(f"watch {uri}")
        await anyio.lowlevel.checkpoint()
        if self._error is not None:
            raise self._error
        yield
        self.story.append(f"leave {uri}")
        self.ended.set()


@resource("a://own")
def own() -> str:
    return "own"


def watching(*elsewhere: Elsewhere) -> Watching:
    server = MCPServer("test")
    server.collect(own)
    for each in elsewhere:
        server.resources.add_unlisted(each)
    return server.watching


async def test_what_is_listened_to_is_watched_until_it_is_not() -> None:
    far = Elsewhere()
    ours = watching(far)
    with anyio.fail_after(PATIENCE):
        ours.want(updated("a://far"))
        await ours.begun("a://far")
        assert far.story == ["watch a://far"]
        ours.leave(updated("a://far"))
        await far.ended.wait()

    assert far.story == ["watch a://far", "leave a://far"]


async def test_what_is_the_servers_own_and_what_is_no_resource_is_not_watched() -> None:
    far = Elsewhere()
    ours = watching(far)
    with anyio.fail_after(PATIENCE):
        for change in (updated("a://own"), TOOLS):
            ours.want(change)
        await ours.begun("a://own")
        for change in (updated("a://own"), TOOLS, updated("a://never")):
            ours.leave(change)
        await anyio.wait_all_tasks_blocked()

    assert far.story == []


async def test_a_server_without_others_starts_nothing() -> None:
    ours = watching()
    ours.want(updated("a://x"))
    await ours.begun("a://x")


async def test_who_does_not_tell_says_so_to_whoever_waits() -> None:
    ours = watching(Elsewhere(McpError(-32601, "no subscriptions")))
    ours.want(updated("a://far"))
    with anyio.fail_after(PATIENCE), pytest.raises(McpError, match="no subscriptions"):
        await ours.begun("a://far")


async def test_a_connection_that_is_lost_meanwhile_is_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    ours = watching(Elsewhere(ConnectionLost("x" * 5000)))
    ours.want(updated("a://far"))
    with anyio.fail_after(PATIENCE):
        await ours.begun("a://far")

    (record,) = caplog.records
    assert len(record.getMessage()) < 300


async def test_the_first_who_tells_is_the_one_that_is_asked() -> None:
    no, yes, late = Elsewhere(McpError(-32602, "not here")), Elsewhere(), Elsewhere()
    ours = watching(no, yes, late)
    ours.want(updated("a://far"))
    with anyio.fail_after(PATIENCE):
        await ours.begun("a://far")
        ours.leave(updated("a://far"))
        await yes.ended.wait()

    assert (no.story, late.story) == (["watch a://far"], [])
    assert yes.story == ["watch a://far", "leave a://far"]
