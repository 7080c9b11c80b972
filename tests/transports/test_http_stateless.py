"""Legacy clients of a server that keeps no sessions: every request is answered by what it brings."""

from __future__ import annotations

import gc
import itertools
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, resource, tool
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Web, refusal, serving

ASKING: dict[str, Any] = {"elicitation": {}}
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
KEY, OTHER = b"k" * 32, "an other key that is long enough, too"
YES = {"action": "accept", "content": {"ok": True}}

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""
revisions = pytest.mark.parametrize("revision", LEGACY)
asking = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])


@asynccontextmanager
async def processes(*keys: Any, server: MCPServer | None = None, **settings: Any) -> AsyncGenerator[list[Web]]:
    """Some servers that know nothing of each other, each with its keys."""
    async with anyio.create_task_group() as group:
        webs: list[Web] = []
        ended = anyio.Event()

        async def one(given: Any, ready: anyio.Event) -> None:
            async with serving(server or make(), stateless=True, state_keys=given, **settings) as web:
                webs.append(web)
                ready.set()
                await ended.wait()

        for given in keys:
            ready = anyio.Event()
            group.start_soon(one, given, ready)
            await ready.wait()
        yield webs
        ended.set()


def elsewhere(client: Client, web: Web) -> Client:
    """The same client, whose requests reach another process from now on."""
    client.app = web.app
    return client


def stateless(server: MCPServer | None = None, **settings: Any) -> Any:
    return serving(server or make(), stateless=True, **settings)


def text(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


def running(web: Web) -> Any:
    return web.app._service()._legacy._running


# Who answers.


@revisions
async def test_any_process_with_the_keys_answers_any_request(revision: str) -> None:
    """B074: round robin, with no affinity."""
    async with processes([KEY], [KEY], [KEY]) as webs:
        client = await webs[0].open(revision)
        for n, web in zip(range(30), itertools.cycle(webs), strict=False):
            assert await elsewhere(client, web).use(n, "echo", text=f"{n}") == f"{n}"


async def test_a_session_outlives_a_restart() -> None:
    async with stateless(state_keys=[KEY]) as web:
        client = await web.open("2025-11-25", ASKING)
    async with stateless(state_keys=[KEY]) as web:
        again = web.client()
        again.headers = client.headers
        call = again.tool(1, "ask", message="Still there?")
        await again.answer((await call.message())["id"], YES)

        assert text(await call.reply()) == "accept {'ok': True}"


async def test_keys_are_changed_one_process_after_the_other() -> None:
    async with processes([KEY], [KEY, OTHER], [OTHER, KEY], [OTHER]) as webs:
        by_old, by_new = await webs[1].open("2025-11-25"), await webs[2].open("2025-11-25")

        statuses = [
            [(await elsewhere(client, web).begin(1, "ping").ended()).status for web in webs]
            for client in (by_old, by_new)
        ]
        assert statuses == [[200, 200, 200, 404], [404, 200, 200, 200]]


async def test_without_keys_a_session_ends_with_its_process() -> None:
    async with processes([], []) as webs:
        client = await webs[0].open("2025-11-25")
        lost = await elsewhere(client, webs[1]).begin(1, "ping").ended()

        assert refusal(lost) == (404, -32600, 1)


@once
@pytest.mark.parametrize("id", ["x", "1.x.y", "1..", "a.b", "." * 30, "\xff", "1." * 4000])
async def test_an_id_that_was_never_given_out_is_one_of_no_session(id: str) -> None:
    """HTTP-44, SEC-01: the same status, the same words."""
    async with serving(make()) as kept, stateless() as web:
        messages: list[Any] = [{"id": 1, "method": "ping"}, {"method": "notifications/x"}, {"id": 1, "result": {}}]
        for message in messages:
            said = [await each.client().say(message, mcp_session_id=id).ended() for each in (kept, web)]

            assert [each.status for each in said] == [404, 404]
            assert said[0].body == said[1].body


@revisions
async def test_the_handshake_is_that_of_a_server_with_sessions(revision: str) -> None:
    """HTTP-40, HTTP-41: an id, of visible ASCII and never the same."""
    async with stateless() as web:
        clients = [await web.open(revision) for _ in range(5)]
        ids = {client.session for client in clients}

        assert len(ids) == 5
        assert all(0x21 <= ord(each) <= 0x7E for id in ids for each in id)
        assert (await clients[0].notify("notifications/unknown")).status == 202
        failed = await web.client().say({"id": 1, "method": "initialize", "params": {}}).ended()
        assert (failed.status, failed.messages[0]["error"]["code"]) == (200, -32602)
        assert "mcp-session-id" not in failed.headers


async def test_a_session_speaks_the_revision_that_it_agreed_on() -> None:
    """HTTP-48, HTTP-49."""
    async with stateless() as web:
        client = await web.open("2025-06-18")

        other = await client.say({"id": 1, "method": "ping"}, mcp_protocol_version="2025-11-25").ended()
        assert refusal(other)[:2] == (400, -32600)
        unsaid = await client.say({"id": 1, "method": "ping"}, without=["mcp-protocol-version"]).ended()
        assert unsaid.messages == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@once
async def test_what_a_handler_sees_of_its_client_is_what_it_said_at_first() -> None:
    server = MCPServer("seen")

    @tool
    async def seen() -> dict[str, Any]:
        context = get_context()
        assert context.client_info is not None
        return {"who": context.client_info.name, "revision": context.revision, "session": context.session_id}

    server.collect(seen)
    async with processes([KEY], [KEY], server=server) as webs:
        client = await webs[0].open("2025-06-18")
        reply = await elsewhere(client, webs[1]).tool(1, "seen").reply()

        assert reply["result"]["structuredContent"] == {
            "who": "raw",
            "revision": "2025-06-18",
            "session": client.session,
        }


# Without even an id.


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_client_that_sends_no_id_is_served(version: str | None) -> None:
    """HTTP-48: by its header, else as 2025-03-26."""
    headers = {} if version is None else {"mcp_protocol_version": version}
    async with stateless() as web:
        client = web.client()
        echoed = await client.say(
            {"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}}, **headers
        ).ended()
        listed = await client.say({"id": 2, "method": "tools/list"}, **headers).ended()

        assert text(echoed.messages[0]) == "hi"
        assert ("title" in listed.messages[0]["result"]["tools"][0]) == ((version or "") >= "2025-06-18")
        assert (await client.say({"method": "notifications/initialized"}, **headers).ended()).status == 202


async def test_a_client_that_sends_no_id_cannot_be_asked() -> None:
    async with stateless() as web:
        call = web.client().tool(1, "code", message="?")

        assert text(await call.reply()) == "-32601 Client does not advertise the elicitation capability"


@once
async def test_batches_are_for_2025_03_26_alone() -> None:
    items = [{"id": 1, "method": "ping"}, {"method": "notifications/x"}, {"id": 2, "method": "ping"}]
    async with stateless() as web:
        taken = await web.client().say(items).ended()
        later = await web.client().say(items, mcp_protocol_version="2025-06-18").ended()
        in_session = await (await web.open("2025-03-26")).say(items).ended()

        assert [reply["id"] for reply in taken.messages[0]] == [1, 2]
        assert refusal(later) == (400, -32600, None)
        assert [reply["id"] for reply in in_session.messages[0]] == [1, 2]


@once
async def test_a_server_that_keeps_sessions_wants_their_ids() -> None:
    """HTTP-43: nothing is answered without one, whatever the header says."""
    async with serving(make()) as web:
        for headers in ({}, {"mcp_protocol_version": "2025-03-26"}, {"mcp_protocol_version": "2025-11-25"}):
            assert refusal(await web.client().say({"id": 1, "method": "ping"}, **headers).ended()) == (400, -32600, 1)


# Questions.


@asking
async def test_a_question_comes_on_the_stream_of_its_call_and_is_answered_by_a_post(revision: str) -> None:
    """HTTP-12, HTTP-17."""
    async with stateless() as web:
        client = await web.open(revision, ASKING)
        call = client.tool(1, "ask", message="Sure?")
        question = await call.message()
        taken = await client.answer(question["id"], YES)

        assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Sure?")
        assert (taken.status, taken.body) == (202, b"")
        assert text(await call.reply()) == "accept {'ok': True}"
        assert len(running(web)) == 0


async def test_questions_in_turn_and_at_once_find_their_answers() -> None:
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        turns = client.tool(1, "ask_in_turn", times=5)
        for _ in range(5):
            await client.answer((await turns.message())["id"], YES)
        at_once = client.tool(2, "ask_at_once", times=10)
        questions = [await at_once.message() for _ in range(10)]
        for question in reversed(questions):
            await client.answer(question["id"], {"action": "decline"})

        assert (await turns.reply())["result"]["structuredContent"]["result"] == [True] * 5
        assert (await at_once.reply())["result"]["structuredContent"]["result"] == ["decline"] * 10


async def test_nobody_guesses_the_id_of_a_question() -> None:
    async with stateless() as web:
        clients = [await web.open("2025-11-25", ASKING) for _ in range(20)]
        calls = [client.tool(1, "ask", message="?") for client in clients]
        ids = [(await call.message())["id"] for call in calls]

        assert all(isinstance(id, str) and len(id) > 24 for id in ids)
        assert len({id.split(".")[1] for id in ids}) == 20
        for id in (1, "1", ids[0][:-1], ids[0] + "1", "", "." * 5):
            await clients[1].answer(id, YES)
        assert len(running(web)) == 20


async def test_an_error_in_reply_to_a_question_is_raised_where_it_was_asked() -> None:
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "code", message="?")
        id = (await call.message())["id"]
        await client.say({"id": id, "error": {"code": -7, "message": "no"}}).ended()

        assert text(await call.reply()) == "-7 no"


async def test_an_answer_that_comes_too_late_is_taken_and_has_no_effect() -> None:
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "ask", message="?")
        id = (await call.message())["id"]

        assert [(await client.answer(id, YES)).status for _ in range(2)] == [202, 202]
        await call.ended()
        assert (await client.answer(id, YES)).status == 202


async def test_an_answer_that_another_process_waits_for_is_refused() -> None:
    """HTTP-13: taken, it would be lost, and its call would wait in vain."""
    async with processes([KEY], [KEY]) as webs:
        client = await webs[0].open("2025-11-25", ASKING)
        call = client.tool(1, "ask", message="?")
        id = (await call.message())["id"]
        astray = await elsewhere(client, webs[1]).answer(id, YES)
        await elsewhere(client, webs[0]).answer(id, YES)

        assert refusal(astray) == (400, -32600, None)
        assert "affinity" in astray.messages[0]["error"]["message"]
        assert text(await call.reply()) == "accept {'ok': True}"


async def test_an_answer_in_a_batch_is_found_too() -> None:
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "code", message="?")
        first = await call.message()
        no = {"id": first["id"], "error": {"code": -7, "message": "no"}}
        batch = web.client().say([no, {"id": 5, "method": "ping"}])

        assert [reply["id"] for reply in (await batch.reply())] == [5]
        assert text(await call.reply()) == "-7 no"


async def test_a_timeout_calls_the_question_back() -> None:
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "code", message="?", timeout=0.01)
        question, back = await call.message(), await call.message()

        assert (back["method"], back["params"]["requestId"]) == ("notifications/cancelled", question["id"])
        assert text(await call.reply()) == "-32603 elicitation request timed out"


async def test_single_json_replies_have_no_room_for_questions() -> None:
    async with stateless(json_only=True) as web:
        client = await web.open("2025-11-25", ASKING)

        assert (await client.use(1, "code", message="?")).startswith("-32601 ")


# Cancellation, and clients that leave.


@revisions
async def test_a_cancellation_finds_its_call(revision: str) -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open(revision)
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        cancelled = await client.notify("notifications/cancelled", requestId=1)
        await story.until("a over")

        assert cancelled.status == 202
        assert "a cancelled" in story.told
        await call.ended()
        assert (call.status, call.body, len(running(web))) == (202, b"", 0)


async def test_a_cancellation_calls_the_open_question_back() -> None:
    """B049."""
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool("a", "ask", message="?")
        question = await call.message()
        await client.notify("notifications/cancelled", requestId="a")
        await call.ended()

        assert [each["method"] for each in call.messages] == ["elicitation/create", "notifications/cancelled"]
        assert call.messages[1]["params"]["requestId"] == question["id"]


async def test_nobody_cancels_the_calls_of_others() -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client, other = await web.open("2025-11-25"), await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        anonymous = web.client().tool(1, "hold", key="b")
        await story.until("b began")
        await other.notify("notifications/cancelled", requestId=1)
        await client.notify("notifications/cancelled", requestId="1")
        await web.client().say({"method": "notifications/cancelled", "params": {"requestId": 1}}).ended()
        story.tell("release a")
        story.tell("release b")

        assert (text(await call.reply()), text(await anonymous.reply())) == ("a", "b")


async def test_one_call_of_a_batch_can_be_cancelled() -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open("2025-03-26")
        hold = {"method": "tools/call", "params": {"name": "hold", "arguments": {"key": "a"}}}
        gone = {"method": "notifications/cancelled", "params": {"requestId": 2}}
        batch = client.say([{"id": 1, **hold}, {"id": 2, **hold}, gone, {"id": 3, **hold}])
        await story.until("a began")
        await client.notify("notifications/cancelled", requestId=3)
        story.tell("release a")

        assert [reply["id"] for reply in await batch.reply()] == [1]
        assert len(running(web)) == 0


async def test_a_client_that_leaves_cancels_nothing() -> None:
    """HTTP-20."""
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        call.leave()
        await call.done()
        story.tell("release a")
        await story.until("a over")

        assert "a cancelled" not in story.told


async def test_a_client_that_has_left_can_still_cancel() -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        call.leave()
        await call.done()
        await client.notify("notifications/cancelled", requestId=1)
        await story.until("a cancelled")

        assert len(running(web)) == 0


@pytest.mark.parametrize("found_out", [True, False], ids=["by what was sent", "by being told"])
async def test_a_client_that_leaves_is_asked_no_more(*, found_out: bool) -> None:
    """Its stream cannot be resumed, so no answer would be of use to anybody."""
    story = Story()
    async with stateless(make(story=story), keep_alive_seconds=0.005) as web:
        client = await web.open("2025-11-25", ASKING)
        call = client.tool(1, "ask", message="?")
        await call.message()
        if found_out:
            call.break_off()
            await call.until(lambda: call.refused)
        call.leave()
        await story.until("? over")
        await call.done()

        assert len(running(web)) == 0


@once
async def test_clients_that_leave_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """B083."""
    async with stateless() as web:
        client = await web.open("2025-11-25", ASKING)
        for n in range(50):
            call = client.tool(n, "ask", message="?")
            await call.message()
            call.leave()
            await call.done()
        assert await client.use(99, "echo", text="here") == "here"

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# What needs something kept.


@once
@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
async def test_there_is_no_stream_and_no_end_of_a_session(verb: str) -> None:
    """HTTP-27, HTTP-46."""
    async with stateless() as web:
        client = await web.open("2025-11-25")
        refused = await client.send(verb).ended()

        assert refused.status == 405
        assert "POST" in refused.headers["allow"]
        assert await client.use(1, "echo", text="here") == "here"


def changing() -> MCPServer:
    server = MCPServer("changing")

    @resource("r://1")
    def one() -> str:
        return "1"

    server.collect(one)
    return server


@once
async def test_what_could_not_be_told_is_not_offered() -> None:
    """RES-01."""
    async with stateless(changing()) as web:
        agreed = (await web.client().initialize("2025-11-25")).messages[0]["result"]["capabilities"]
        client = await web.open("2025-11-25")
        replies = [await client.call(1, f"resources/{verb}", uri="r://1") for verb in ("subscribe", "unsubscribe")]

        assert agreed["resources"] == {}
        assert [reply["error"]["code"] for reply in replies] == [-32601, -32601]
        assert len(client.app._application._server.listeners) == 0


@once
async def test_a_log_level_that_cannot_be_kept_is_refused() -> None:
    """LOG-02: the server picks one, and what is asked for beyond that is an error, not a promise."""
    async with stateless() as web:
        client = await web.open("2025-11-25")
        same = await client.call(1, "logging/setLevel", level="info")
        other = await client.call(2, "logging/setLevel", level="error")
        logged = await client.tool(3, "logs", upto=3).ended()

        assert same["result"] == {}
        assert other["error"]["code"] == -32603
        assert "'info'" in other["error"]["message"]
        assert [each["params"]["level"] for each in logged.messages[:-1]] == ["info", "notice"]


async def test_progress_travels_on_the_stream_of_its_call() -> None:
    async with stateless() as web:
        client = await web.open("2025-06-18")
        call = await client.tool(1, "progress", {"progressToken": "p"}, steps=3).ended()

        assert [each.get("method") for each in call.messages] == ["notifications/progress"] * 3 + [None]
        assert [event.id for event in call.events] == [None] * 4


async def test_modern_clients_are_served_as_ever() -> None:
    async with stateless() as web:
        client = await web.open(MODERN)

        assert await client.use(1, "echo", text="modern") == "modern"


# Bounds, and the end.


async def test_one_call_too_many_is_refused_until_one_ends() -> None:
    story = Story()
    async with stateless(make(story=story), max_sessions=2) as web:
        client = await web.open("2025-11-25")
        calls = [client.tool(n, "hold", key="a") for n in range(2)]
        await anyio.wait_all_tasks_blocked()
        refused = await client.begin(3, "ping").ended()
        story.tell("release a")
        for call in calls:
            await call.ended()

        assert refusal(refused) == (503, -32603, 3)
        assert await client.use(4, "echo", text="again") == "again"


async def test_running_calls_end_with_the_server() -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open("2025-11-25")
        silent, loud = client.tool(1, "hold", key="a"), client.tool(2, "hold", key="b")
        await story.until("a began")
        await story.until("b began")
        loud.leave()
        await web.app.aclose()

        assert (await silent.ended()).status == 503
        assert {"a cancelled", "b cancelled"} <= set(story.told)
        assert len(running(web)) == 0


async def test_a_call_is_given_its_time_at_the_end_of_the_server() -> None:
    story = Story()
    async with stateless(make(story=story)) as web:
        client = await web.open("2025-11-25")
        call = client.tool(1, "hold", key="a")
        await story.until("a began")
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await anyio.wait_all_tasks_blocked()
            story.tell("release a")

        assert text(await call.reply()) == "a"


async def test_ten_thousand_sessions_leave_nothing_behind(anyio_backend: str) -> None:
    """B068: objects, not megabytes."""
    async with stateless() as web:
        client = await web.open("2025-11-25")
        await client.use(0, "echo", text="warm")
        gc.collect()
        before = len(gc.get_objects())
        for n in range(10_000 if anyio_backend == "asyncio" else 200):
            client.headers["mcp-session-id"] = (await client.initialize("2025-11-25")).headers["mcp-session-id"]
            if n % 100 == 0:
                await client.use(n, "echo", text="hi")
        gc.collect()

        assert len(running(web)) == 0
        assert len(gc.get_objects()) - before < 500


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([b"short"], r"state_keys\[0\] has 5 bytes; 32 are the least"),
        ([KEY, "x" * 31], r"state_keys\[1\] has 31 bytes"),
        (b"k" * 64, "a list of keys"),
        ("k" * 64, "a list of keys"),
        ([7], r"state_keys\[0\] must be bytes or str, not int"),
    ],
)
def test_keys_that_are_none_are_refused(keys: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make().asgi_app(stateless=True, state_keys=keys)


def test_keys_are_never_shown() -> None:
    assert "kkkk" not in repr(HttpSettings(state_keys=[KEY]))


@pytest.mark.parametrize(("given", "used"), [({}, KEY), ({"state_keys": [OTHER]}, OTHER)])
def test_the_keys_of_a_server_are_those_of_its_application(given: dict[str, Any], used: bytes | str) -> None:
    app: Any = MCPServer("keys", state_keys=[KEY]).asgi_app(stateless=True, **given)

    assert list(app._settings.state_keys) == [used]
