"""HTTP+SSE, the transport of 2024-11-05: found behind a URL by itself, or asked for."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import HttpSse, MCPClient, McpError, StreamableHttp
from dedalus_mcp.errors import (
    AuthRequiredError,
    BadRequestError,
    DedalusError,
    MCPConnectionError,
    ServerError,
    SessionExpiredError,
    TransportError,
)
from dedalus_mcp.types import ElicitRequestParams
from dedalus_mcp_transports import http_sse
from tests.client.counting import back_to, living_tasks
from tests.interaction.reach import Heard
from tests.transports.scripted_http import INFO, Asked, Script, ScriptedHttp, Talk, event, scripted

OLDEST = "2024-11-05"


def announce(where: str) -> bytes:
    return f"event: endpoint\ndata: {where}\n\n".encode()


class Old:
    """A server that has nothing but HTTP+SSE, at any path.

    Args:
        then: What it does with a call besides `initialize`; it gets the open stream.
        status: What it says to a POST where it takes none.
        endpoint: Where it says that messages go.
    """

    def __init__(self, then: Any = None, *, status: int = 405, endpoint: str = "/messages?session=1") -> None:
        self._then = then
        self._status = status
        self._endpoint = endpoint
        self.revision = OLDEST
        self.down: Talk | None = None
        self.cut = anyio.Event()
        self._pushing = anyio.Lock()

    async def script(self, asked: Asked, talk: Talk) -> None:
        if asked.method == "GET":
            self.down = talk
            await talk.stream(b": hello\n\n", announce(self._endpoint))
            await self.cut.wait()
        elif asked.path != self._endpoint:
            await talk.answer(self._status, b"no such thing")
        else:
            await self._take(asked, talk)

    async def _take(self, asked: Asked, talk: Talk) -> None:
        if asked.what == "initialize":
            await talk.answer(202, b"Accepted")
            result: dict[str, Any] = {
                "protocolVersion": self.revision,
                "capabilities": {"tools": {}},
                "serverInfo": INFO,
            }
            await self.push(talk.reply(result))
        elif asked.what.startswith("notifications/") or asked.what == "POST" or self._then is None:
            await talk.answer(202)
        else:
            await self._then(self, asked, talk)

    async def push(self, message: Any) -> None:
        assert self.down is not None
        async with self._pushing:
            await self.down.raw(b"event: message\n" + event(message))


async def answer(old: Old, asked: Asked, talk: Talk) -> None:
    await talk.answer(202)
    await old.push(talk.reply({"content": [], "tools": []}))


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_server_with_nothing_newer_is_found_behind_its_url(status: int) -> None:
    """HTTP-06, HTTP-77, HTTP-78: POST, POST, GET, and then it works like any other."""
    old, headers = Old(answer, status=status), {"X-Key": "k"}
    async with scripted(old.script) as server, MCPClient.connect(server.url, headers=headers) as client:
        assert client.revision == OLDEST
        assert (await client.call_tool("t")).content == []

    assert [(asked.method, asked.path, asked.what) for asked in server.asked] == [
        ("POST", "/mcp", "server/discover"),
        ("POST", "/mcp", "initialize"),
        ("GET", "/mcp", "GET"),
        ("POST", "/messages?session=1", "initialize"),
        ("POST", "/messages?session=1", "notifications/initialized"),
        ("POST", "/messages?session=1", "tools/call"),
    ]
    assert {asked.headers["x-key"] for asked in server.asked} == {"k"}
    assert server.asked[2].headers["accept"] == "text/event-stream"


async def test_it_is_found_where_a_legacy_revision_was_asked_for() -> None:
    async with scripted(Old().script) as server, MCPClient.connect(server.url, revision=OLDEST) as client:
        assert client.revision == OLDEST

    assert server.count("server/discover") == 0


async def test_a_transport_object_saves_the_attempts() -> None:
    async with scripted(Old(answer).script) as server, MCPClient.connect(HttpSse(server.url)) as client:
        await client.list_tools()

    assert [asked.what for asked in server.asked[:2]] == ["GET", "initialize"]


async def test_its_server_may_speak_a_newer_revision() -> None:
    old = Old(answer)
    old.revision = "2025-06-18"
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url)) as client:
        assert client.revision == "2025-06-18"


async def test_the_address_may_be_a_whole_url_of_the_same_origin() -> None:
    old = Old(answer)

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.method == "GET":
            old.down = talk
            await talk.stream(announce(f"http://{asked.headers['host']}/messages?session=1"))
            await old.cut.wait()
        else:
            await old.script(asked, talk)

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        await client.list_tools()


@pytest.mark.parametrize(
    "endpoint",
    ["http://localhost:9/m", "https://127.0.0.1/m", "//example.com/m", "http://127.0.0.1:1/m", "ftp://127.0.0.1/m"],
)
async def test_messages_go_to_no_other_origin(endpoint: str) -> None:
    """HTTP-06: whoever can write the stream must not get the credentials."""
    async with scripted(Old(endpoint=endpoint).script) as server:
        with pytest.raises(TransportError, match="another origin") as raised:
            await MCPClient.connect(HttpSse(server.url, headers={"Authorization": "secret"}))

    assert endpoint in str(raised.value)
    assert [asked.what for asked in server.asked] == ["GET"]


@pytest.mark.parametrize("endpoint", [" ", "/" + "x" * 3000, "/a\x07b", "http://[", "http://h:x/"])
async def test_an_address_that_is_none_is_refused(endpoint: str) -> None:
    async with scripted(Old(endpoint=endpoint).script) as server:
        with pytest.raises(TransportError):
            await MCPClient.connect(HttpSse(server.url))


async def test_a_stream_that_begins_otherwise_is_another_transport() -> None:
    """HTTP-77: and the error is that of the newer one, with a note."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.method == "GET":
            await talk.stream(event({"jsonrpc": "2.0", "method": "notifications/message"}))
            await talk.gone()
        else:
            await talk.answer(405)

    async with scripted(script) as server:
        with pytest.raises(TransportError) as raised:
            await MCPClient.connect(server.url)

    assert raised.value.status_code == 405
    (note,) = raised.value.__notes__
    assert "no HTTP+SSE endpoint: its first event is 'message'" in note
    assert [asked.what for asked in server.asked] == ["server/discover", "initialize", "GET"]


@pytest.mark.parametrize(
    ("status", "error"), [(404, TransportError), (401, AuthRequiredError), (503, ServerError), (200, TransportError)]
)
async def test_what_refuses_the_stream_too_is_told(status: int, error: type[Exception]) -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        await talk.answer(status if asked.method == "GET" else 404, b"nothing here", content_type="text/html")

    async with scripted(script) as server:
        with pytest.raises(TransportError, match="nothing here") as raised:
            await MCPClient.connect(server.url)
        with pytest.raises(error, match="nothing here"):
            await MCPClient.connect(HttpSse(server.url))

    assert raised.value.status_code == 404
    assert isinstance(raised.value.__cause__, error)


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, -32022), (400, -32020), (400, -32021), (404, -32601), (403, None), (500, None), (406, None)],
)
async def test_no_other_refusal_is_taken_for_an_old_server(status: int, code: int | None) -> None:
    """HTTP-78: a modern error, or any status but three."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover":
            await talk.answer(405)
        elif code is None:
            await talk.answer(status)
        else:
            await talk.refuse(status, code, "no")

    async with scripted(script) as server:
        with pytest.raises(DedalusError):
            await MCPClient.connect(server.url)

    assert server.count("GET") == 0


async def test_a_json_rpc_error_that_is_not_modern_may_be_an_old_servers() -> None:
    """HTTP-78."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.method == "GET":
            await talk.answer(405)
        else:
            await talk.refuse(400, -32600, "bad")

    async with scripted(script) as server:
        with pytest.raises(McpError, match="bad") as raised:
            await MCPClient.connect(server.url)

    assert len(raised.value.__notes__) == 1
    assert server.count("GET") == 1


async def test_the_server_may_ask_and_tell_on_its_stream() -> None:
    """HTTP-06: questions are answered by POST."""
    answered: list[Any] = []

    async def ask(old: Old, asked: Asked, talk: Talk) -> None:
        await talk.answer(202, connection="close")  # the next request needs another one, this one is busy
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = {"message": "Who?", "requestedSchema": schema}
        await old.push({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params})
        answered.append((await server.until("POST")).message)
        await old.push(talk.reply({"content": []}))

    def reply(params: ElicitRequestParams) -> dict[str, Any]:
        return {"name": params.message}

    old = Old(ask)
    old.revision = "2025-06-18"
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url), elicitation=reply) as client:
        await client.call_tool("t")

    assert answered == [{"jsonrpc": "2.0", "id": 7, "result": {"action": "accept", "content": {"name": "Who?"}}}]


async def test_a_call_that_is_refused_fails_alone() -> None:
    async def then(old: Old, asked: Asked, talk: Talk) -> None:
        if asked.what == "tools/call":
            await talk.answer(400, b"bad session")
        else:
            await answer(old, asked, talk)

    async with scripted(Old(then).script) as server, MCPClient.connect(HttpSse(server.url)) as client:
        with pytest.raises(BadRequestError, match="bad session"):
            await client.call_tool("t")
        assert (await client.list_tools()).tools == []


class Dropping(Old):
    """Ends its streams when a tool is called for the first time, and has a new session for each stream."""

    def __init__(self, *, times: int = 1) -> None:
        super().__init__(Dropping.drop)
        self.left = times
        self.dead = False

    async def script(self, asked: Asked, talk: Talk) -> None:
        if asked.method == "GET" and self.dead:
            await talk.answer(503, b"starting")
            return
        if asked.method == "GET":
            self.cut = anyio.Event()
        await super().script(asked, talk)

    async def drop(self, asked: Asked, talk: Talk) -> None:
        if self.left and asked.what in ("tools/call", "tools/list"):
            self.left -= 1
            await talk.answer(202)
            self.cut.set()
        else:
            await answer(self, asked, talk)


async def test_a_call_fails_at_once_when_the_stream_ends_and_the_next_one_has_another() -> None:
    """B035, B067: without a timeout; the session is its stream, so both begin anew, with what the old one held."""
    old, lost = Dropping(), Heard[SessionExpiredError]()
    async with (
        scripted(old.script) as server,
        MCPClient.connect(HttpSse(server.url), timeout=None, on_session_lost=lost) as client,
    ):
        await client.subscribe_resource("r://a")
        await client.set_logging_level("error")
        with pytest.raises(SessionExpiredError, match=r"the session ended with its stream: .*(ended|lost)") as raised:
            await client.call_tool("t")
        assert raised.value.begun
        assert (await client.call_tool("t")).content == []
        await lost.wait(1)

    asked_for = [asked.what for asked in server.asked]
    assert asked_for[:5] == [
        "GET",
        "initialize",
        "notifications/initialized",
        "resources/subscribe",
        "logging/setLevel",
    ]
    assert asked_for[5:9] == ["tools/call", "GET", "initialize", "notifications/initialized"]
    assert sorted(asked_for[9:]) == ["logging/setLevel", "resources/subscribe", "tools/call"]


async def test_what_only_reads_does_not_notice_that_the_stream_ended() -> None:
    old = Dropping()
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url), timeout=None) as client:
        assert (await client.list_tools()).tools == []

    assert server.count("tools/list") == 2
    assert server.count("GET") == 2


async def test_calls_that_find_the_stream_ended_share_one_new_session() -> None:
    """B067."""
    old = Dropping()
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url), timeout=None) as client:
        with pytest.raises(SessionExpiredError):
            await client.call_tool("t")
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(client.call_tool, "t")

    assert server.count("initialize") == 2


async def test_who_only_listens_gets_another_stream() -> None:
    """B067: no call was there to notice that the old one had ended."""
    old, logged = Old(answer), Heard[Any]()
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url), logging=logged) as client:
        await client.set_logging_level("error")
        old.cut.set()
        old.cut = anyio.Event()
        await server.until("logging/setLevel", 2)
        await old.push({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": 1}})
        await logged.wait(1)

    assert server.count("GET") == 2


async def test_a_server_that_stays_away_is_told_as_it_is_and_tried_again_by_the_next_call() -> None:
    old = Dropping()
    async with scripted(old.script) as server, MCPClient.connect(HttpSse(server.url), timeout=None) as client:
        with pytest.raises(SessionExpiredError):
            await client.call_tool("t")
        old.dead = True
        with pytest.raises(ServerError, match="starting"):
            await client.call_tool("t")
        old.dead = False
        assert (await client.call_tool("t")).content == []


async def test_a_new_stream_that_never_says_where_messages_go_is_given_up_and_the_next_one_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing is ever sent to where the stream itself is."""
    old, mute = Dropping(), False

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.method == "GET" and mute:
            await talk.stream(b": nothing\n\n")
            await talk.gone()
        else:
            await old.script(asked, talk)

    async with scripted(script) as server, MCPClient.connect(HttpSse(server.url), timeout=None) as client:
        with pytest.raises(SessionExpiredError):
            await client.call_tool("t")
        mute = True
        monkeypatch.setattr(http_sse, "ENDPOINT_SECONDS", 0.01)
        for _ in range(2):
            with pytest.raises(TransportError, match="does not say where"):
                await client.call_tool("t")
        await client.notify("notifications/roots/list_changed")
        mute = False
        monkeypatch.setattr(http_sse, "ENDPOINT_SECONDS", 5.0)
        assert (await client.call_tool("t")).content == []

    assert [asked.path for asked in server.asked if asked.method == "POST" and asked.path == "/mcp"] == []


async def test_a_server_that_forgot_the_session_of_an_open_stream_gets_another() -> None:
    """B067: it was restarted, and nobody told the stream."""
    old, forgotten = Old(answer), False

    async def script(asked: Asked, talk: Talk) -> None:
        nonlocal forgotten
        if asked.what == "tools/call" and forgotten:
            forgotten = False
            await talk.answer(404, b"no such session")
        else:
            await old.script(asked, talk)

    async with scripted(script) as server, MCPClient.connect(HttpSse(server.url), timeout=None) as client:
        forgotten = True
        assert (await client.call_tool("t")).content == []

    assert server.count("GET") == 2
    assert server.count("tools/call") == 2


async def test_a_message_that_is_too_long_ends_the_session() -> None:
    async def then(old: Old, asked: Asked, talk: Talk) -> None:
        await talk.answer(202)
        await old.push(talk.reply({"content": [{"type": "text", "text": "x" * 5000}]}))

    async with scripted(Old(then).script) as server:
        target = HttpSse(server.url, max_message=4000)
        async with MCPClient.connect(target, timeout=None) as client:
            with pytest.raises(SessionExpiredError, match="longer than 4000 bytes"):
                await client.call_tool("t")


async def test_a_cancelled_call_is_told_to_the_server() -> None:
    """CANC-01."""
    async with scripted(Old().script) as server, MCPClient.connect(HttpSse(server.url)) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "t")
            await server.until("tools/call")
            group.cancel_scope.cancel()
        told = await server.until("notifications/cancelled")

        called = await server.until("tools/call")

    assert told.message["params"]["requestId"] == called.message["id"]


async def test_a_stream_that_never_says_where_messages_go_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sse, "ENDPOINT_SECONDS", 0.01)

    async def script(asked: Asked, talk: Talk) -> None:
        await talk.stream(b": nothing\n\n")
        await talk.gone()

    before = living_tasks()
    async with scripted(script) as server:
        with pytest.raises(TransportError, match="does not say where"):
            await MCPClient.connect(HttpSse(server.url))
    await back_to(before)


async def cancelled_while(script: Script, what: str, target: Any) -> None:
    before = living_tasks()
    async with scripted(script) as server, anyio.create_task_group() as group:

        async def connect(server: ScriptedHttp) -> None:
            await MCPClient.connect(target(server.url))

        group.start_soon(connect, server)
        await server.until(what)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    await back_to(before)


async def hangs(asked: Asked, talk: Talk) -> None:
    await talk.gone()


async def test_opening_can_be_cancelled_at_any_point_and_leaves_nothing() -> None:
    """B097."""
    await cancelled_while(hangs, "GET", HttpSse)

    async def never_greets(asked: Asked, talk: Talk) -> None:
        await (talk.answer(202) if asked.method == "POST" else Old().script(asked, talk))

    await cancelled_while(never_greets, "initialize", HttpSse)

    async def only_the_stream_hangs(asked: Asked, talk: Talk) -> None:
        await (hangs(asked, talk) if asked.method == "GET" else talk.answer(405))

    await cancelled_while(only_the_stream_hangs, "GET", StreamableHttp)


async def test_many_calls_are_under_way_at_once() -> None:
    async with (
        scripted(Old(answer).script) as server,
        MCPClient.connect(HttpSse(server.url)) as client,
        anyio.create_task_group() as group,
    ):
        for _ in range(40):
            group.start_soon(client.call_tool, "t")

    assert server.count("tools/call") == 40


async def test_what_cannot_be_reached_says_so() -> None:
    async with scripted(hangs) as server:
        url = server.url
    with pytest.raises(MCPConnectionError, match="cannot reach"):
        await MCPClient.connect(HttpSse(url))
