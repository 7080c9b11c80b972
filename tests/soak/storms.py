"""What a server has to stand: each storm is raised, good clients are served meanwhile, and it is let down again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import TypeAlias

from tests.soak.lines import Answer, Line, call, lines, notice, open_session, request, tool

__all__ = ("STORMS", "Storm", "flood")

SMALL_BUFFER = 4096
"""Bytes that are read ahead at most by a client that is to stall."""
THINGS = [f"soak://things/{letter * 60_000}" for letter in "abcd"]
"""What changes all the time: so long that what is told of it does not fit into any buffer soon."""
BYTE_SECONDS = 0.1
"""From one byte of a slow writer to the next."""
PIPES = 8
"""Connections of one flood."""

Storm: TypeAlias = Callable[[str, int], AbstractAsyncContextManager[Counter[str]]]
"""Takes a URL and how strong it is to be; gives what it has seen by now, counted."""


@asynccontextmanager
async def connections(url: str, many: int) -> AsyncGenerator[Counter[str]]:
    """Connections that stay: idle after a call, with a call that waits, and with a stream that listens."""
    async with lines(url, many) as opened:
        await asyncio.gather(*(_settle(number, line) for number, line in enumerate(opened)))
        seen = Counter(connections=len(opened))
        yield seen
        for line in opened[::3]:
            with suppress(OSError, asyncio.IncompleteReadError):  # by now, idle ones may have been closed
                seen["answered again"] += (await line.ask(tool("echo", text="x"))).status == 200


async def _settle(number: int, line: Line) -> None:
    if number % 3 == 0:
        assert (await line.ask(tool("echo", text="x"))).status == 200
    elif number % 3 == 1:
        line.writer.write(tool("wait"))
    else:
        line.writer.write(call("subscriptions/listen", 1, notifications={"toolsListChanged": True}))
        assert b"text/event-stream" in await line.head()
        await line.reader.readuntil(b"acknowledged")


@asynccontextmanager
async def flood(url: str, write: Callable[[str, int], bytes], running: bytes = b"") -> AsyncGenerator[Counter[str]]:
    """Requests in one session, on several connections, one after another without a pause.

    Args:
        url: Where.
        write: Makes the request with a number, in a session.
        running: What is said first, and not answered.
    """
    seen: Counter[str] = Counter()
    async with lines(url, PIPES + 1) as (first, *others):
        session = await open_session(first)
        if running:
            first.writer.write(running.replace(b"SESSION", session.encode()))
        number = 0

        async def pour(line: Line) -> None:
            nonlocal number
            while True:
                number += 1
                seen[_named(await line.ask(write(session, number)))] += 1

        tasks = [asyncio.create_task(pour(line)) for line in others]
        try:
            yield seen
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


def _named(answer: Answer) -> str:
    return f"{answer.status}" if answer.code is None else f"{answer.status} {answer.code}"


def notices(url: str, _many: int) -> AbstractAsyncContextManager[Counter[str]]:
    """Notices that nobody knows, and progress of nothing."""
    methods = ("notifications/progress", "notifications/soak", "notifications/roots/list_changed")
    return flood(url, lambda session, n: notice(methods[n % 3], session, progressToken=n, progress=n))


def cancellations(url: str, _many: int) -> AbstractAsyncContextManager[Counter[str]]:
    """Cancellations of calls that never were."""
    return flood(url, lambda session, n: notice("notifications/cancelled", session, requestId=n))


def duplicates(url: str, _many: int) -> AbstractAsyncContextManager[Counter[str]]:
    """Calls with the id of one that runs."""
    return flood(url, lambda session, _: tool("echo", 7, session, text="x"), tool("wait", 7, "SESSION"))


def unknown(url: str, _many: int) -> AbstractAsyncContextManager[Counter[str]]:
    """Calls of methods that there are not."""
    return flood(url, lambda session, n: call(f"soak/{n}", n, session))


@asynccontextmanager
async def stalled_calls(url: str, many: int) -> AsyncGenerator[Counter[str]]:
    """Calls that say a lot, to clients that read nothing of it."""
    async with _stalling(url, many) as opened:
        for line in opened:
            line.writer.write(tool("murmur", count=100_000, size=10_000))
        await asyncio.gather(*(line.head() for line in opened))
        yield Counter(stalled=len(opened))


@asynccontextmanager
async def stalled_streams(url: str, many: int) -> AsyncGenerator[Counter[str]]:
    """Streams of sessions that nobody reads, while what they are to hear of changes without end."""
    async with _stalling(url, many) as opened, lines(url, many) as others:
        for line, other in zip(opened, others, strict=False):
            session = await open_session(other)
            for uri in THINGS:
                assert (await other.ask(call("resources/subscribe", 1, session, uri=uri))).code is None
            line.writer.write(request("GET", "/mcp", mcp_session_id=session))
            assert b"text/event-stream" in await line.head()
        async with _changing(url) as seen:
            seen["stalled"] = len(opened)
            yield seen


@asynccontextmanager
async def stalled_listens(url: str, many: int) -> AsyncGenerator[Counter[str]]:
    """The same for streams that listen, of 2026-07-28."""
    async with _stalling(url, many) as opened:
        for line in opened:
            line.writer.write(call("subscriptions/listen", 1, notifications={"resourceSubscriptions": THINGS}))
            assert b"text/event-stream" in await line.head()
        async with _changing(url) as seen:
            seen["stalled"] = len(opened)
            yield seen


@asynccontextmanager
async def slow_writers(url: str, many: int) -> AsyncGenerator[Counter[str]]:
    """Heads and bodies that come byte by byte, and never to their end."""
    whole = tool("echo", text="x" * 1000)
    seen: Counter[str] = Counter()

    async def dribble(number: int, line: Line) -> None:
        start = 30 if number % 2 else whole.index(b"\r\n\r\n") + 10
        answering = asyncio.create_task(line.answer())
        line.writer.write(whole[:start])
        for byte in whole[start:-1]:
            await asyncio.wait([answering], timeout=BYTE_SECONDS)
            if answering.done():
                break
            line.writer.write(bytes([byte]))
        try:
            seen[_named(await answering)] += 1
        except (OSError, asyncio.IncompleteReadError):
            seen["closed"] += 1

    async with lines(url, many) as opened:
        tasks = [asyncio.create_task(dribble(*each)) for each in enumerate(opened)]
        yield seen
        await asyncio.wait(tasks)


@asynccontextmanager
async def _stalling(url: str, many: int) -> AsyncGenerator[list[Line]]:
    async with lines(url, many, limit=SMALL_BUFFER) as opened:
        yield opened


@asynccontextmanager
async def _changing(url: str) -> AsyncGenerator[Counter[str]]:
    """Let something change all the time."""
    seen: Counter[str] = Counter()

    async def touch(line: Line) -> None:
        while True:
            assert (await line.ask(tool("touch", uris=THINGS))).status == 200
            seen["changes"] += 1

    async with AsyncExitStack() as stack:
        (line,) = await stack.enter_async_context(lines(url, 1))
        task = asyncio.create_task(touch(line))
        try:
            yield seen
        finally:
            task.cancel()
            await asyncio.wait([task])


STORMS: dict[str, Storm] = {
    "connections": connections,
    "notices": notices,
    "cancellations": cancellations,
    "duplicate-ids": duplicates,
    "unknown-methods": unknown,
    "stalled-calls": stalled_calls,
    "stalled-streams": stalled_streams,
    "stalled-listens": stalled_listens,
    "slow-writers": slow_writers,
}
