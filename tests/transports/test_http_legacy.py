"""What only sessions have: the stand-alone stream, questions to the client, and streams that are resumed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import get_context, tool
from dedalus_mcp_transports.event_log import EventLog, MemoryEventLog
from dedalus_mcp_transports.http_legacy import MAX_WAITING, MAX_WAITING_BYTES, SessionStream
from dedalus_mcp_transports.http_life import Pulse
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, Web, serving

ASKING: dict[str, Any] = {"elicitation": {}}
LEGACY = ("2025-06-18", "2025-11-25")

revisions = pytest.mark.parametrize("revision", LEGACY)


# Questions.


@revisions
async def test_a_question_comes_on_the_stream_of_its_call_and_is_answered_by_a_post(revision: str) -> None:
    """B010, HTTP-12, HTTP-17; the client never opens a GET stream."""
    async with serving(make()) as web:
        client = await web.open(revision, ASKING)
        call = client.tool(1, "ask", message="Sure?")
        question = await call.message()
        taken = await client.answer(question["id"], {"action": "accept", "content": {"ok": True}})

        assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Sure?")
        assert (taken.status, taken.body) == (202, b"")
        assert (await call.reply())["result"]["content"][0]["text"] == "accept {'ok': True}"


@revisions
async def test_a_question_never_goes_to_an_open_stream_of_the_session(revision: str) -> None:
    """HTTP-29, HTTP-30."""
    async with serving(make()) as web:
        client = await web.open(revision, ASKING)
        stream = await client.get()
        call = client.tool(1, "ask", message="?")
        await client.answer((await call.message())["id"], {"action": "decline"})
        await call.ended()

        assert stream.messages == []


async def test_the_answers_of_one_session_settle_no_questions_of_another() -> None:
    async with serving(make()) as web:
        clients = [await web.open("2025-11-25", ASKING) for _ in range(3)]
        calls = [client.tool(1, "ask", message=f"m{n}") for n, client in enumerate(clients)]
        questions = [await call.message() for call in calls]
        assert len({question["id"] for question in questions}) == 1  # so only the session tells them apart
        for n in (2, 0, 1):
            await clients[n].answer(questions[n]["id"], {"action": "accept", "content": {"ok": n == 1}})

        for n, call in enumerate(calls):
            assert str(n == 1) in (await call.reply())["result"]["content"][0]["text"]


async def test_many_questions_at_once_travel_on_one_stream() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "ask_at_once", times=10)
        questions = [await call.message() for _ in range(10)]
        for question in reversed(questions):
            await client.answer(question["id"], {"action": "decline"})

        assert (await call.reply())["result"]["structuredContent"]["result"] == ["decline"] * 10


async def test_a_question_whose_call_is_cancelled_is_called_back() -> None:
    """B049."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "ask", message="q")
        question = await call.message()
        await client.notify("notifications/cancelled", requestId=1)
        await story.until("q over")
        await call.ended()

        assert (await client.answer(question["id"], {"action": "decline"})).status == 202
        assert await client.use(1, "echo", text="alive") == "alive"


async def test_a_client_that_cannot_be_asked_is_not() -> None:
    async with serving(make()) as web:
        assert str(await (await web.open("2025-11-25")).use(1, "code", message="?")).startswith("-32601")


# The stand-alone stream.


async def in_front_of(client: Client, *frames: bytes) -> SessionStream:
    """The stream of a session, with something queued on it."""
    service = client.app._service()
    session = service._legacy._sessions.get(client.session, None, anyio.current_time())
    stream: SessionStream = session.stream
    for frame in frames:
        stream.send(frame)
    return stream


@revisions
async def test_what_came_before_the_stream_was_opened_is_sent_first_in_order(revision: str) -> None:
    """HTTP-26, HTTP-27, B092."""
    async with serving(make()) as web:
        client = await web.open(revision)
        stream = await in_front_of(client, b'{"n":0}', b'{"n":1}')
        exchange = await client.get()
        await exchange.until(lambda: len(exchange.messages) == 2)
        stream.send(b'{"n":2}')
        await exchange.until(lambda: len(exchange.messages) == 3)

        assert (exchange.status, exchange.headers["content-type"]) == (200, "text/event-stream")
        assert exchange.headers["x-accel-buffering"] == "no"
        assert [message["n"] for message in exchange.messages] == [0, 1, 2]
        assert not exchange.over


@revisions
async def test_changes_before_the_stream_was_opened_are_told_once_it_is(revision: str) -> None:
    """B092: each kind once, whoever has changed what in the meantime."""
    server = make()
    async with serving(server) as web:
        client = await web.open(revision)

        @tool
        async def another() -> None: ...

        server.collect(another)
        assert await client.use(1, "echo", text="on") == "on"
        stream = await client.get()
        told = await stream.message()
        assert told["method"] == "notifications/tools/list_changed"
        assert await client.use(2, "echo", text="on") == "on"

        assert stream.messages == [told]


async def test_what_waits_for_a_stream_that_is_never_opened_is_bounded() -> None:
    """B092."""
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        await in_front_of(client, *[b'{"n":%d}' % n for n in range(MAX_WAITING + 10)])
        exchange = await client.get()
        await exchange.until(lambda: len(exchange.messages) == MAX_WAITING)

        assert [message["n"] for message in exchange.messages] == list(range(10, MAX_WAITING + 10))


async def test_what_waits_for_a_stream_is_bounded_in_bytes_but_the_newest_is_never_dropped() -> None:
    """A client chooses how long the URIs are that it hears of."""
    longest = b'{"n":3,"x":"%b"}' % (b"x" * 2 * MAX_WAITING_BYTES)
    long = [b'{"n":%d,"x":"%b"}' % (n, b"x" * (MAX_WAITING_BYTES // 2)) for n in range(3)]
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        stream = await in_front_of(client, *long)
        kept = [frame[:6] for frame in stream._waiting]  # pyright: ignore[reportPrivateUsage]
        await in_front_of(client, longest)
        exchange = await client.get()
        await exchange.until(lambda: len(exchange.messages) == 1)
        await in_front_of(client, *long[:1])
        await exchange.until(lambda: len(exchange.messages) == 2)

        assert kept == [b'{"n":2']
        assert [message["n"] for message in exchange.messages] == [3, 0]


async def test_a_session_has_one_stream_and_another_after_it() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        first = await client.get()
        second = await client.get()
        assert (second.status, second.messages[0]["error"]["code"]) == (409, -32600)
        first.leave()
        await first.done()
        stream = await in_front_of(client, b"{}")
        third = await client.get()
        await third.until(lambda: third.messages)

        assert (third.status, stream.open, stream.takes_calls) == (200, True, True)


async def test_the_streams_of_sessions_do_not_mix() -> None:
    """HTTP-30."""
    async with serving(make()) as web:
        clients = [await web.open("2025-11-25") for _ in range(3)]
        streams = [await client.get() for client in clients]
        for n, client in enumerate(clients):
            await in_front_of(client, b'{"n":%d}' % n)
        for n, stream in enumerate(streams):
            assert await stream.message() == {"n": n}
            assert len(stream.messages) == 1


async def test_a_silent_stream_is_kept_alive() -> None:
    """HTTP-24, B082: by comments; no ping is sent that a client might not answer."""
    async with serving(make(), keep_alive_seconds=0.005) as web:
        exchange = await (await web.open("2025-11-25")).get()
        await exchange.until(lambda: exchange.comments >= 4)

        assert exchange.messages == []


async def test_a_stream_ends_with_its_session() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        exchange = await client.get()
        await client.delete()

        assert (await exchange.ended()).status == 200


async def test_a_stream_whose_reader_reads_nothing_is_bounded() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        exchange = await client.get()
        exchange.stall()
        stream = await in_front_of(client, *[b'{"n":%d}' % n for n in range(10 * MAX_WAITING)])

        assert len(stream._waiting) <= MAX_WAITING  # pyright: ignore[reportPrivateUsage]
        assert await client.use(1, "echo", text="quick") == "quick"


@pytest.mark.parametrize(("accept", "status"), [("application/json", 406), ("text/event-stream", 200), ("*/*", 200)])
async def test_who_opens_a_stream_reads_streams(accept: str, status: int) -> None:
    """HTTP-26."""
    async with serving(make()) as web:
        assert (await (await web.open("2025-11-25")).get(accept=accept)).status == status


async def test_a_reader_whose_connection_breaks_has_left() -> None:
    stream = SessionStream()

    async def send(message: Any) -> None:
        raise anyio.BrokenResourceError

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    with anyio.fail_after(20):
        await stream.serve(receive, send, Pulse(1.0))

    assert not stream.open


# Resuming.


def stepping(story: Story) -> Any:
    """A server with a tool that takes ten steps, each when it is told to."""
    server = make(story=story)
    with server.binding():

        @tool
        async def steps(key: str, free: int = 0) -> str:
            context = get_context()
            for n in range(1, 11):
                story.tell(f"{key} ready {n}")
                await story.until(f"{key} go {n}")
                await context.report_progress(n, total=10)
            story.tell(f"{key} done")
            return key

    return server


def go(story: Story, key: str, *steps: int) -> None:
    for n in steps:
        story.tell(f"{key} go {n}")


def numbers(exchange: Exchange) -> list[Any]:
    """The progress in it, and the ids of its replies."""
    return [
        message["params"]["progress"] if "method" in message else f"#{message['id']}" for message in exchange.messages
    ]


async def until_there_are(exchange: Exchange, messages: int) -> None:
    await exchange.until(lambda: len(exchange.messages) == messages)


async def start(web: Web, story: Story, revision: str = "2025-11-25") -> tuple[Client, Exchange, Exchange]:
    """Two calls at the same time, each of them at its third step."""
    client = await web.open(revision)
    calls = [
        client.begin(id, "tools/call", name="steps", arguments={"key": f"s{id}"}, _meta={"progressToken": id})
        for id in (1, 2)
    ]
    for id, call in enumerate(calls, 1):
        go(story, f"s{id}", 1, 2, 3)
        await until_there_are(call, 3)
    return client, calls[0], calls[1]


@revisions
@pytest.mark.parametrize("read", [0, 1, 2])
async def test_a_resumed_stream_brings_what_was_missed_and_goes_on(revision: str, read: int) -> None:
    """HTTP-35, B085; what belongs to the other stream is not in it."""
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, second = await start(web, story, revision)
        first.leave()
        await first.done()
        go(story, "s1", 4, 5)
        await story.until("s1 ready 6")
        last = [event for event in first.events if event.is_message][read].id
        again = await client.get(last_event_id=str(last))
        await again.until(lambda: len(again.messages) == 4 - read)
        go(story, "s1", *range(6, 11))
        go(story, "s2", *range(4, 11))

        assert (await again.reply())["id"] == 1
        assert numbers(again) == [*range(read + 2, 11), "#1"]
        assert again.headers["content-type"] == "text/event-stream"
        assert (await second.reply())["id"] == 2
        assert numbers(second) == [*range(1, 11), "#2"]


async def test_a_stream_can_be_resumed_from_its_priming_event() -> None:
    """HTTP-36."""
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, _ = await start(web, story)
        first.leave()
        go(story, "s1", *range(4, 11))
        await story.until("s1 done")
        again = await client.get(last_event_id=str(first.events[0].id))

        assert (await again.reply())["id"] == 1
        assert numbers(again) == [*range(1, 11), "#1"]


async def test_a_call_that_is_over_leaves_its_rest_to_be_had_more_than_once() -> None:
    """B047, B085."""
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, _ = await start(web, story)
        first.leave()
        await first.done()
        go(story, "s1", *range(4, 11))
        await story.until("s1 done")
        last = str(first.events[-1].id)
        for again in (await client.get(last_event_id=last), await client.get(last_event_id=last)):
            assert (await again.reply())["id"] == 1
            assert numbers(again) == [*range(4, 11), "#1"]
            last = str(again.events[-1].id)
        nothing = await client.get(last_event_id=last)

        assert (await nothing.ended()).body == b""


async def test_a_stream_is_resumed_while_the_server_still_thinks_it_is_read() -> None:
    """The old connection's end comes late: it must not end the new one, which is the call's now."""
    story = Story()
    async with serving(stepping(story), keep_alive_seconds=0.005) as web:
        client, first, _ = await start(web, story)
        again = await client.get(last_event_id=str(first.events[-1].id))
        await first.ended()  # its response is completed: nothing will come there
        await again.until(lambda: again.comments)
        third = await client.get(last_event_id=str(first.events[-1].id))
        again.leave()
        await again.done()
        comments = third.comments
        await third.until(lambda: third.comments > comments)
        go(story, "s1", *range(4, 11))

        assert (await third.reply())["id"] == 1
        assert numbers(third) == [*range(4, 11), "#1"]
        assert numbers(first) == [1, 2, 3]


async def test_a_stream_is_resumed_while_its_old_reader_reads_nothing() -> None:
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, _ = await start(web, story)
        first.stall()
        go(story, "s1", 4)
        await story.until("s1 ready 4")
        again = await client.get(last_event_id=str(first.events[-1].id))
        await again.until(lambda: again.messages)
        first.leave()
        go(story, "s1", *range(5, 11))

        assert (await again.reply())["id"] == 1
        assert numbers(again) == [*range(4, 11), "#1"]


async def test_what_comes_while_the_missed_part_is_sent_is_not_lost() -> None:
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, _ = await start(web, story)
        first.leave()
        await first.done()
        last = str(first.events[0].id)
        again = client.send("GET", last_event_id=last)
        again.stall()
        await anyio.wait_all_tasks_blocked()
        go(story, "s1", *range(4, 11))
        await anyio.wait_all_tasks_blocked()
        again.go_on()

        assert (await again.reply())["id"] == 1
        assert numbers(again) == [*range(1, 11), "#1"]


async def test_a_stream_that_is_taken_over_while_it_is_resumed_begins_and_ends_once_everywhere() -> None:
    """What was meant for one connection is never said on another, nor out of its order."""
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, _ = await start(web, story)
        first.leave()
        await first.done()
        readers: list[Exchange] = []
        for _ in range(3):  # each takes over before the response of the one before could begin
            readers.append(client.send("GET", last_event_id=str(first.events[0].id)))
            readers[-1].stall()
            await anyio.wait_all_tasks_blocked()
        for reader in reversed(readers):
            reader.go_on()
            await anyio.wait_all_tasks_blocked()
        go(story, "s1", *range(4, 11))

        for reader in readers:
            await reader.ended()
        assert numbers(readers[-1]) == [*range(1, 11), "#1"]
        assert [numbers(reader) for reader in readers[:-1]] == [[], []]  # the last one has it all


async def test_a_question_can_be_answered_after_its_stream_was_resumed() -> None:
    async with serving(make()) as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "ask", message="?")
        await call.message()
        call.leave()
        await call.done()
        again = await client.get(last_event_id=str(call.events[0].id))
        question = await again.message()
        await client.answer(question["id"], {"action": "decline"})

        assert (await again.reply())["result"]["content"][0]["text"] == "decline None"


@pytest.mark.parametrize("id", ["", "x", "1", "1_", "1_999", "9_1", "1_1_1", "1_٣", "é", "0" * 5000])
async def test_an_event_that_is_not_known_is_refused(id: str) -> None:
    """B085."""
    async with serving(make()) as web:
        client = await web.open("2025-11-25")
        await client.begin(1, "tools/call", name="progress", arguments={"steps": 1}).ended()
        raw = Exchange("GET", "/mcp", client.headers, [])
        raw.scope["headers"].append((b"last-event-id", id.encode()))
        await raw.run(web.app)

        assert (raw.status, raw.messages[0]["error"]["code"]) == (400, -32600)
        assert await client.use(2, "echo", text="alive") == "alive"


async def test_the_streams_of_another_session_cannot_be_resumed() -> None:
    story = Story()
    async with serving(stepping(story)) as web:
        _, first, _ = await start(web, story)
        other = await web.open("2025-11-25")

        assert (await other.get(last_event_id=str(first.events[0].id))).status == 400


async def test_without_a_log_nothing_is_resumed() -> None:
    async with serving(make(), event_log=None) as web:
        client = await web.open("2025-11-25")
        exchange = client.begin(1, "tools/call", name="progress", arguments={"steps": 1}, _meta={"progressToken": 1})
        await exchange.ended()

        assert {event.id for event in exchange.events} == {None}
        assert (await client.get(last_event_id="1_1")).status == 400


async def test_a_session_whose_calls_are_answered_with_json_keeps_no_log() -> None:
    async with serving(make(), event_log=lambda: pytest.fail("there is no event")) as web:
        client = await web.open("2025-11-25")

        assert await client.use(1, "echo", text="hi") == "hi"


async def test_a_call_with_more_events_than_are_kept_refuses_what_it_has_dropped() -> None:
    """B085; the log is bounded whatever the call does."""
    logs: list[MemoryEventLog] = []

    def make_log() -> EventLog:
        logs.append(MemoryEventLog(max_events=100))
        return logs[-1]

    async with serving(make(), event_log=make_log) as web:
        client = await web.open("2025-11-25")
        call = {"name": "progress", "arguments": {"steps": 1000}, "_meta": {"progressToken": 1}}
        exchange = await client.begin(1, "tools/call", call).ended()
        ids = [str(event.id) for event in exchange.events]
        rest = await client.get(last_event_id=ids[-5])

        assert numbers(await rest.ended()) == [998, 999, 1000, "#1"]
        assert (await client.get(last_event_id=ids[0])).status == 400
        assert len(logs) == 1


async def test_a_call_whose_session_ends_before_its_first_step_is_answered() -> None:
    async with serving(make(story=Story())) as web:
        client = await web.open("2025-11-25")
        call, end = client.tool(1, "hold", key="a"), client.send("DELETE")
        await end.ended()
        await call.ended()

        assert (end.status, call.status) in ((204, 410), (204, 404))  # on trio, either may come first


async def test_a_reader_that_reads_nothing_does_not_hold_up_the_end_of_its_session() -> None:
    """Nor do its other streams stay open if the connection that ended it is gone at once."""
    story = Story()
    async with serving(make(story=story), always_stream=True, keep_alive_seconds=0.005) as web:
        client = await web.open("2025-11-25")
        stalled, read = client.tool(1, "hold", key="a"), client.tool(2, "hold", key="b")
        await stalled.started()
        stalled.stall()
        await read.started()
        end = await client.delete()
        await read.ended()
        stalled.go_on()
        await stalled.ended()

        assert end.status == 204
        assert "a cancelled" in story.told


async def test_a_session_forgets_its_streams_when_their_calls_are_over() -> None:
    story = Story()
    async with serving(stepping(story)) as web:
        client, first, second = await start(web, story)
        session = web.app._service()._legacy._sessions.get(client.session, None, anyio.current_time())
        assert len(session._running) == 2
        first.leave()
        await first.done()
        go(story, "s1", *range(4, 11))
        go(story, "s2", *range(4, 11))
        await second.ended()
        await story.until("s1 done")
        await session.receiver.idle()

        assert not session._running


# Resuming the stand-alone stream.


async def opened(web: Web, *frames: bytes, revision: str = "2025-11-25") -> tuple[Client, Exchange, SessionStream]:
    """A session whose stream is read, and has brought something."""
    client = await web.open(revision)
    stream = await in_front_of(client, *frames)
    exchange = await client.get()
    await exchange.until(lambda: len(exchange.messages) == len(frames))
    return client, exchange, stream


async def test_the_stand_alone_stream_begins_with_an_id() -> None:
    """HTTP-36: from which it can be resumed, before there was any message; older clients know no such event."""
    async with serving(make(), retry_milliseconds=700) as web:
        _, newest, _ = await opened(web)
        _, older, _ = await opened(web, revision="2025-06-18")
        await newest.until(lambda: newest.events)

        assert (newest.events[0].data, newest.events[0].id is not None) == (b"", True)
        assert b"retry: 700" in newest.body
        assert older.events == []


@revisions
@pytest.mark.parametrize("read", [0, 1, 2])
async def test_a_resumed_stand_alone_stream_brings_what_was_missed_and_goes_on(revision: str, read: int) -> None:
    """HTTP-32, HTTP-33, HTTP-35."""
    async with serving(make()) as web:
        client, first, stream = await opened(web, b'{"n":0}', b'{"n":1}', b'{"n":2}', revision=revision)
        first.leave()
        await first.done()
        stream.send(b'{"n":3}')
        last = [event for event in first.events if event.is_message][read].id
        again = await client.get(last_event_id=str(last))
        await again.until(lambda: len(again.messages) == 3 - read)
        stream.send(b'{"n":4}')
        await again.until(lambda: len(again.messages) == 4 - read)

        assert [message["n"] for message in again.messages] == list(range(read + 1, 5))
        ids = [event.id for event in (*first.events, *again.events) if event.is_message]
        assert None not in ids
        assert len(set(ids)) == 5


async def test_the_stand_alone_stream_can_be_resumed_from_its_priming_event() -> None:
    """HTTP-36."""
    async with serving(make()) as web:
        client, first, stream = await opened(web)
        await first.until(lambda: first.events)
        first.leave()
        await first.done()
        stream.send(b'{"n":0}')
        again = await client.get(last_event_id=str(first.events[0].id))

        assert await again.message() == {"n": 0}


async def test_the_stand_alone_stream_is_resumed_while_its_old_reader_reads_nothing() -> None:
    """The old connection's end comes late, and takes nothing from the new one."""
    async with serving(make()) as web:
        client, first, stream = await opened(web, b'{"n":0}')
        first.stall()
        stream.send(b'{"n":1}')
        await anyio.wait_all_tasks_blocked()
        again = await client.get(last_event_id=str(first.events[-1].id))
        await again.until(lambda: len(again.messages) == 1)
        first.leave()
        await first.done()
        stream.send(b'{"n":2}')
        await again.until(lambda: len(again.messages) == 2)

        assert [message["n"] for message in again.messages] == [1, 2]
        assert stream.open


async def test_the_old_reader_of_a_resumed_stand_alone_stream_is_let_go() -> None:
    async with serving(make()) as web:
        client, first, stream = await opened(web, b'{"n":0}')
        again = await client.get(last_event_id=str(first.events[-1].id))
        await first.ended()
        stream.send(b'{"n":1}')

        assert await again.message() == {"n": 1}
        assert len(first.messages) == 1


async def test_a_stand_alone_stream_brings_nothing_of_calls() -> None:
    """HTTP-28, HTTP-35: nor is it resumed with what belongs to a call."""
    story = Story()
    async with serving(stepping(story)) as web:
        client, call, _ = await start(web, story)
        alone = await client.get()
        stream = await in_front_of(client, b'{"n":0}')
        await alone.until(lambda: alone.messages)
        alone.leave()
        await alone.done()
        stream.send(b'{"n":1}')
        resumed = await client.get(last_event_id=str(alone.events[-1].id))
        go(story, "s1", *range(4, 11))
        await call.ended()
        await resumed.until(lambda: resumed.messages)

        assert alone.messages == [{"n": 0}]
        assert resumed.messages == [{"n": 1}]


async def test_without_a_log_the_stand_alone_stream_has_no_ids() -> None:
    async with serving(make(), event_log=None) as web:
        client, first, stream = await opened(web, b'{"n":0}')
        first.leave()
        await first.done()
        stream.send(b'{"n":1}')

        assert [event.id for event in first.events] == [None]
        assert (await client.get(last_event_id="1_1")).status == 400
        assert await (await client.get()).message() == {"n": 1}
