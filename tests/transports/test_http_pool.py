"""Connections of the client: one for each request that is under way, taken over by the next, closed in the end."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
import httpcore
import httpx
import pytest

from dedalus_mcp import MCPClient, MCPConnectionError
from dedalus_mcp_transports import http_pool
from dedalus_mcp_transports.http_client import USER_AGENT, StreamableHttp
from dedalus_mcp_transports.http_plain import PlainClient
from dedalus_mcp_transports.http_pool import Pool
from tests.transports.scripted_http import Asked, ScriptedHttp, Talk, answering, scripted

AT_ONCE = 24


@asynccontextmanager
async def pooled() -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=Pool(ssl.create_default_context()), timeout=None) as client:
        yield client


async def until_open(server: ScriptedHttp, number: int) -> None:
    with anyio.fail_after(20):
        while server.open != number:
            await anyio.wait_all_tasks_blocked()


async def hello(asked: Asked, talk: Talk) -> None:
    await talk.answer(200, b"hello")


async def silent(asked: Asked, talk: Talk) -> None:
    await talk.gone()


async def test_one_request_after_the_other_takes_one_connection() -> None:
    async with scripted(hello) as server, pooled() as client:
        for _ in range(3):
            assert (await client.get(server.url)).text == "hello"
        assert server.made == 1


async def test_each_origin_has_connections_of_its_own() -> None:
    """Else what is said to one server, with its token, would reach the other."""

    async def other(asked: Asked, talk: Talk) -> None:
        await talk.answer(200, b"other")

    async with scripted(hello) as one, scripted(other) as two, pooled() as client:
        for _ in range(2):
            assert (await client.get(one.url)).text == "hello"
            assert (await client.get(two.url)).text == "other"
        assert (one.made, two.made) == (1, 1)


async def test_connections_that_nobody_uses_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a burst of calls would keep its connections for as long as the program runs."""
    monkeypatch.setattr(http_pool, "IDLE_SECONDS", -1.0)  # a moment ago was too long ago
    async with scripted(hello) as server, pooled() as client:
        await client.get(server.url)
        await until_open(server, 0)
        await client.get(server.url)
        assert server.made == 2


async def test_a_connection_that_nobody_used_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A firewall may have forgotten it without a word: the request would wait for its timeout."""
    monkeypatch.setattr(http_pool, "IDLE_SECONDS", 1e-9)  # kept when it is given back, and too old a moment later
    async with scripted(hello) as server, pooled() as client:
        await client.get(server.url)
        await client.get(server.url)
        assert server.made == 2
        await until_open(server, 1)


async def test_the_end_closes_all_connections_also_those_in_use() -> None:
    async def one_idle(asked: Asked, talk: Talk) -> None:
        await (hello if asked.path == "/idle" else silent)(asked, talk)

    async with scripted(one_idle) as server, anyio.create_task_group() as group:
        async with pooled() as client:

            async def hang() -> None:
                with suppress(httpx.TransportError):
                    await client.get(server.url)

            group.start_soon(hang)
            await server.until("GET")
            await client.get(f"http://127.0.0.1:{server.port}/idle")
            assert server.open == 2
        await until_open(server, 0)


async def test_a_client_that_is_closed_makes_no_more_connections() -> None:
    async with scripted(hello) as server:
        client = PlainClient(Pool(ssl.create_default_context()), {})
        nothing: dict[str, str] = {}
        make = partial(client.build_request, headers=nothing, content=b"", timeout=(5, 5, 5, 5), extensions=nothing)
        response = await client.send(make("GET", server.url), stream=True, follow_redirects=False)
        assert [piece async for piece in response.aiter_raw()] == [b"hello"]
        await response.aclose()
        await client.aclose()
        await until_open(server, 0)
        with pytest.raises(RuntimeError, match="closed"):
            await client.send(make("GET", server.url), stream=True, follow_redirects=False)
        assert server.made == 1


async def test_a_response_that_outlives_the_client_is_not_kept() -> None:
    async with scripted(hello) as server:
        async with pooled() as client:
            response = await client.send(client.build_request("GET", server.url), stream=True)
        await response.aclose()
        await response.aclose()  # the second time, nothing
        await until_open(server, 0)


async def test_a_connection_that_was_left_in_the_middle_is_not_used_again() -> None:
    """What the server still says there would be taken for the answer to the next request."""
    asked_before = 0

    async def first_hangs(asked: Asked, talk: Talk) -> None:
        nonlocal asked_before
        asked_before += 1
        await (silent if asked_before == 1 else hello)(asked, talk)

    async with scripted(first_hangs) as server, pooled() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.get, server.url)
            await server.until("GET")
            group.cancel_scope.cancel()
        await until_open(server, 0)
        assert (await client.get(server.url)).text == "hello"
        assert server.made == 2


async def test_a_body_that_was_not_read_to_its_end_costs_its_connection() -> None:
    async def long(asked: Asked, talk: Talk) -> None:
        await talk.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"x" * 1000)
        await talk.gone()

    async with scripted(long) as server, pooled() as client:
        response = await client.send(client.build_request("GET", server.url), stream=True)
        await response.aclose()
        await until_open(server, 0)


async def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    """Servers close what nobody uses; a request must not fail for it."""

    async def once(asked: Asked, talk: Talk) -> None:
        await talk.answer(200, b"hello")
        talk.keeps_alive = False

    async with scripted(once) as server, pooled() as client:
        for number in (1, 2, 3):
            assert (await client.get(server.url)).text == "hello"
            await until_open(server, 0)
            assert server.made == number


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (b"", httpx.RemoteProtocolError),
        (b"nonsense\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", httpx.RemoteProtocolError),
    ],
)
async def test_what_goes_wrong_is_an_error_of_httpx(says: bytes, error: type[Exception]) -> None:
    """That is what authentication flows, and those who use the client's hooks, expect."""

    async def bad(asked: Asked, talk: Talk) -> None:
        await talk.raw(says)

    async with scripted(bad) as server, pooled() as client:
        with pytest.raises(error):
            await client.get(server.url)
        await until_open(server, 0)


async def test_a_server_that_is_not_there_is_an_error_of_httpx_too() -> None:
    async with scripted(hello) as server:
        url = server.url
    async with pooled() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_a_server_that_says_nothing_is_an_error_of_httpx_too() -> None:
    async with scripted(silent) as server, pooled() as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.get(server.url, timeout=httpx.Timeout(5, read=0.01))
        await until_open(server, 0)


async def test_a_connection_that_cannot_be_closed_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    close = httpcore.AsyncHTTPConnection.aclose

    async def badly(connection: httpcore.AsyncHTTPConnection) -> None:
        await close(connection)
        raise OSError("no")

    monkeypatch.setattr(http_pool, "IDLE_SECONDS", -1.0)
    monkeypatch.setattr(httpcore.AsyncHTTPConnection, "aclose", badly)
    async with scripted(hello) as server, pooled() as client:
        for _ in range(2):
            assert (await client.get(server.url)).text == "hello"


async def test_a_client_of_the_callers_is_left_open() -> None:
    async def call(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": []})

    async with scripted(answering(call)) as server, httpx.AsyncClient() as http_client:
        async with MCPClient.connect(StreamableHttp(server.url, http_client=http_client)) as client:
            await client.call_tool("t")
        assert not http_client.is_closed


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_the_proxy_that_the_environment_names_is_used(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": []})

    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with scripted(answering(call)) as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        async with MCPClient.connect("http://server.invalid/mcp") as client:
            await client.call_tool("t")
        assert {asked.path for asked in proxy.asked} == {"http://server.invalid/mcp"}
        monkeypatch.setenv("NO_PROXY", "server.invalid")
        with pytest.raises(MCPConnectionError):
            async with MCPClient.connect("http://server.invalid/mcp"):
                pass


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_calls_at_once_have_a_connection_each_and_later_ones_take_them_over(revision: str) -> None:
    server: ScriptedHttp
    together = anyio.Event()
    at_once = 0

    async def call(asked: Asked, talk: Talk) -> None:
        nonlocal at_once
        at_once += 1
        if at_once % AT_ONCE == 0:
            together.set()
        await together.wait()
        await talk.result({"content": [], "resultType": "complete"})

    async with scripted(answering(call, revision)) as server:
        async with MCPClient.connect(server.url) as client:
            for _ in range(3):
                together = anyio.Event()
                async with anyio.create_task_group() as group:
                    for _ in range(AT_ONCE):
                        group.start_soon(client.call_tool, "t")

        assert server.count("tools/call") == 3 * AT_ONCE
        assert AT_ONCE <= server.made <= AT_ONCE + 1  # and the stream, where one is tried for
        with anyio.fail_after(20):
            while server.open:
                await anyio.wait_all_tasks_blocked()


class Token(httpx.Auth):
    """An authentication, with which httpx's own client sends."""


@pytest.mark.parametrize("auth", [None, Token()])
async def test_cookies_are_shared(auth: httpx.Auth | None) -> None:
    """A balancer finds the process that has the session by them, whichever connection a call comes on."""

    async def call(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": []}, set_cookie="lane=1")

    async with (
        scripted(answering(call)) as server,
        MCPClient.connect(StreamableHttp(server.url, auth=auth)) as client,
    ):
        await client.call_tool("t")
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(client.call_tool, "t")

    calls = [asked for asked in server.asked if asked.what == "tools/call"]
    assert "cookie" not in calls[0].headers
    assert {asked.headers.get("cookie") for asked in calls[1:]} == {"lane=1"}


@pytest.mark.parametrize("auth", [None, Token()])
async def test_every_request_says_who_asks(auth: httpx.Auth | None) -> None:
    """Firewalls turn away whoever does not; what the program's own headers say comes first."""

    async def call(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": []})

    async with scripted(answering(call)) as server:
        for headers, says in ({}, USER_AGENT), ({"User-Agent": "mine"}, "mine"):
            server.asked.clear()
            async with MCPClient.connect(StreamableHttp(server.url, auth=auth, headers=headers)) as client:
                await client.call_tool("t")
            assert {asked.headers.get("user-agent") for asked in server.asked} == {says}
