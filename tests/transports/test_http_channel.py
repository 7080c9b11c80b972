"""The response to a POST: JSON or a stream, kept alive, and what becomes of it when nobody reads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.transport import Reply
from dedalus_mcp_transports.event_log import MemoryEventLog
from dedalus_mcp_transports.http_channel import Form, PostChannel
from dedalus_mcp_transports.http_request import HttpRequest
from dedalus_mcp_transports.http_stream_log import StreamLog
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, serving

MODERN = "2026-07-28"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN)

revisions = pytest.mark.parametrize("revision", REVISIONS)
eras = pytest.mark.parametrize("revision", ["2025-11-25", MODERN])


def progress(steps: int) -> dict[str, Any]:
    """A call that reports its progress so many times."""
    meta = {"progressToken": "p"}
    return {"name": "progress", "arguments": {"steps": steps}, "_meta": meta}


# Which form it has.


@revisions
async def test_a_reply_alone_is_json(revision: str) -> None:
    """HTTP-14."""
    async with serving(make()) as web:
        exchange = await (await web.open(revision)).tool(1, "echo", text="hi").ended()

    assert (exchange.status, exchange.headers["content-type"]) == (200, "application/json")
    assert exchange.messages[0]["result"]["content"][0]["text"] == "hi"


@revisions
async def test_notices_before_the_reply_make_it_a_stream_that_ends_with_the_reply(revision: str) -> None:
    """HTTP-14, HTTP-16, HTTP-17, HTTP-23, B082, B127."""
    async with serving(make()) as web:
        exchange = await (await web.open(revision)).begin(7, "tools/call", progress(3)).ended()

    assert (exchange.status, exchange.headers["content-type"]) == (200, "text/event-stream")
    assert exchange.headers["cache-control"] == "no-cache, no-transform"
    assert exchange.headers["x-accel-buffering"] == "no"
    assert [message.get("id") for message in exchange.messages] == [None, None, None, 7]
    assert [message["params"]["progress"] for message in exchange.messages[:3]] == [1, 2, 3]
    assert all(message["params"]["progressToken"] == "p" for message in exchange.messages[:3])


@revisions
async def test_logs_travel_on_the_stream_of_their_call(revision: str) -> None:
    """HTTP-17, HTTP-18."""
    meta = {"io.modelcontextprotocol/logLevel": "info"}
    async with serving(make()) as web:
        exchange = await (await web.open(revision)).tool(1, "logs", meta=meta if revision == MODERN else None).ended()

    assert [message["params"]["level"] for message in exchange.messages[:-1]][:2] == ["info", "notice"]
    assert exchange.messages[-1]["id"] == 1


@eras
async def test_the_streams_of_calls_at_the_same_time_do_not_mix(revision: str) -> None:
    """HTTP-30."""
    async with serving(make()) as web:
        client = await web.open(revision)
        calls = [client.begin(n, "tools/call", {**progress(n), "_meta": {"progressToken": n}}) for n in range(1, 6)]
        for n, call in enumerate(calls, 1):
            await call.ended()

            assert [each["params"]["progressToken"] for each in call.messages[:-1]] == [n] * n
            assert call.messages[-1]["id"] == n


@eras
async def test_json_only_drops_notices(revision: str) -> None:
    async with serving(make(), json_only=True) as web:
        exchange = await (await web.open(revision)).begin(1, "tools/call", progress(3)).ended()

    assert (exchange.headers["content-type"], exchange.messages[0]["id"]) == ("application/json", 1)


async def test_json_only_has_no_way_to_ask() -> None:
    async with serving(make(), json_only=True) as web:
        client = await web.open("2025-11-25", {"elicitation": {}})

        assert str(await client.use(1, "code", message="?")).startswith("-32")


@pytest.mark.parametrize(("revision", "tool"), [("2025-11-25", "echo"), ("2025-11-25", "none"), (MODERN, "echo")])
async def test_always_stream_makes_a_stream_of_every_reply(revision: str, tool: str) -> None:
    async with serving(make(), always_stream=True) as web:
        exchange = await (await web.open(revision)).tool(1, tool, text="hi").ended()

    assert (exchange.status, exchange.headers["content-type"]) == (200, "text/event-stream")
    assert [message["id"] for message in exchange.messages] == [1]


async def test_an_error_with_a_status_of_its_own_is_no_stream() -> None:
    """HTTP-60, HTTP-75."""
    async with serving(make(), always_stream=True) as web:
        exchange = await (await web.open(MODERN)).tool(1, "none").ended()

    assert (exchange.status, exchange.headers["content-type"]) == (400, "application/json")


async def test_a_stream_has_status_200_whatever_its_reply_is() -> None:
    """HTTP-75, as long as nothing has been sent."""
    async with serving(make()) as web:
        call = {"name": "fail", "arguments": {"how": "protocol"}}
        exchange = await (await web.open(MODERN)).begin(1, "tools/call", call).ended()
        assert exchange.status == 200


@eras
@pytest.mark.parametrize("settings", [{"json_only": True}, {"always_stream": True}, {}], ids=str)
async def test_large_and_strange_texts_come_through_whole(revision: str, settings: dict[str, Any]) -> None:
    text = "\u2028\u2029\r\n\x00é𝄞" * 20_000
    async with serving(make(), **settings) as web:
        assert await (await web.open(revision)).use(1, "echo", text=text) == text


# Priming events.


@revisions
@pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
async def test_only_the_latest_legacy_revision_gets_a_priming_event(revision: str, log: bool) -> None:
    """HTTP-32, HTTP-36, B086."""
    settings: dict[str, Any] = {} if log else {"event_log": None}
    async with serving(make(), retry_milliseconds=700, **settings) as web:
        exchange = await (await web.open(revision)).begin(1, "tools/call", progress(1)).ended()

    ids = [event.id for event in exchange.events]
    if log and revision == "2025-11-25":
        assert (exchange.events[0].data, len(exchange.events)) == (b"", 3)
        assert exchange.body.startswith(b"retry: 700\n")
    else:
        assert [event.is_message for event in exchange.events] == [True, True]
    if log and revision != MODERN:
        assert None not in ids
        assert len(set(ids)) == len(ids)
    else:
        assert set(ids) == {None}


# Keeping it alive.


@eras
async def test_a_silent_call_becomes_a_stream_of_comments(revision: str) -> None:
    """HTTP-24, B082."""
    story = Story()
    async with serving(make(story=story), keep_alive_seconds=0.005) as web:
        call = (await web.open(revision)).tool(1, "hold", key="a")
        await call.until(lambda: call.comments >= 3)
        story.tell("release a")

        assert (await call.reply())["result"]["content"][0]["text"] == "a"
        assert call.status == 200


async def test_json_only_is_silent_to_the_end() -> None:
    story = Story()
    async with serving(make(story=story), keep_alive_seconds=0.001, json_only=True) as web:
        client = await web.open("2025-11-25")
        call, stream = client.tool(1, "hold", key="a"), await client.get()
        await stream.until(lambda: stream.comments >= 5)
        assert call.status is None
        story.tell("release a")

        assert (await call.reply())["id"] == 1


async def test_the_pulse_rests_when_nobody_waits() -> None:
    async with serving(make(), keep_alive_seconds=0.001) as web:
        client = await web.open("2025-11-25")
        await client.use(1, "progress", steps=1)
        service = web.app._service()
        with anyio.fail_after(20):
            await service._modern._pulse._tasks.wait()

        assert not service._modern._pulse._beating


# Leaving.


@pytest.mark.parametrize("settings", [{"json_only": True}, {"always_stream": True}, {}], ids=str)
async def test_a_modern_call_is_cancelled_when_its_client_leaves(settings: dict[str, Any]) -> None:
    """HTTP-21, B047; also when the answer would have been JSON."""
    story = Story()
    async with serving(make(story=story), **settings) as web:
        client = await web.open(MODERN)
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        call.leave()
        await story.until("a cancelled")
        await call.done()

        assert call.messages == []
        assert await client.use(1, "echo", text="next") == "next"
        assert not web.app._service()._modern._running


async def test_a_modern_stream_that_has_begun_cancels_too() -> None:
    """HTTP-21."""
    story = Story()
    async with serving(make(story=story), keep_alive_seconds=0.005) as web:
        call = (await web.open(MODERN)).tool(1, "hold", key="a")
        await call.until(lambda: call.comments)
        call.leave()
        await story.until("a cancelled")
        await call.done()


async def test_a_modern_call_is_cancelled_though_what_was_sent_had_found_out_first() -> None:
    """HTTP-21; many servers raise from `send` before they tell of the end by `receive`."""
    story = Story()
    async with serving(make(story=story), keep_alive_seconds=0.005) as web:
        call = (await web.open(MODERN)).tool(1, "hold", key="a")
        await story.until("a began")
        call.break_off()
        await call.until(lambda: call.refused)
        call.leave()
        await story.until("a cancelled")
        await call.done()


async def test_a_modern_call_is_cancelled_when_the_server_drops_its_task() -> None:
    """HTTP-21; some servers and middlewares cancel the application's task instead of telling it."""
    story = Story()
    async with serving(make(story=story)) as web:
        async with anyio.create_task_group() as group:
            client = await Client(web.app, group, "/mcp").open(MODERN)
            client.tool(1, "hold", key="a")
            await story.until("a began")
            group.cancel_scope.cancel()
        await story.until("a cancelled")


async def test_a_legacy_call_goes_on_when_its_client_leaves() -> None:
    """HTTP-20, B047."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        call.leave()
        await call.done()
        story.tell("release a")
        await story.until("a over")

        assert "a cancelled" not in story.told
        assert await client.use(1, "echo", text="the id is free") == "the id is free"


@pytest.mark.parametrize("what", ["modern", "legacy", "stateless", "half a body"])
async def test_no_request_is_over_without_a_response_though_nobody_reads_it(what: str) -> None:
    """B083; middlewares log an error where an application says nothing."""
    story = Story()
    async with serving(make(story=story), stateless=what == "stateless") as web:
        client = await web.open(MODERN if what == "modern" else "2025-11-25")
        if what == "half a body":
            call = client.send("POST", b"{", whole=False)
            await anyio.wait_all_tasks_blocked()
        else:
            call = client.tool(1, "hold", key="a")
            await story.until("a began")
        call.leave()
        await call.done()

        assert call.refused == 1


@eras
async def test_leaving_is_no_news_for_the_log(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """B083, B047."""
    caplog.set_level(logging.INFO)
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(revision)
        for n in range(50):
            call = client.tool(n, "hold", key=f"k{n}") if n % 2 else client.begin(n, "tools/call", progress(5))
            if n % 2:
                await story.until(f"k{n} began")
            call.leave()
            await call.done()
            story.tell(f"release k{n}")
        assert await client.use(100, "echo", text="normal") == "normal"

    assert [record for record in caplog.records if record.name == "dedalus_mcp"] == []


# Readers that read nothing.


@eras
async def test_a_reader_that_reads_nothing_delays_nobody_else(revision: str) -> None:
    async with serving(make(), always_stream=True) as web:
        client = await web.open(revision)
        slow = client.begin(1, "tools/call", progress(1000))
        slow.stall()
        for n in range(2, 12):
            assert await client.use(n, "echo", text="quick") == "quick"
        slow.go_on()
        await slow.ended()

        assert [message["params"]["progress"] for message in slow.messages[:-1]] == list(range(1, 1001))


@eras
@pytest.mark.parametrize("settings", [{"json_only": True}, {"always_stream": True}, {}], ids=str)
async def test_a_request_is_not_over_before_its_response_is_sent(revision: str, settings: dict[str, Any]) -> None:
    """Servers take an application that returns early for one that failed."""
    async with serving(make(), **settings) as web:
        client = await web.open(revision)
        slow = client.tool(1, "echo", text="hi")
        slow.stall()
        await anyio.wait_all_tasks_blocked()
        assert not slow.returned
        slow.go_on()

        assert (await slow.reply())["id"] == 1


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize("leaves", [True, False])
async def test_a_handler_that_tells_without_a_pause_disturbs_nobody(revision: str, *, leaves: bool) -> None:
    """It has its turns as everybody, whether it is read or not, and ends when it is cancelled."""
    enough = 20_000
    told = [0]
    over = anyio.Event()

    @tool
    async def tell() -> None:
        try:
            while told[0] < enough:
                told[0] += 1
                await get_context().report_progress(told[0])
        finally:
            over.set()

    @tool
    async def look() -> str:
        return str(told[0])

    server = MCPServer("telling")
    server.collect(tell, look)
    async with serving(server) as web:
        client, other = await web.open(revision), await web.open(revision)
        call = client.tool(1, "tell", meta={"progressToken": 1})
        await call.started()
        if leaves:
            call.leave()
        assert int(await other.use(1, "look")) < enough // 10
        await over.wait()

    if leaves and revision == MODERN:
        assert told[0] < enough // 10


# The channel by itself.


def a_channel(exchange: Exchange, make_log: Callable[[], StreamLog] | None = None) -> PostChannel:
    return PostChannel(
        HttpRequest(exchange.scope), exchange.send, Form.LATE, status_of=lambda code: 404, make_log=make_log
    )


async def test_what_comes_after_the_reader_has_left_is_kept_in_the_log_alone() -> None:
    exchange = Exchange("POST", "/", {}, [])
    log = MemoryEventLog(max_events=10)
    channel = a_channel(exchange, lambda: StreamLog(log, "s", primed=False, retry=None))
    channel.send(b'{"n":0}')
    await channel.flush()
    channel.leave()
    for n in range(1, 1001):
        channel.send(b'{"n":%d}' % n)
        assert not channel.unsent
    channel.reply(Reply(b'{"id":1}', None))
    await channel.flush()

    assert channel._events == []  # pyright: ignore[reportPrivateUsage]
    assert len(exchange.events) == 1
    assert [event.data for event in log.replay("s_1000")[1]] == [b'{"n":%d}' % 1000, b'{"id":1}']


@pytest.mark.parametrize("who", ["flush", "pause"])
async def test_who_waited_for_a_dead_reader_disturbs_no_other_that_has_come(who: str) -> None:
    first, second = Exchange("POST", "/", {}, []), Exchange("GET", "/", {}, [])
    log, begins = MemoryEventLog(), anyio.Event()

    async def to_second(message: Any) -> None:
        if message["type"] == "http.response.start":
            await begins.wait()
        await second.send(message)

    channel = a_channel(first, lambda: StreamLog(log, "s", primed=True, retry=None))
    channel.send(b"1")
    await channel.flush()
    first.stall()
    channel.send(b"2")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(channel.flush)
            group.start_soon(channel.flush if who == "flush" else partial(channel.pause, None))
            await anyio.wait_all_tasks_blocked()
            missed = log.replay("s_2")[1]
            before = channel.move(to_second)
            assert before is not None, "what was on its way there is cut off"
            group.start_soon(before)
            group.start_soon(channel.replay, missed)
            await anyio.wait_all_tasks_blocked()
            channel.send(b"3")
            first.leave()
            await anyio.wait_all_tasks_blocked()
            begins.set()
        await channel.flush()

    assert [event.data for event in second.events] == [b"2", b"3"]
    assert (second.over, second.faults) == (False, [])


async def test_who_is_cancelled_before_a_stream_has_begun_leaves_all_of_it_to_the_next() -> None:
    """A question whose time runs out takes nothing with it that others have said."""
    sent: list[Any] = []
    reads = anyio.Event()

    async def send(message: Any) -> None:
        await reads.wait()
        sent.append(message)

    channel = PostChannel(HttpRequest({"headers": []}), send, Form.LATE)
    channel.send(b'{"n":1}')
    with anyio.move_on_after(0):
        await channel.flush()
    reads.set()
    channel.send(b'{"n":2}')
    await channel.flush()

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert [b'{"n":%d}' % n in sent[1]["body"] for n in (1, 2)] == [True, True]


async def test_a_channel_with_no_log_drops_what_nobody_reads() -> None:
    exchange = Exchange("POST", "/", {}, [])
    channel = a_channel(exchange)
    channel.leave()
    channel.send(b"{}")
    channel.reply(Reply(b"{}", None))
    await channel.flush()
    await channel.beat()
    await channel.end(202)

    assert exchange.status is None
    assert channel._events == []  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("error", [OSError(), RuntimeError(), anyio.BrokenResourceError(), KeyError()], ids=repr)
@pytest.mark.parametrize("what", ["flush", "stream", "beat", "end"])
async def test_whatever_the_server_raises_means_that_the_client_has_left(error: Exception, what: str) -> None:
    async def send(message: Any) -> None:
        raise error

    exchange = Exchange("POST", "/", {}, [])
    channel = PostChannel(HttpRequest(exchange.scope), send, Form.LATE, status_of=lambda code: 200)
    if what == "stream":
        channel.send(b"{}")
    if what in ("flush", "stream"):
        channel.reply(Reply(b"{}", None))
        await channel.flush()
    elif what == "beat":
        await channel.beat()
    else:
        await channel.end(202)

    assert channel.over


async def test_the_first_of_two_ends_counts() -> None:
    exchange = Exchange("POST", "/", {}, [])
    channel = a_channel(exchange)
    channel.reply(Reply(b"{}", -32601))
    await channel.end(202)
    await channel.flush()
    await channel.flush()
    await channel.end(202)

    assert (exchange.status, exchange.body, exchange.faults) == (404, b"{}", [])


async def test_what_is_queued_goes_out_as_one_chunk() -> None:
    exchange = Exchange("POST", "/", {}, [])
    channel = a_channel(exchange)
    for n in range(3):
        channel.send(b"%d" % n)
    await channel.flush()
    channel.send(b"3")
    channel.reply(Reply(b"4", None))
    await channel.flush()

    assert exchange.chunks == [b"data: 0\n\ndata: 1\n\ndata: 2\n\n", b"data: 3\n\ndata: 4\n\n"]
    assert exchange.over


async def test_nothing_makes_a_handler_wait_but_its_own_reader() -> None:
    channel = a_channel(Exchange("POST", "/", {}, []))
    for _ in range(1000):
        channel.send(b"{}")

    assert not channel.full
    await channel.ready()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_client_that_takes_json_alone_gets_no_stream(revision: str) -> None:
    """Notices are dropped for it, and a question fails and says why."""
    async with serving(make()) as web:
        client = await web.open(revision, {"elicitation": {}})
        client.headers["accept"] = "application/json"
        exchange = await client.tool(1, "progress", meta={"progressToken": 1}, steps=3).ended()
        assert exchange.headers["content-type"] == "application/json"
        assert len(exchange.messages) == 1
        if revision == "2025-11-25":
            assert "single JSON replies" in await client.use(2, "code", message="?")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_client_that_takes_streams_alone_gets_one(revision: str) -> None:
    async with serving(make()) as web:
        client = await web.open(revision)
        client.headers["accept"] = "text/event-stream"
        exchange = await client.tool(1, "echo", text="hi").ended()

        assert exchange.headers["content-type"] == "text/event-stream"
        assert exchange.messages[-1]["result"]["content"][0]["text"] == "hi"
