"""`Bodies`: read whole, or refused for their size or their time; and nothing is left behind."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp_transports.http_bodies import Bodies
from dedalus_mcp_transports.http_request import HttpRequest
from tests.client.counting import back_to, living_tasks
from tests.interaction.server import make
from tests.transports.asgi import refusal, serving


class Connection:
    """One connection of a web server: `feed` and `leave` are what its client does."""

    def __init__(self, *, length: bytes | None = None) -> None:
        self.request = HttpRequest({"headers": [] if length is None else [(b"content-length", length)]})
        self.sent: list[Any] = []
        self._left: list[dict[str, Any]] = []
        self._fed = anyio.Event()

    def feed(self, piece: bytes, *, more: bool) -> None:
        self._left.append({"type": "http.request", "body": piece, "more_body": more})

    def leave(self) -> None:
        self._left.append({"type": "http.disconnect"})
        self._fed.set()

    async def receive(self) -> dict[str, Any]:
        while not self._left:
            await self._fed.wait()
        return self._left.pop(0)

    async def send(self, message: Any) -> None:
        """Take a part of the response; after its end, the application is told that all is over, as ASGI says."""
        self.sent.append(message)
        if message["type"] == "http.response.body":
            self.leave()

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None


async def test_a_body_that_is_there_is_read() -> None:
    connection, bodies = Connection(length=b"4"), Bodies(4, 60)
    connection.feed(b"ab", more=True)
    connection.feed(b"cd", more=False)

    assert await bodies.read(connection.request, connection.receive, connection.send) == b"abcd"
    assert connection.sent == []


@pytest.mark.parametrize("length", [b"5", b"9" * 5000], ids=len)
async def test_a_body_that_says_it_is_too_long_is_not_read(length: bytes) -> None:
    connection = Connection(length=length)

    async def receive() -> dict[str, Any]:
        raise AssertionError("it was read")

    assert await Bodies(4, 60).read(connection.request, receive, connection.send) is None
    assert connection.status == 413
    assert (b"connection", b"close") in connection.sent[0]["headers"]


@pytest.mark.parametrize("length", [None, b"4", b"x", b"-1", "²".encode("latin-1"), b""], ids=str)
async def test_a_body_that_is_too_long_is_read_no_further(length: bytes | None) -> None:
    connection = Connection(length=length)
    connection.feed(b"abcde", more=True)

    assert await Bodies(4, 60).read(connection.request, connection.receive, connection.send) is None
    assert connection.status == 413


@pytest.mark.parametrize("begun", [True, False])
async def test_a_body_that_does_not_come_is_given_up(begun: bool) -> None:
    connection = Connection()
    if begun:
        connection.feed(b"{", more=True)
    with anyio.fail_after(20):
        assert await Bodies(4, 0.01).read(connection.request, connection.receive, connection.send) is None

    assert connection.status == 408
    assert b"0.01 seconds" in connection.sent[1]["body"]


@pytest.mark.parametrize("body", [b"abc", b"abcde"], ids=len)
async def test_a_body_that_comes_with_its_refusal_is_not_answered_twice(body: bytes) -> None:
    connection = Connection()

    async def receive() -> dict[str, Any]:
        while not connection.sent:
            await anyio.lowlevel.checkpoint()
        return {"type": "http.request", "body": body, "more_body": False}

    with anyio.fail_after(20):
        assert await Bodies(4, 0.01).read(connection.request, receive, connection.send) is None
    assert [message.get("status") for message in connection.sent] == [408, None]


async def test_a_client_that_leaves_is_answered_for_those_between() -> None:
    connection = Connection()
    connection.leave()

    assert await Bodies(4, 60).read(connection.request, connection.receive, connection.send) is None
    assert connection.status == 499


async def test_one_slow_client_costs_the_others_nothing() -> None:
    slow, bodies = Connection(), Bodies(100, 0.05)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(bodies.read, slow.request, slow.receive, slow.send)
            while slow.status is None:
                quick = Connection()
                quick.feed(b"x", more=False)
                assert await bodies.read(quick.request, quick.receive, quick.send) == b"x"
                await anyio.lowlevel.checkpoint()


async def test_a_slow_body_at_the_endpoint_is_refused_with_408() -> None:
    async with serving(make(), body_seconds=0.01) as web:
        exchange = await web.client().send("POST", b'{"json', whole=False).ended()

    assert refusal(exchange) == (408, -32600, None)
    assert exchange.headers["connection"] == "close"


async def test_nothing_runs_on_for_bodies_that_have_come() -> None:
    before = living_tasks()
    connection, bodies = Connection(), Bodies(4, 60)
    connection.feed(b"x", more=False)
    await bodies.read(connection.request, connection.receive, connection.send)
    bodies.stop()
    await back_to(before)

    bodies.stop()  # twice is once
    again = Connection()
    again.feed(b"y", more=False)
    assert await bodies.read(again.request, again.receive, again.send) == b"y"
    bodies.stop()
    await back_to(before)


async def test_what_still_sends_its_body_at_the_end_is_told_and_does_not_hold_it_up() -> None:
    before = living_tasks()
    async with serving(make()) as web:
        half = web.client().send("POST", b'{"json', whole=False)
        assert (await web.client().initialize("2025-11-25")).status == 200
        await web.app.aclose()

        assert (await half.ended()).status == 503
    await back_to(before)
