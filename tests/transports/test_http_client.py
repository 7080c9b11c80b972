"""`StreamableHttp`, and our client with our own server: every revision, in both directions."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx
import pytest
import uvicorn

from dedalus_mcp import Context, HttpSse, MCPClient, MCPServer, StdioServer, StreamableHttp, prompt, tool
from dedalus_mcp.client.opening import remembered
from dedalus_mcp.errors import AuthRequiredError, ToolError
from dedalus_mcp.reaching import open_target
from dedalus_mcp.server.context import get_context
from dedalus_mcp.types import ElicitRequestParams, ResourceUpdatedNotificationParams
from dedalus_mcp.types.revisions import LEGACY, REVISIONS
from tests.client.counting import back_to, living_tasks
from tests.interaction.reach import Heard
from tests.interaction.resource_server import make
from tests.transports.scripted_http import Asked, Talk, legacy, scripted

ONLY_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn knows no other


@pytest.mark.parametrize("url", ["", "mcp", "ftp://host/mcp", "http://", "file:///mcp", "http:///mcp"])
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"legal are http:// and https:// URLs"):
        StreamableHttp(url)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_is_positive(timeout: float) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds"):
        StreamableHttp("http://host/mcp", timeout=timeout)


def test_its_text_tells_no_secrets() -> None:
    target = StreamableHttp("https://me:pass@host/mcp?key=1", headers={"Authorization": "x"})

    assert repr(target) == "StreamableHttp('https://host/mcp')"
    assert target.era_key == "https://host/mcp"


@pytest.mark.parametrize(
    "value", ["Bearer s3cret\n", "Bearer s3cret ", " s3cret", "s3cret\r\nx: y", "s3cret\u20ac", "s3cret\0"]
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(value: str) -> None:
    with pytest.raises(ValueError, match="'Authorization' is none: legal is printable ASCII") as raised:
        StreamableHttp("http://host/mcp", headers={"Authorization": value})

    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\n", "\u20ac"])
def test_a_header_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a header"):
        StreamableHttp("http://host/mcp", headers={name: "x"})


@pytest.mark.parametrize("value", ["", "x", "Bearer a b\tc", "~!"])
def test_a_header_may_be_what_http_allows(value: str) -> None:
    assert StreamableHttp("http://host/mcp", headers={"A": value}).headers == {"a": value}


def test_a_url_is_a_target_and_its_settings_go_with_nothing_else() -> None:
    opened = open_target("http://host/mcp", headers={"A": "b"}, auth=("u", "p"))
    assert isinstance(opened, StreamableHttp)
    assert (opened.url, opened.headers, opened.auth) == ("http://host/mcp", {"a": "b"}, ("u", "p"))

    settings: list[dict[str, Any]] = [{"headers": {}}, {"auth": ("u", "p")}, {"http_client": object()}]
    for setting in settings:
        with pytest.raises(TypeError, match="go with a URL, not with StdioServer"):
            open_target(StdioServer("x"), **setting)


class ByShape:
    """What is asked of an HTTP client, and nothing else: as a class of another package has it."""

    def __init__(self, inner: httpx.AsyncClient) -> None:
        self.build_request = inner.build_request
        self.send = inner.send
        self.closed = False

    async def aclose(self) -> None:
        self.closed = True


async def test_an_http_client_of_yours_is_used_by_its_shape_and_not_closed() -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        if not await legacy(asked, talk):
            await talk.result({"content": []})

    async with scripted(script) as server, httpx.AsyncClient(headers={"x-mine": "1"}, trust_env=False) as http:
        mine = ByShape(http)
        async with MCPClient.connect(server.url, http_client=mine, headers={"x-key": "2"}) as client:
            await client.call_tool("t")
        assert not mine.closed
        assert not http.is_closed

    assert {(asked.headers["x-mine"], asked.headers["x-key"]) for asked in server.asked} == {("1", "2")}


async def test_authentication_is_the_http_clients_own() -> None:
    """B155: what it cannot cure is typed."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.headers.get("authorization") != "Basic dTpw":
            await talk.answer(401, b"who?", www_authenticate="Basic")
        elif not await legacy(asked, talk):
            await talk.result({"content": []})

    async with scripted(script) as server:
        async with MCPClient.connect(server.url, auth=("u", "p")) as client:
            await client.call_tool("t")
        with pytest.raises(AuthRequiredError) as raised:
            await MCPClient.connect(server.url, auth=("u", "wrong"))

    assert raised.value.www_authenticate == "Basic"


async def test_a_cancelled_connect_is_cancelled_and_leaves_nothing() -> None:
    """B097, B157."""

    async def script(asked: Asked, talk: Talk) -> None:
        await talk.gone()

    before = living_tasks()
    async with scripted(script) as server:
        with anyio.move_on_after(10) as scope:
            async with anyio.create_task_group() as group:

                async def cancel() -> None:
                    await server.until("server/discover")
                    scope.cancel()

                group.start_soon(cancel)
                await MCPClient.connect(server.url)
        assert scope.cancelled_caught
    await back_to(before)


async def test_what_is_raised_inside_comes_out_as_itself() -> None:
    """B155."""

    async def script(asked: Asked, talk: Talk) -> None:
        await legacy(asked, talk)

    async def use(url: str) -> None:
        async with MCPClient.connect(url):
            raise KeyError("mine")

    async with scripted(script) as server:
        with pytest.raises(KeyError, match="mine"):
            await use(server.url)


@tool
async def add(a: int, b: int) -> int:
    return a + b


@tool
async def count(ctx: Context, to: int) -> int:
    for step in range(1, to + 1):
        await ctx.report_progress(step, total=to)
    return to


@tool
async def ask() -> str:
    server = get_context().server
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    answer = await server.request_elicitation(ElicitRequestParams(message="Who?", requestedSchema=schema))
    return f"{answer.action}: {answer.content}"


@tool
async def wait() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        CANCELLED.append(1)


CANCELLED: list[int] = []


@prompt("say", arguments=[{"name": "what", "required": True}])
def say(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return [("user", arguments["what"])]


class Unsignalled(uvicorn.Server):
    """Leaves the signals to the test run."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def serving(server: MCPServer | None = None, **settings: Any) -> AsyncGenerator[str]:
    """Serve a server of ours on a port of this machine."""
    if server is None:
        server = MCPServer("test", version="3")
        server.collect(add, count, ask, wait, say)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(server.asgi_app(**settings), log_level="warning", lifespan="on")
    host = Unsignalled(config)
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve, [listener])
        with anyio.fail_after(20):
            while not host.started:
                await anyio.lowlevel.checkpoint()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            remembered.forget(StreamableHttp(url))  # another server may have had this port before
            yield url
        host.should_exit = True


@ONLY_ASYNCIO
@pytest.mark.parametrize("revision", [*REVISIONS, None])
async def test_every_revision_works_over_http(revision: str | None) -> None:
    heard: list[float] = []
    async with serving() as url, MCPClient.connect(url, revision=revision) as client:
        assert client.revision == (revision or REVISIONS[-1])
        assert client.server_info is not None
        assert client.server_info.version == "3"
        assert {each.name for each in (await client.list_tools()).tools} == {"add", "count", "ask", "wait"}
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.content[0].text == "3"  # type: ignore[union-attr]
        await client.call_tool("count", {"to": 3}, progress=lambda told: heard.append(told.progress))
        assert len((await client.get_prompt("say", {"what": "größe"})).messages) == 1
        await client.ping()
        with pytest.raises(ToolError):
            await client.call_tool("add", {"a": "x"}, raise_on_error=True)

    assert heard == [1, 2, 3]


@ONLY_ASYNCIO
@pytest.mark.parametrize("revision", [each for each in LEGACY if each >= "2025-06-18"])
async def test_a_question_travels_on_the_stream_of_its_call_and_the_answer_by_post(revision: str) -> None:
    def answer(params: ElicitRequestParams) -> dict[str, Any]:
        return {"name": params.message}

    async with serving() as url, MCPClient.connect(url, revision=revision, elicitation=answer) as client:
        results: list[Any] = []

        async def call() -> None:
            results.append((await client.call_tool("ask")).content[0])

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(call)

    assert {each.text for each in results} == {"accept: {'name': 'Who?'}"}
    assert len(results) == 20


@ONLY_ASYNCIO
@pytest.mark.parametrize("revision", [each for each in REVISIONS if each >= "2025-03-26"])
async def test_every_post_holds_one_message(revision: str) -> None:
    """HTTP-10, HTTP-11, RPC-19: however many there are at once; and no reply to a server of 2026-07-28."""
    said: list[Any] = []

    async def note(request: httpx.Request) -> None:
        if request.method == "POST":
            said.append(json.loads(request.content))

    def answer(params: ElicitRequestParams) -> dict[str, Any]:
        return {"name": params.message}

    async def call(client: MCPClient, number: int) -> None:
        match number % 4:
            case 0:
                await client.call_tool("add", {"a": 1, "b": number})
            case 1:
                await client.call_tool("ask")
            case 2:
                with pytest.raises(TimeoutError):
                    await client.call_tool("wait", timeout=0.1)
            case _:
                with anyio.move_on_after(0.1):
                    await client.call_tool("wait")

    async with (
        serving() as url,
        httpx.AsyncClient(trust_env=False, event_hooks={"request": [note]}) as http,
        MCPClient.connect(url, revision=revision, elicitation=answer, http_client=http) as client,
        anyio.create_task_group() as group,
    ):
        for number in range(24):
            group.start_soon(call, client, number)

    assert len(said) > 24
    shapes = {(isinstance(each, dict), each.get("jsonrpc"), "method" in each) for each in said}
    replies = [(True, "2.0", False)] if revision in ("2025-06-18", "2025-11-25") else []
    assert shapes == {(True, "2.0", True), *replies}


@ONLY_ASYNCIO
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_cancelled_call_is_cancelled_at_the_server(revision: str) -> None:
    CANCELLED.clear()
    async with serving() as url, MCPClient.connect(url, revision=revision) as client:
        with pytest.raises(TimeoutError):
            await client.call_tool("wait", timeout=0.1)
        with anyio.fail_after(20):
            while not CANCELLED:
                await client.call_tool("add", {"a": 1, "b": 2})


@ONLY_ASYNCIO
async def test_a_client_is_opened_used_and_closed_in_different_tasks() -> None:
    """B094."""
    async with serving() as url:
        before = living_tasks()
        client = await asyncio.create_task(_connect(url))
        other = await asyncio.create_task(_connect(url))
        assert not (await asyncio.create_task(client.call_tool("add", {"a": 1, "b": 2}))).isError
        await asyncio.create_task(client.close())
        await other.call_tool("add", {"a": 1, "b": 2})
        await other.close()
        await back_to(before + 2)  # the server's two connections may still be open


async def _connect(url: str) -> MCPClient:
    return await MCPClient.connect(url, revision="2025-11-25")


@ONLY_ASYNCIO
async def test_a_server_that_lost_the_session_gets_a_new_one() -> None:
    """B067: with our own server, whose session somebody else ends."""
    sessions: list[str] = []

    async def note(request: httpx.Request) -> None:
        sessions.append(request.headers.get("mcp-session-id", ""))

    async with (
        serving() as url,
        httpx.AsyncClient(event_hooks={"request": [note]}, trust_env=False) as http,
        MCPClient.connect(url, revision="2025-11-25", http_client=http) as client,
    ):
        await client.ping()
        ended = await http.delete(url, headers={"mcp-session-id": sessions[-1]})
        assert ended.status_code == 204
        assert not (await client.call_tool("add", {"a": 1, "b": 2})).isError

    assert len(set(sessions) - {""}) == 2


@ONLY_ASYNCIO
@pytest.mark.parametrize("revision", REVISIONS[1:])
async def test_changes_are_heard_over_http(revision: str) -> None:
    """SUB-01, SUB-05, SUB-08, HTTP-26: with the same words on every revision, and nothing is left open."""
    tools, resources = Heard[Any](), Heard[ResourceUpdatedNotificationParams]()
    server = make()
    async with serving(server) as url:
        before = living_tasks()
        callbacks: dict[str, Any] = {"tools_list_changed": tools, "resource_updated": resources}
        async with MCPClient.connect(url, revision=revision, **callbacks) as client:
            for uri in ("demo://text", "demo://json", "demo://bytes"):
                await client.subscribe_resource(uri)
            await client.unsubscribe_resource("demo://json")
            for uri in ("demo://parts", "demo://json", "demo://text", "demo://bytes"):
                await client.call_tool("touch", {"uri": uri})
            assert sorted(told.uri for told in await resources.wait(2)) == ["demo://bytes", "demo://text"]
            server.collect(add)
            await tools.wait(1)
            assert "add" in {each.name for each in (await client.list_tools()).tools}
        await back_to(before + 2)  # the server's two connections may still be open


@ONLY_ASYNCIO
async def test_what_a_broken_stream_of_changes_did_not_bring_is_told_after_it() -> None:
    """SUB-10, SUB-15: the stream is cut under the client's hands."""
    streams: list[Any] = []

    async def note(response: httpx.Response) -> None:
        if response.request.headers.get("mcp-method") == "subscriptions/listen":
            streams.append(response)

    tools = Heard[Any]()
    async with (
        serving(make()) as url,
        httpx.AsyncClient(event_hooks={"response": [note]}, trust_env=False) as http,
        MCPClient.connect(url, revision="2026-07-28", http_client=http, tools_list_changed=tools) as client,
    ):
        assert len(streams) == 1
        await streams[0].extensions["network_stream"].aclose()
        await tools.wait(1)
        assert len(streams) == 2
        assert not (await client.list_tools()).nextCursor


@ONLY_ASYNCIO
async def test_a_server_that_lost_the_session_knows_the_subscriptions_of_the_next() -> None:
    """B067: with our own server."""
    sessions: list[str] = []

    async def note(request: httpx.Request) -> None:
        sessions.append(request.headers.get("mcp-session-id", ""))

    heard = Heard[ResourceUpdatedNotificationParams]()
    async with (
        serving(make()) as url,
        httpx.AsyncClient(event_hooks={"request": [note]}, trust_env=False) as http,
        MCPClient.connect(url, revision="2025-11-25", http_client=http, resource_updated=heard) as client,
    ):
        await client.subscribe_resource("demo://text")
        assert (await http.delete(url, headers={"mcp-session-id": sessions[-1]})).status_code == 204
        await client.call_tool("touch", {"uri": "demo://text"})
        await heard.wait(1)


@ONLY_ASYNCIO
async def test_a_server_of_ours_is_spoken_to_by_the_oldest_transport() -> None:
    """HTTP-05, HTTP-06, HTTP-77: found at its address, or asked for."""
    heard: list[float] = []
    async with serving(sse_path="/sse") as url:
        before = living_tasks()
        address = url.replace("/mcp", "/sse")
        for target in (address, HttpSse(address)):
            async with MCPClient.connect(target, revision="2024-11-05") as client:
                result = await client.call_tool("count", {"to": 3}, progress=lambda told: heard.append(told.progress))
                assert not result.isError
                with pytest.raises(TimeoutError):
                    await client.call_tool("wait", timeout=0.1)
                await client.ping()
        await back_to(before + 2)  # the server's two connections may still be open

    assert heard == [1, 2, 3] * 2
