"""How long a client waits: never for what cannot come, and otherwise as long as it was told."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, RequestTimeout, Timeout, ToolError
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types.revisions import MODERN
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import PATIENCE, Heard, text_of
from tests.interaction.scripts import opened, result, text
from tests.interaction.server import make

revisions = pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])


@revisions
async def test_a_server_that_ends_fails_every_open_call_and_every_later_one(revision: str) -> None:
    """B034: at once, however patient the caller is."""

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        for _ in range(3):
            await raw.hear_method("tools/call")

    async def lost(client: MCPClient) -> None:
        with pytest.raises(ConnectionLost):
            await client.call_tool("a", timeout=None)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            client = await MCPClient.connect(Scripted(group, server), revision=revision)
            async with anyio.create_task_group() as calls:
                for _ in range(3):
                    calls.start_soon(lost, client)
            for late in (client.call_tool("a"), client.list_tools(), client.ping()):
                with pytest.raises(ConnectionLost):
                    await late
            await client.close()
            await client.close()


def ticking(revision: str, ticks: int) -> Any:
    """A server that reports progress at once so many times, then for ever waits."""

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        token = call["params"]["_meta"]["progressToken"]
        for tick in range(1, ticks + 1):
            await anyio.sleep(0.06)
            await raw.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": tick}})
        if ticks > 8:
            await raw.say({"id": call["id"], "result": text(revision, "yes")})
        cancelled = await raw.hear()
        assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", call["id"])
        await raw.hear()

    return server


@pytest.mark.parametrize("revision", ["2025-06-18"])
@pytest.mark.parametrize(
    ("timeout", "ticks", "succeeds"),
    [
        (Timeout(0.5, reset_on_progress=True), 12, True),
        (Timeout(0.5, reset_on_progress=True, total=0.55), 12, False),
        (Timeout(0.2, reset_on_progress=True), 2, False),
        (Timeout(0.2), 10, False),
        (0.2, 10, False),
        (None, 10, True),
    ],
    ids=["reset", "total", "stalled", "no-reset", "seconds", "none"],
)
async def test_progress_extends_a_call_as_far_as_it_was_told(
    timeout: Any, ticks: int, succeeds: bool, revision: str
) -> None:
    """PROG-01, CANC-06, B038: expiry is cancelled on the wire."""
    heard = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, ticking(revision, ticks)), revision=revision) as client,
        ):
            if succeeds:
                assert text_of(await client.call_tool("a", timeout=timeout, progress=heard)) == "yes"
                assert [params.progress for params in await heard.wait(ticks)] == list(range(1, ticks + 1))
            else:
                with pytest.raises(RequestTimeout, match="tools/call") as expired:
                    await client.call_tool("a", timeout=timeout, progress=heard)
                assert isinstance(expired.value, TimeoutError)
            group.cancel_scope.cancel()


@revisions
async def test_a_callback_that_fails_or_is_slow_harms_nothing(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """B011, B131: a hundred reports in order for the slow one; a warning with a traceback for the other."""
    caplog.set_level(logging.WARNING)
    slow: list[float] = []
    done = anyio.Event()

    async def slowly(params: Any) -> None:
        await anyio.lowlevel.checkpoint()
        slow.append(params.progress)
        if len(slow) == 100:
            done.set()

    def failing(params: Any) -> None:
        raise ValueError("in the callback")

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision) as client:
            assert text_of(await client.call_tool("progress", {"steps": 100}, progress=slowly)) == "done"
            await done.wait()
            assert slow == list(range(1, 101))
            assert text_of(await client.call_tool("progress", {"steps": 1}, progress=failing)) == "done"
            while not caplog.records:
                await anyio.lowlevel.checkpoint()
    (record,) = caplog.records
    assert "failing" in record.getMessage()
    assert record.exc_info is not None


@revisions
async def test_a_callback_may_call_the_server(revision: str) -> None:
    """B011."""
    found = Heard[Any]()

    async with MCPClient.connect(make(), revision=revision) as client:

        async def call_back(params: Any) -> None:
            found((await client.list_tools()).tools)

        with anyio.fail_after(PATIENCE):
            await client.call_tool("progress", {"steps": 3}, progress=call_back)
            assert all(await found.wait(3))


@revisions
async def test_tokens_of_calls_at_once_are_not_mixed(revision: str) -> None:
    """PROG-01, PROG-05: each callback hears its own call alone."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision) as client:

            async def one(steps: int) -> None:
                heard = Heard[Any]()
                await client.call_tool("progress", {"steps": steps}, progress=heard)
                assert [params.progress for params in await heard.wait(steps)] == list(range(1, steps + 1))

            async with anyio.create_task_group() as group:
                for steps in range(1, 8):
                    group.start_soon(one, steps)


@revisions
async def test_cancellation_from_outside_comes_out_as_itself(revision: str) -> None:
    """B157: never as a timeout or a lost connection of ours."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision) as client:
            with anyio.move_on_after(0.05) as scope:
                await client.call_tool("hold", {"key": "k"})
            assert scope.cancelled_caught
            with pytest.raises(TimeoutError) as outer, anyio.fail_after(0.05):
                await client.call_tool("hold", {"key": "k2"})
            assert not isinstance(outer.value, RequestTimeout)


@revisions
@pytest.mark.parametrize(
    ("content", "text_said"),
    [
        ({}, "without saying why"),
        ({"content": []}, "without saying why"),
        ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, "without saying why"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
    ],
    ids=["missing", "empty", "image", "text"],
)
async def test_a_failed_result_can_be_raised_whatever_it_holds(
    content: dict[str, Any], text_said: str, revision: str
) -> None:
    """B103, B158."""

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        while True:
            call = await raw.hear_method("tools/call")
            await raw.say({"id": call["id"], "result": result(revision, isError=True, **content)})

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision=revision) as client,
        ):
            with pytest.raises(ToolError, match=text_said):
                await client.call_tool("a", raise_on_error=True)
            assert (await client.call_tool("a")).isError
            group.cancel_scope.cancel()


@pytest.mark.parametrize("kind", [None, "complete", "something_else"], ids=str)
async def test_a_modern_result_says_what_it_is(kind: str | None) -> None:
    """RPC-21, RPC-22, RPC-23: without a type it is complete; a type that was never agreed on is no result."""
    (revision,) = MODERN

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        said: dict[str, Any] = {**text(revision, "yes"), "resultType": kind}
        await raw.say({"id": call["id"], "result": {key: value for key, value in said.items() if value is not None}})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision=revision) as client,
        ):
            if kind in (None, "complete"):
                assert text_of(await client.call_tool("a")) == "yes"
            else:
                with pytest.raises(RemoteProtocolError):
                    await client.call_tool("a")
            group.cancel_scope.cancel()
