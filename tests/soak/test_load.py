"""Storms, as strong as a test may make them: whoever else is there is served, and afterwards nothing is left."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Generator

import anyio
import pytest

from tests.soak.lines import call, lines, notice, open_session, tool
from tests.soak.neighbour import neighbour
from tests.soak.places import program
from tests.soak.slow import together
from tests.soak.soaking import STANDING_TASKS
from tests.soak.storms import STORMS
from tests.soak.unread import unread

on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])

SECONDS = 120.0
"""A bound on hanging."""


async def _moment() -> None:
    """Give another process time to get somewhere, before it is asked again."""
    await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    """One server for all storms: it has to stand them one after another, too."""
    with program("http") as (_, where):
        yield where


async def holdings(url: str) -> tuple[int, int]:
    """The tasks and the descriptors of the server."""
    async with lines(url, 1) as (line,):
        text = (await line.ask(tool("vitals"))).message["result"]["content"][0]["text"]
    vitals = json.loads(text)
    return vitals["tasks"], vitals["descriptors"]


@on_asyncio
@pytest.mark.parametrize(
    ("name", "many", "seen"),
    [
        ("connections", 300, {"connections", "answered again"}),
        ("notices", 0, {"202"}),
        ("cancellations", 0, {"202"}),
        ("duplicate-ids", 0, {"200 -32600"}),
        ("unknown-methods", 0, {"200 -32601"}),
        ("stalled-calls", 20, {"stalled"}),
        ("stalled-streams", 20, {"stalled", "changes"}),
        ("stalled-listens", 20, {"stalled", "changes"}),
    ],
)
async def test_a_storm_leaves_others_served_and_nothing_behind(name: str, many: int, seen: set[str], url: str) -> None:
    """CANC-08: what is of no use is dropped, what cannot be is refused, and whoever stalls holds up nobody else."""
    tasks, descriptors = await holdings(url)
    with anyio.fail_after(SECONDS):
        async with neighbour(url) as other:
            async with STORMS[name](url, many) as counted:
                assert len(await other.calls(100)) == 100
            assert len(await other.calls(10)) == 10
        while (now := await holdings(url))[0] > tasks + STANDING_TASKS or now[1] > descriptors:
            await _moment()

    assert set(counted) == seen


@on_asyncio
async def test_whoever_takes_too_long_to_say_what_he_wants_is_let_go_and_others_are_served() -> None:
    """A body that does not come is answered, a head that does not come is not."""
    with anyio.fail_after(SECONDS), program("impatient") as (_, url):
        async with neighbour(url) as other, STORMS["slow-writers"](url, 20) as counted:
            assert len(await other.calls(100)) == 100

    assert counted == {"closed": 10, "408 -32600": 10}


@on_asyncio
async def test_where_descriptors_run_out_the_connected_are_served_and_newcomers_once_there_is_room() -> None:
    limited = ("sh", "-c", 'ulimit -n 60; exec "$0" "$@"', sys.executable)
    echo = tool("echo", text="x")
    with anyio.fail_after(SECONDS), program("http", *limited) as (_, url):
        async with lines(url, 20) as connected:
            for line in connected:
                assert (await line.ask(echo)).status == 200
            async with lines(url, 100) as newcomers:
                for line in newcomers:
                    line.writer.write(echo)
                for line in connected:
                    assert (await line.ask(echo)).status == 200
        while not await _is_served(url):
            await _moment()


async def _is_served(url: str) -> bool:
    try:
        async with lines(url, 1) as (line,):
            return (await line.ask(tool("echo", text="x"))).status == 200
    except (OSError, asyncio.IncompleteReadError):
        return False


@pytest.mark.parametrize(
    ("way", "many"), [("memory", 1000), ("stdio", 1000), ("http-legacy", 200), ("http-modern", 200)]
)
@on_asyncio
async def test_slow_calls_all_run_at_once(way: str, many: int) -> None:
    """None is answered before all are there."""
    with anyio.fail_after(SECONDS):
        await together(way, many)


def test_what_was_written_while_nobody_read_is_answered_to_the_last_call() -> None:
    """Three MiB of replies wait, which is more than a pipe and the queue before it hold."""
    seen, _ = unread(300, 10_000)

    assert seen == {"answered": 300}


def test_calls_beyond_what_may_run_are_refused_by_an_error_each() -> None:
    """The limit of one conversation is 4,096."""
    seen, _ = unread(5000, 1000)

    assert sum(seen.values()) == 5000
    assert set(seen) == {"answered", "-32603 Too many calls: 4096 are running, which is the limit"}


@on_asyncio
async def test_what_is_full_says_so_and_has_room_again_once_there_is_some() -> None:
    """Sessions by status 503, calls and listen streams by -32603, and each with its limit."""
    with anyio.fail_after(SECONDS), program("bounded") as (_, url):
        async with lines(url, 6) as (first, *others):
            sessions = [await open_session(first) for _ in range(5)]
            with pytest.raises(AssertionError, match="Too many sessions: 5 are open"):
                await open_session(first)

            for id, line in enumerate(others):
                line.writer.write(tool("wait", id, sessions[0]))
                assert (await first.ask(tool("echo", "own", sessions[1], text="x"))).code is None
            while (full := await first.ask(tool("echo", "own", sessions[0], text="x"))).code is None:
                await _moment()
            assert (full.status, full.code) == (200, -32603)
            assert "Too many calls: 5 are running" in full.message["error"]["message"]
            await first.ask(notice("notifications/cancelled", sessions[0], requestId=0))
            while (await first.ask(tool("echo", "own", sessions[0], text="x"))).code is not None:
                await _moment()

        async with lines(url, 6) as (first, *others):
            listen = call("subscriptions/listen", 1, notifications={"toolsListChanged": True})
            for line in others:
                line.writer.write(listen)
                assert b"text/event-stream" in await line.head()
            full = await first.ask(listen)
            assert (full.code, "Too many subscriptions" in full.message["error"]["message"]) == (-32603, True)
            others[0].close()
            first.writer.write(listen)
            assert b" 200 " in await first.head()
