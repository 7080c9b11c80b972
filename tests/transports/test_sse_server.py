"""HTTP+SSE, the transport of 2024-11-05: a stream, and the endpoint that it names."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp_transports.http_request import HttpRequest
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.pair_stream import MAX_BEHIND, MAX_QUEUED, PairStream
from tests.interaction.raw import INFO
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, Web, refusal, serving

ASKING: dict[str, Any] = {"elicitation": {}}
ALL = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
YES = {"action": "accept", "content": {"ok": True}}

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""


class Pair:
    """Somebody who speaks HTTP+SSE."""

    def __init__(self, client: Client, stream: Exchange) -> None:
        self.client = client
        self.stream = stream
        self._read = 0

    @property
    def uri(self) -> str:
        """The endpoint, as it was announced."""
        return self.stream.events[0].data.decode()

    def post(self, *body: bytes, uri: str | None = None, **more: Any) -> Exchange:
        """Send something to the endpoint."""
        return self.client.send("POST", *body, path=uri or self.uri, **more)

    def say(self, message: Any, **more: Any) -> Exchange:
        """Send a message."""
        return self.post(json.dumps({"jsonrpc": "2.0", **message}).encode(), **more)

    async def hear(self) -> dict[str, Any]:
        """The next message on the stream."""
        await self.stream.until(lambda: len(self._messages()) > self._read)
        self._read += 1
        return dict(self._messages()[self._read - 1])

    def _messages(self) -> list[Any]:
        return [json.loads(event.data) for event in self.stream.events if event.is_message]

    async def call(self, id: Any, method: str, **params: Any) -> dict[str, Any]:
        """Make a call and return what comes next."""
        assert (await self.say({"id": id, "method": method, "params": params}).ended()).status == 202
        return await self.hear()

    async def use(self, id: Any, name: str, /, **arguments: Any) -> str:
        """Call a tool and return the text of its result."""
        return text(await self.call(id, "tools/call", name=name, arguments=arguments))

    async def handshake(self, revision: str, capabilities: dict[str, Any] | None = None) -> Pair:
        """Agree on a revision."""
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": INFO}
        assert (await self.call("init", "initialize", **params))["result"]["protocolVersion"] == revision
        await self.say({"method": "notifications/initialized"}).ended()
        return self


def text(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"])


async def connect(web: Web, path: str = "/sse", root: str = "") -> Pair:
    client = web.client()
    stream = client.send("GET", path=path, root=root)
    await stream.until(lambda: stream.events or stream.over)
    return Pair(client, stream)


@asynccontextmanager
async def pairs(server: MCPServer | None = None, **settings: Any) -> AsyncGenerator[Web]:
    async with serving(server or make(), sse_path="/sse", **settings) as web:
        yield web


def held(web: Web) -> Any:
    return web.app._service()._oldest._pairs


# A conversation.


@pytest.mark.parametrize("revision", ALL)
async def test_a_conversation_from_its_beginning_to_its_end(revision: str) -> None:
    """HTTP-05, HTTP-06, HTTP-76: every legacy revision can be agreed on."""
    async with pairs() as web:
        pair = await (await connect(web)).handshake(revision)
        taken = await pair.say({"id": 1, "method": "ping"}).ended()

        assert (pair.stream.status, pair.stream.headers["content-type"]) == (200, "text/event-stream")
        assert pair.stream.events[0].event == "endpoint"
        assert (taken.status, taken.body) == (202, b"")
        assert await pair.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert await pair.use(2, "echo", text="é\u2028") == "é\u2028"
        assert {event.event for event in pair.stream.events[1:]} == {"message"}


@pytest.mark.parametrize(
    ("path", "root", "endpoint"),
    [
        ("/sse", "", "/sse"),
        ("/sse/", "", "/sse/"),
        ("/x/sse", "/x", "/x/sse"),
        ("/sse", "/x", "/x/sse"),  # servers differ in whether the path has the prefix
        ("/a b/ü/sse", "/a b/ü", "/a%20b/%C3%BC/sse"),
    ],
)
async def test_the_endpoint_is_found_wherever_the_application_is_mounted(path: str, root: str, endpoint: str) -> None:
    async with pairs() as web:
        pair = await connect(web, path, root)
        query = pair.uri.partition("?")[2]
        await pair.say({"id": 1, "method": "ping"}, uri=f"{path}?{query}", root=root).ended()

        assert (await pair.hear())["id"] == 1
        assert pair.uri.partition("?")[0] == endpoint
        assert urljoin("http://h:1/anywhere/else", pair.uri).startswith(f"http://h:1{endpoint}?session=")


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_question_comes_on_the_stream_and_is_answered_by_a_post(revision: str) -> None:
    async with pairs() as web:
        pair = await (await connect(web)).handshake(revision, ASKING)
        question = await pair.call(1, "tools/call", name="ask", arguments={"message": "Sure?"})
        answered = await pair.say({"id": question["id"], "result": YES}).ended()

        assert question["method"] == "elicitation/create"
        assert answered.status == 202
        assert text(await pair.hear()) == "accept {'ok': True}"


async def test_the_answers_of_one_client_settle_no_questions_of_another() -> None:
    async with pairs() as web:
        clients = [await (await connect(web)).handshake("2025-11-25", ASKING) for _ in range(2)]
        ids = [(await pair.call(1, "tools/call", name="ask", arguments={"message": "?"}))["id"] for pair in clients]
        for id, pair, ok in zip(reversed(ids), reversed(clients), (True, False), strict=True):
            await pair.say({"id": id, "result": {"action": "accept", "content": {"ok": ok}}}).ended()

        assert [text(await pair.hear()) for pair in clients] == ["accept {'ok': False}", "accept {'ok': True}"]


async def test_a_cancellation_ends_its_call() -> None:
    story = Story()
    async with pairs(make(story=story)) as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        await pair.say({"id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {"key": "a"}}}).ended()
        await story.until("a began")
        await pair.say({"method": "notifications/cancelled", "params": {"requestId": 1}}).ended()
        await story.until("a cancelled")

        assert await pair.use(2, "echo", text="alive") == "alive"


@once
async def test_each_call_sees_the_headers_of_its_own_request() -> None:
    """B137."""
    server = MCPServer("headers")

    @tool
    async def whose() -> str:
        context = get_context()
        return f"{context.headers['authorization']} {context.session_id}"

    server.collect(whose)
    async with pairs(server) as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        for who in "AB":
            pair.client.headers["authorization"] = who
            assert await pair.use(who, "whose") == f"{who} {pair.uri.rpartition('=')[2]}"


# The end of one.


async def test_a_client_that_leaves_ends_its_conversation_and_its_handlers() -> None:
    """B047: the stream was all there was."""
    story = Story()
    async with pairs(make(story=story)) as web:
        pair = await (await connect(web)).handshake("2025-11-25", ASKING)
        for n, (name, arguments) in enumerate([("hold", {"key": "a"}), ("ask", {"message": "q"})]):
            await pair.say({"id": n, "method": "tools/call", "params": {"name": name, "arguments": arguments}}).ended()
        await story.until("a began")
        pair.stream.leave()
        await pair.stream.done()
        await story.until("a cancelled")
        await story.until("q over")

        assert len(held(web)) == 0
        assert refusal(await pair.say({"id": 3, "method": "ping"}).ended()) == (404, -32600, 3)


@once
async def test_clients_that_leave_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """B083."""
    async with pairs() as web:
        for _ in range(20):
            pair = await (await connect(web)).handshake("2025-11-25", ASKING)
            await pair.call(1, "tools/call", name="ask", arguments={"message": "?"})
            pair.stream.leave()
            await pair.stream.done()

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_conversations_end_with_the_server() -> None:
    story = Story()
    async with pairs(make(story=story)) as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        await pair.say({"id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {"key": "a"}}}).ended()
        await story.until("a began")
        await web.app.aclose()

        await pair.stream.ended()
        assert "a cancelled" in story.told


async def test_a_call_is_given_its_time_at_the_end_of_the_server() -> None:
    story = Story()
    async with pairs(make(story=story)) as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        await pair.say({"id": 1, "method": "tools/call", "params": {"name": "hold", "arguments": {"key": "a"}}}).ended()
        await story.until("a began")
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await anyio.wait_all_tasks_blocked()
            story.tell("release a")

        assert text(await pair.hear()) == "a"
        await pair.stream.ended()


# What is refused.


@once
async def test_ids_are_random_and_their_owners_alone() -> None:
    """SEC-01, SEC-02."""
    async with pairs() as web:
        ids = [(await connect(web)).uri.rpartition("=")[2] for _ in range(20)]

        assert len(set(ids)) == 20
        assert all(len(id) >= 32 for id in ids)
        entry = held(web)._idle[ids[0]]
        entry.owner = b"=alice"
        pair = await connect(web)
        for id in (ids[0], ids[1][:-1], "", "x"):
            stranger = await pair.say({"id": 1, "method": "ping"}, uri=f"/sse?session={id}").ended()
            assert stranger.status in (404, 405)
            assert len(pair.stream.events) == 1


@once
@pytest.mark.parametrize("query", ["", "?session", "?session=", "?session=a&session=b", "?id=a", "?\xff=\xff"])
async def test_a_post_that_names_no_conversation_is_told_to_open_a_stream(query: str) -> None:
    """HTTP-77, HTTP-78: clients of later revisions try a POST first."""
    async with pairs() as web:
        refused = await web.client().send("POST", b"{}", path=f"/sse{query}").ended()

        assert (refused.status, refused.headers["allow"]) == (405, "GET")


@once
@pytest.mark.parametrize("verb", ["PUT", "DELETE", "OPTIONS"])
async def test_other_verbs_are_refused(verb: str) -> None:
    async with pairs() as web:
        assert (await web.client().send(verb, path="/sse").ended()).status == 405


@once
async def test_what_is_no_message_is_refused() -> None:
    async with pairs(max_body=100) as web:
        pair = await connect(web)
        junk = await pair.post(b"{").ended()
        half = await pair.post(b'{"jsonrpc":"2.0","id":7,"method":1}').ended()
        form = await pair.say({"id": 1, "method": "ping"}, content_type="text/plain").ended()
        long = await pair.post(b" " * 101).ended()
        reader = await web.client().send("GET", path="/sse", accept="application/json").ended()

        assert refusal(junk) == (400, -32700, None)
        assert refusal(half) == (400, -32600, 7)
        assert [form.status, long.status, reader.status] == [415, 413, 406]
        assert len(pair.stream.events) == 1


@once
async def test_the_guard_stands_before_it() -> None:
    """HTTP-01, HTTP-02."""
    async with pairs() as web:
        pair = await connect(web)
        evil = "https://evil.example"

        assert (await web.client().send("GET", path="/sse", origin=evil).ended()).status == 403
        assert (await pair.say({"id": 1, "method": "ping"}, origin=evil).ended()).status == 403


@once
async def test_nothing_is_there_unless_it_is_asked_for() -> None:
    async with serving(make()) as web:
        assert (await web.client().send("GET", path="/sse").ended()).status == 404


@pytest.mark.parametrize("path", ["sse", "", "/mcp", "/mcp/"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="sse_path"):
        HttpSettings(sse_path=path)


# Bounds.


async def test_one_conversation_too_many_is_refused_until_one_ends() -> None:
    async with pairs(max_sessions=2) as web:
        first, _ = await connect(web), await connect(web)
        full = await connect(web)
        assert refusal(full.stream) == (503, -32603, None)
        first.stream.leave()
        await first.stream.done()

        assert (await connect(web)).stream.status == 200


async def test_a_stream_without_a_handshake_is_closed_in_time() -> None:
    async with pairs(session_idle_seconds=0.01) as web:
        pair = await connect(web)

        await pair.stream.ended()
        assert len(held(web)) == 0


async def test_a_conversation_lasts_as_long_as_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pairs() as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        late = anyio.current_time() + 1e6
        with monkeypatch.context() as patched:
            patched.setattr(anyio, "current_time", lambda: late)
            web.app._service()._oldest._sweep.now()

        assert await pair.use(1, "echo", text="here") == "here"


async def test_a_silent_stream_is_kept_alive() -> None:
    """HTTP-24, B082."""
    async with pairs(keep_alive_seconds=0.005) as web:
        pair = await connect(web)
        await pair.stream.until(lambda: pair.stream.comments >= 3)

        assert len(pair.stream.events) == 1


async def test_a_client_that_reads_nothing_is_taken_no_more_calls_from() -> None:
    async with pairs() as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        pair.stream.stall()
        hi = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x" * (MAX_QUEUED // 2)}}}
        taken = [pair.say({"id": n, **hi}) for n in range(5)]
        await anyio.wait_all_tasks_blocked()
        waiting = [pair.say({"id": n, **hi}) for n in range(5, 10)]
        await anyio.wait_all_tasks_blocked()
        notice = await pair.say({"method": "notifications/x"}).ended()

        assert notice.status == 202  # replies and cancellations wait for nobody
        assert [post.status for post in (*taken, *waiting)] == [202] * 5 + [None] * 5
        pair.stream.go_on()
        assert sorted([(await pair.hear())["id"] for _ in range(10)]) == list(range(10))
        assert {(await post.ended()).status for post in waiting} == {202}


async def test_calls_that_wait_are_let_go_when_their_client_leaves() -> None:
    async with pairs() as web:
        pair = await (await connect(web)).handshake("2024-11-05")
        pair.stream.stall()
        hi = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x" * MAX_QUEUED}}}
        for n in range(2):
            await pair.say({"id": n, **hi}).ended()
        await anyio.wait_all_tasks_blocked()
        waiting = pair.say({"id": 9, **hi})
        await anyio.wait_all_tasks_blocked()
        assert waiting.status is None
        pair.stream.leave()

        assert refusal(await waiting.ended()) == (404, -32600, 9)


async def test_notices_do_not_pile_up_for_a_reader_that_is_gone() -> None:
    stream = PairStream(HttpRequest({"headers": []}))
    frame = b"x" * (1 << 20)
    for _ in range(20):
        stream.send(frame)

    assert (stream.takes_calls, stream.full) == (False, False)
    assert sum(map(len, stream._waiting)) <= MAX_BEHIND  # pyright: ignore[reportPrivateUsage]
    await stream.ready()


async def test_thousands_of_conversations_leave_nothing_behind(anyio_backend: str) -> None:
    """B068."""
    async with pairs() as web:
        await connect(web)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(2_000 if anyio_backend == "asyncio" else 50):
            pair = await connect(web)
            pair.stream.leave()
            await pair.stream.done()
            del pair
        gc.collect()

        assert len(held(web)) == 1
        assert len(gc.get_objects()) - before < 500
