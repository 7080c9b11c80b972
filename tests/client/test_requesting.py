"""`Requests`: a session that is lost is begun anew, and what is safe is made once more."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.client.conduct import Repeated
from dedalus_mcp.errors import (
    BadRequestError,
    ConnectionLost,
    MCPConnectionError,
    RequestTimeout,
    ServerError,
    SessionExpiredError,
)
from dedalus_mcp_transports.http_client import StreamableHttp
from dedalus_mcp_transports.http_stream import Reconnect
from tests.interaction.reach import Heard
from tests.transports.scripted_http import Asked, Script, Talk, event, legacy, scripted

EMPTY: dict[str, Any] = {"content": []}


class Restarted:
    """A legacy server that forgets its sessions when it is told to.

    Args:
        then: Answers what comes in a session that it knows.
    """

    def __init__(self, then: Script | None = None) -> None:
        self.sessions = 0
        self.forgotten = 0
        self._then = then

    async def script(self, asked: Asked, talk: Talk) -> None:
        if asked.what == "initialize":
            self.sessions += 1
            await legacy(asked, talk, session=f"s{self.sessions}")
        elif int(asked.headers.get("mcp-session-id", "s999")[1:]) <= self.forgotten:
            await talk.refuse(404, -32600, "Session not found")
        elif not await legacy(asked, talk):
            if self._then is None:
                await talk.result({**EMPTY, "tools": []})
            else:
                await self._then(asked, talk)

    def forget(self) -> None:
        self.forgotten = self.sessions


async def test_a_lost_session_is_begun_anew_and_the_call_made_again() -> None:
    """B067, HTTP-45: without a word to the caller, unless asked for."""
    restarted, told = Restarted(), list[SessionExpiredError]()
    heard = anyio.Event()

    def lost(error: SessionExpiredError) -> None:
        told.append(error)
        heard.set()

    async with scripted(restarted.script) as server, MCPClient.connect(server.url, on_session_lost=lost) as client:
        await client.call_tool("t")
        assert told == []
        restarted.forget()
        assert (await client.call_tool("t")).content == []
        await heard.wait()

    posts = [asked for asked in server.asked if asked.method == "POST"]
    assert [asked.what for asked in posts][3:] == [
        "tools/call",
        "tools/call",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]
    assert [asked.headers.get("mcp-session-id") for asked in posts][3:] == ["s1", "s1", None, "s2", "s2"]
    assert [error.status_code for error in told] == [404]
    assert server.count("DELETE") == 1


async def test_whoever_hears_of_a_lost_session_may_close_the_client() -> None:
    """B100: once, whatever is under way; and nothing is sent after that."""
    restarted = Restarted()
    closed = anyio.Event()
    client: MCPClient

    async def close(_: SessionExpiredError) -> None:
        await client.close()
        closed.set()

    async with scripted(restarted.script) as server:
        client = await MCPClient.connect(server.url, on_session_lost=close)
        restarted.forget()
        async with anyio.create_task_group() as group:

            async def call() -> None:
                with suppress(ConnectionLost):
                    await client.call_tool("t")

            for _ in range(5):
                group.start_soon(call)
            with anyio.fail_after(20):
                await closed.wait()
        await client.close()
        before = len(server.asked)
        with pytest.raises(ConnectionLost):
            await client.call_tool("t")
        assert len(server.asked) == before


async def test_calls_that_find_out_at_once_share_one_new_session() -> None:
    """B067."""
    restarted = Restarted()
    async with scripted(restarted.script) as server, MCPClient.connect(server.url) as client:
        restarted.forget()
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(client.call_tool, "t")

    assert server.count("initialize") == 2


async def test_a_session_that_is_lost_again_at_once_is_an_error() -> None:
    """B067, B041: after exactly one retry, of its own class, and no timeout."""
    restarted = Restarted()
    restarted.forgotten = 99

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "notifications/initialized":
            await talk.answer(202)
        else:
            await restarted.script(asked, talk)

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        with pytest.raises(SessionExpiredError) as raised:
            await client.call_tool("t")

    assert not isinstance(raised.value, RequestTimeout)
    assert raised.value.status_code == 404
    assert server.count("tools/call") == 2
    assert server.count("initialize") == 2


async def test_a_server_that_stays_away_is_told_as_it_is() -> None:
    restarted, down = Restarted(), False

    async def script(asked: Asked, talk: Talk) -> None:
        if down and asked.what == "initialize":
            await talk.answer(503, b"starting", retry_after="3")
        else:
            await restarted.script(asked, talk)

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        restarted.forget()
        down = True
        with pytest.raises(ServerError, match="starting") as raised:
            await client.call_tool("t")
        assert raised.value.retry_after == 3
        down = False
        await client.call_tool("t")  # the next one tries anew


def cut_once(reply: Any) -> tuple[Script, list[str]]:
    """A script that loses the first reply on the way, and what it was asked."""
    asked_for: list[str] = []

    async def then(asked: Asked, talk: Talk) -> None:
        if asked.what == "tools/list":
            hints = {"again": {"idempotentHint": True}, "reads": {"readOnlyHint": True}, "once": {}}
            schema = {"type": "object"}
            tools = [{"name": name, "inputSchema": schema, "annotations": hint} for name, hint in hints.items()]
            await talk.result({"tools": tools})
            return
        asked_for.append(asked.what)
        if len(asked_for) == 1:
            await talk.stream(b": soon\n\n")
        else:
            await talk.result(reply)

    return then, asked_for


@pytest.mark.parametrize("tool", ["again", "reads"])
async def test_a_tool_that_may_run_twice_is_called_again_when_its_reply_is_lost(tool: str) -> None:
    """AMB-30, HTTP-22: as the server said of it."""
    then, asked_for = cut_once(EMPTY)
    async with scripted(Restarted(then).script) as server, MCPClient.connect(server.url) as client:
        await client.list_tools()
        await client.call_tool(tool)

    assert asked_for == ["tools/call"] * 2


@pytest.mark.parametrize("tool", ["once", "unknown"])
async def test_any_other_tool_is_called_once(tool: str) -> None:
    """AMB-30."""
    then, asked_for = cut_once(EMPTY)
    async with scripted(Restarted(then).script) as server, MCPClient.connect(server.url) as client:
        await client.list_tools()
        with pytest.raises(MCPConnectionError) as raised:
            await client.call_tool(tool)

    assert raised.value.begun
    assert asked_for == ["tools/call"]


async def test_what_only_reads_is_made_again_when_its_reply_is_lost() -> None:
    then, asked_for = cut_once({"messages": []})
    async with scripted(Restarted(then).script) as server, MCPClient.connect(server.url) as client:
        assert (await client.get_prompt("p")).messages == []

    assert asked_for == ["prompts/get"] * 2


async def test_what_was_refused_is_not_made_again() -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        await talk.answer(400)

    async with scripted(Restarted(then).script) as server, MCPClient.connect(server.url) as client:
        with pytest.raises(BadRequestError):
            await client.get_prompt("p")

    assert server.count("prompts/get") == 1


def busy(times: int, status: int = 503, retry_after: str = "0") -> Script:
    """A script that is busy so often before it answers; it has the tools "reads" and "writes"."""
    left = times

    async def then(asked: Asked, talk: Talk) -> None:
        nonlocal left
        if left > 0 and asked.what != "tools/list":
            left -= 1
            await talk.answer(status, b"later", retry_after=retry_after)
            return
        schema = {"type": "object"}
        tools = [
            {"name": "reads", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
            {"name": "writes", "inputSchema": schema},
        ]
        await talk.result({"content": [], "messages": [], "tools": tools})

    return then


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_what_only_reads_is_made_once_more_when_the_server_was_busy(status: int) -> None:
    """HTTP-73, in spirit: after the time that the server asks for."""
    async with scripted(Restarted(busy(1, status)).script) as server, MCPClient.connect(server.url) as client:
        await client.get_prompt("p")

    assert server.count("prompts/get") == 2


async def test_who_wants_to_know_hears_what_is_made_once_more_and_why() -> None:
    heard = Heard[Repeated]()
    async with (
        scripted(Restarted(busy(3)).script) as server,
        MCPClient.connect(server.url, on_repeat=heard) as client,
    ):
        await client.list_tools()
        with pytest.raises(ServerError):
            await client.get_prompt("p")
        with pytest.raises(ServerError):  # it may have run: not made again, so nothing is heard of it
            await client.call_tool("writes")
        (repeated,) = await heard.wait(1)

    assert repeated.method == "prompts/get"
    assert isinstance(repeated.error, ServerError)
    assert repeated.pause > 0


async def test_a_tool_that_only_reads_is_called_once_more_when_the_server_was_busy() -> None:
    async with scripted(Restarted(busy(1)).script) as server, MCPClient.connect(server.url) as client:
        await client.list_tools()
        await client.call_tool("reads")

    assert server.count("tools/call") == 2


async def test_a_server_that_stays_busy_is_asked_twice() -> None:
    async with scripted(Restarted(busy(9)).script) as server, MCPClient.connect(server.url) as client:
        with pytest.raises(ServerError, match="later") as raised:
            await client.get_prompt("p")

    assert (raised.value.status_code, raised.value.retry_after) == (503, 0)
    assert server.count("prompts/get") == 2


@pytest.mark.parametrize("tool", ["writes", "unknown"])
async def test_a_busy_server_is_not_asked_again_for_what_may_have_run(tool: str) -> None:
    """AMB-30: who sent the 5xx nobody knows."""
    async with scripted(Restarted(busy(1)).script) as server, MCPClient.connect(server.url) as client:
        await client.list_tools()
        with pytest.raises(ServerError):
            await client.call_tool(tool)

    assert server.count("tools/call") == 1


@pytest.mark.parametrize("retry_after", ["31", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_who_is_asked_to_wait_too_long_is_told_so_at_once(retry_after: str) -> None:
    restarted = Restarted(busy(1, retry_after=retry_after))
    async with scripted(restarted.script) as server, MCPClient.connect(server.url) as client:
        with pytest.raises(ServerError) as raised:
            await client.get_prompt("p")

    assert raised.value.retry_after is not None
    assert raised.value.retry_after > 30
    assert server.count("prompts/get") == 1


async def test_a_call_that_waits_for_a_busy_server_can_be_cancelled() -> None:
    restarted = Restarted(busy(1, retry_after="29"))
    async with (
        scripted(restarted.script) as server,
        MCPClient.connect(server.url) as client,
        anyio.create_task_group() as group,
    ):
        group.start_soon(client.get_prompt, "p")
        await server.until("prompts/get")
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert server.count("prompts/get") == 1


async def test_a_busy_server_is_probed_twice() -> None:
    """VER-13: being busy says nothing of its era."""
    probes = 0

    async def script(asked: Asked, talk: Talk) -> None:
        nonlocal probes
        if asked.what == "server/discover":
            probes += 1
            if probes == 1:
                await talk.answer(503, b"starting", retry_after="0")
                return
        await legacy(asked, talk)

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        assert client.revision == "2025-11-25"

    assert server.count("server/discover") == 2


async def test_a_new_session_gets_the_log_level_and_the_subscriptions_of_the_old_one() -> None:
    """B067: before the call is made again, and what was unsubscribed stays so."""
    restarted = Restarted()
    async with scripted(restarted.script) as server, MCPClient.connect(server.url) as client:
        await client.set_logging_level("debug")
        await client.set_logging_level("error")
        for uri in ("r://a", "r://b", "r://c"):
            await client.subscribe_resource(uri)
        await client.unsubscribe_resource("r://b")
        restarted.forget()
        before = len(server.asked)
        await client.call_tool("t")

    posts = [asked for asked in server.asked[before:] if asked.method == "POST"]
    assert [asked.what for asked in posts[:3]] == ["tools/call", "initialize", "notifications/initialized"]
    made_again = [(asked.what, asked.message["params"]) for asked in posts[3:6]]
    assert sorted(made_again, key=str) == [
        ("logging/setLevel", {"level": "error"}),
        ("resources/subscribe", {"uri": "r://a"}),
        ("resources/subscribe", {"uri": "r://c"}),
    ]
    assert posts[6].what == "tools/call"
    assert {asked.headers["mcp-session-id"] for asked in posts[2:]} == {"s2"}


async def test_a_subscription_that_the_new_session_refuses_is_logged_and_costs_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def then(asked: Asked, talk: Talk) -> None:
        if asked.what == "resources/subscribe" and asked.headers["mcp-session-id"] == "s2":
            await talk.refuse(200, -32002, "Resource not found")
        else:
            await talk.result(EMPTY)

    restarted = Restarted(then)
    async with scripted(restarted.script) as server, MCPClient.connect(server.url) as client:
        await client.subscribe_resource("r://a")
        restarted.forget()
        assert (await client.call_tool("t")).content == []

    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "resources/subscribe could not be made again in the new session: Resource not found"
    ]


async def test_a_call_that_ran_in_the_lost_session_is_not_made_again_but_the_next_one_works() -> None:
    """B067: its stream broke, and the session was gone when it was to be resumed."""
    restarted: Restarted

    async def then(asked: Asked, talk: Talk) -> None:
        if restarted.sessions == 1:
            restarted.forget()
            await talk.stream(b"retry: 10\n", event(None, "a"))
        else:
            await talk.result(EMPTY)

    restarted = Restarted(then)
    async with scripted(restarted.script) as server:
        target = StreamableHttp(server.url, reconnect=Reconnect(attempts=1, first=0.01))
        async with MCPClient.connect(target) as client:
            with pytest.raises(SessionExpiredError) as raised:
                await client.call_tool("t")
            await client.call_tool("t")

    assert raised.value.begun
    assert server.count("initialize") == 2
    assert server.count("tools/call") == 2


class Upgraded:
    """A legacy server that comes back as a modern one, and keeps a subscription open."""

    def __init__(self) -> None:
        self.is_modern = False
        self.listening = anyio.Event()
        self.listened: dict[str, Any] = {}
        self.levels: list[Any] = []

    async def script(self, asked: Asked, talk: Talk) -> None:
        if not self.is_modern:
            if asked.what == "initialize":
                tools = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "s", "version": "1"}}
                await talk.result({"protocolVersion": "2025-11-25", **tools}, mcp_session_id="s1")
            elif not await legacy(asked, talk):
                await talk.result(EMPTY)
        elif asked.what == "initialize":
            await talk.refuse(400, -32022, "Unsupported protocol version", {"supported": ["2026-07-28"]})
        elif asked.what == "server/discover":
            tools = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}}
            await talk.result({"resultType": "complete", **tools})
        elif asked.what == "subscriptions/listen":
            await self.listen(asked, talk)
        elif "mcp-session-id" in asked.headers:
            await talk.refuse(404, -32600, "Session not found")
        else:
            self.levels.append(asked.message["params"]["_meta"].get("io.modelcontextprotocol/logLevel"))
            await talk.result({**EMPTY, "resultType": "complete"})

    async def listen(self, asked: Asked, talk: Talk) -> None:
        self.listened = asked.message["params"]["notifications"]
        meta = {"io.modelcontextprotocol/subscriptionId": asked.message["id"]}
        params = {"notifications": self.listened, "_meta": meta}
        method = "notifications/subscriptions/acknowledged"
        await talk.stream(event({"jsonrpc": "2.0", "method": method, "params": params}))
        self.listening.set()
        await talk.gone()


async def test_a_legacy_server_that_comes_back_as_a_modern_one_is_listened_to_as_before() -> None:
    """SUB-11, SUB-15: with its log level and its subscriptions; and what may have changed is told."""
    upgraded, changed, updated = Upgraded(), Heard[Any](), Heard[Any]()
    async with (
        scripted(upgraded.script) as server,
        MCPClient.connect(server.url, tools_list_changed=changed, resource_updated=updated) as client,
    ):
        await client.subscribe_resource("r://a")
        await client.set_logging_level("error")
        upgraded.is_modern = True
        assert (await client.call_tool("t")).content == []
        assert client.revision == "2026-07-28"
        await upgraded.listening.wait()
        await changed.wait(1)
        assert [params.uri for params in await updated.wait(1)] == ["r://a"]

    assert upgraded.listened == {"toolsListChanged": True, "resourceSubscriptions": ["r://a"]}
    assert upgraded.levels == ["error"]


async def test_when_a_session_was_lost_whoever_listens_is_told_that_something_may_have_changed() -> None:
    """SUB-15, in spirit: between two sessions there was nobody to hear of it."""
    restarted, updated = Restarted(), Heard[Any]()
    async with scripted(restarted.script) as server, MCPClient.connect(server.url, resource_updated=updated) as client:
        await client.subscribe_resource("r://a")
        restarted.forget()
        await client.call_tool("t")
        assert [params.uri for params in await updated.wait(1)] == ["r://a"]


class Standing(Restarted):
    """A legacy server that can be listened to: its streams end when it forgets, and it may be away for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = anyio.Event()
        self.away = 0

    async def script(self, asked: Asked, talk: Talk) -> None:
        known = int(asked.headers.get("mcp-session-id", "s0")[1:]) > self.forgotten
        if asked.what == "GET" and known:
            ended = self.ended
            await talk.stream(b": here\n\n")
            await ended.wait()
        elif asked.what == "initialize" and self.away:
            self.away -= 1
            await talk.answer(503, b"starting", retry_after="0")
        else:
            await super().script(asked, talk)

    def forget(self) -> None:
        super().forget()
        self.ended.set()
        self.ended = anyio.Event()


async def test_who_only_listens_gets_a_new_session_too() -> None:
    """B067, SUB-15: no call was there to notice that the old one was lost; and it is tried until it works."""
    standing, updated = Standing(), Heard[Any]()
    async with scripted(standing.script) as server:
        target = StreamableHttp(server.url, reconnect=Reconnect(first=0.01))
        async with MCPClient.connect(target, resource_updated=updated) as client:
            await client.subscribe_resource("r://a")
            await server.until("GET")
            standing.away = 2
            standing.forget()
            assert [params.uri for params in await updated.wait(1)] == ["r://a"]
            await server.until("resources/subscribe", 2)

    assert server.count("initialize") == 4
    assert server.count("tools/call") == 0


async def test_closing_ends_the_attempts_to_come_back() -> None:
    standing = Standing()
    async with scripted(standing.script) as server:
        target = StreamableHttp(server.url, reconnect=Reconnect(first=0.01))
        async with MCPClient.connect(target, logging=lambda _: None) as client:
            await server.until("GET")
            standing.away = 1000
            standing.forget()
            await server.until("initialize", 2)
            with anyio.fail_after(20):
                await client.close()
