"""One HTTP request and its answer: where it goes, and what is raised when it does not arrive."""

from __future__ import annotations

import gzip
import json
import traceback
import tracemalloc
from base64 import b64encode
from collections.abc import Generator
from contextlib import nullcontext

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream

from dedalus_mcp import MCPClient, StreamableHttp
from dedalus_mcp.auth.dpop import BearerAuth
from dedalus_mcp.errors import MCPConnectionError, RemoteProtocolError
from dedalus_mcp_transports.http_sender import address, redirected, same_origin
from tests.transports.scripted_http import SESSION, Asked, Script, ScriptedHttp, Talk, legacy, scripted


def redirecting(status: int, location: str) -> Script:
    async def script(asked: Asked, talk: Talk) -> None:
        if asked.path.startswith("/mcp") and not asked.path.endswith("/"):
            await talk.answer(status, location=location)
        elif not await legacy(asked, talk):
            await talk.result({"content": []})

    return script


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("absolute", [False, True])
async def test_a_redirect_to_the_same_origin_is_followed_with_the_whole_request(status: int, absolute: bool) -> None:
    """B073."""
    servers: list[ScriptedHttp] = []

    async def script(asked: Asked, talk: Talk) -> None:
        location = servers[0].url + "/" if absolute else "/mcp/"
        await redirecting(status, location)(asked, talk)

    async with scripted(script) as server:
        servers.append(server)
        async with MCPClient.connect(server.url, headers={"Authorization": "Bearer x"}) as client:
            await client.call_tool("t", {"a": 1})

    calls = [asked for asked in server.asked if asked.what == "tools/call"]
    assert [asked.path for asked in calls] == ["/mcp", "/mcp/"]
    assert calls[0].body == calls[1].body
    assert calls[1].headers["mcp-session-id"] == SESSION
    assert calls[1].headers["authorization"] == "Bearer x"


@pytest.mark.parametrize(
    ("user", "sent"),
    [("alice:pass%40word", "alice:pass@word"), ("alice", "alice:"), ("%C3%A9:%3A", "é::"), (":x", ":x")],
)
@pytest.mark.parametrize("way", ["plain", "redirected", "proxied", "oldest"])
async def test_the_user_of_a_url_is_sent_with_every_request(
    monkeypatch: pytest.MonkeyPatch, way: str, user: str, sent: str
) -> None:
    """As other clients of HTTP do it; also after a redirect that leaves it out."""
    servers: list[ScriptedHttp] = []

    async def script(asked: Asked, talk: Talk) -> None:
        if way == "redirected":
            await redirecting(307, servers[0].url + "/")(asked, talk)
        elif way == "oldest":
            await talk.answer(404)
        elif not await legacy(asked, talk):
            await talk.result({"content": []})

    if way == "proxied":
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # for others: it goes through httpx's own transport
    async with scripted(script) as server:
        servers.append(server)
        url = server.url.replace("//", f"//{user}@")
        with nullcontext() if way != "oldest" else pytest.raises(MCPConnectionError):
            async with MCPClient.connect(url) as client:
                await client.call_tool("t")

    assert len(server.asked) > 2
    expected = "Basic " + b64encode(sent.encode()).decode()
    assert {asked.headers.get("authorization") for asked in server.asked} == {expected}


async def test_an_authentication_that_is_given_goes_before_the_user_of_a_url() -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        if not await legacy(asked, talk):
            await talk.result({"content": []})

    async with scripted(script) as server:
        url = server.url.replace("//", "//alice:pass@")
        await (await MCPClient.connect(url, auth=BearerAuth("token"))).close()

    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer token"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_is_sent_to_another_origin(status: int) -> None:
    """B073, HTTP-42: not even a connection is made."""

    async def other(asked: Asked, talk: Talk) -> None:
        await talk.answer(200)

    async with scripted(other) as elsewhere, scripted(redirecting(status, elsewhere.url + "/")) as server:
        with pytest.raises(MCPConnectionError, match="sends us on to") as raised:
            await MCPClient.connect(server.url, headers={"Authorization": "Bearer x"})
        assert elsewhere.most == 0

    assert raised.value.status_code == status
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_lose_the_body_is_refused(status: int) -> None:
    """B073."""
    async with scripted(redirecting(status, "/mcp/")) as server:
        with pytest.raises(MCPConnectionError, match="sends us on to '/mcp/'"):
            await MCPClient.connect(server.url)


async def test_redirects_in_a_circle_end() -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        await talk.answer(307, location="/mcp")

    async with scripted(script) as server:
        with pytest.raises(MCPConnectionError, match="in a circle: 5 redirects"):
            await MCPClient.connect(server.url)


@pytest.mark.parametrize("location", ["http://127.0.0.1:99999/", "http://[::1", "ftp://127.0.0.1/", ""])
async def test_a_redirect_to_nowhere_is_refused(location: str) -> None:
    async with scripted(redirecting(307, location)) as server:
        with pytest.raises(MCPConnectionError):
            await MCPClient.connect(server.url)


@pytest.mark.parametrize(
    ("here", "there", "same"),
    [
        ("http://a/x", "http://a/y", True),
        ("http://a/x", "http://a:80/y", True),
        ("http://A/x", "http://a/y", True),
        ("http://a/x", "https://a/y", True),
        ("http://a:80/x", "https://a:443/y", True),
        ("https://a/x", "http://a/y", False),
        ("http://a:8080/x", "https://a/y", False),
        ("http://a/x", "https://a:8443/y", False),
        ("http://a/x", "https://b/y", False),
        ("http://a/x", "http://a:81/y", False),
        ("http://a/x", "http://a@b/y", False),
        ("http://a/x", "http://a:port/y", False),
        ("http://a/x", "http://[a/y", False),
    ],
)
def test_only_the_same_place_is_the_same_place(here: str, there: str, same: bool) -> None:
    """B073: the same origin, or its upgrade to TLS on the usual ports."""
    assert redirected(here, there) == (there if same else None)


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert address("https://user:pass@host:8/mcp?key=1#x") == "https://host:8/mcp"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/mcp", "http://no-such-host.invalid/mcp"], ids=["refused", "no name"]
)
async def test_a_server_that_is_not_there_is_told_with_address_and_cause(url: str) -> None:
    """B155: one typed error, an `OSError`, and no group."""
    with pytest.raises(MCPConnectionError) as raised:
        await MCPClient.connect(url + "?key=secret")

    error = raised.value
    assert isinstance(error, OSError)
    assert f"cannot reach {url}: " in str(error)
    assert "secret" not in str(error)
    assert error.__cause__ is not None
    assert error.status_code is None
    assert not error.begun


async def test_a_server_without_tls_is_told_as_such() -> None:
    """B155."""

    async def refuse(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, refuse)
        with anyio.fail_after(20):
            with pytest.raises(MCPConnectionError, match="cannot reach https://") as raised:
                await MCPClient.connect(f"https://127.0.0.1:{port}/mcp")
            assert raised.value.__cause__ is not None
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("here", "there", "same"),
    [
        ("http://h/a", "http://h/b?c", True),
        ("http://h/a", "http://H:80/", True),
        ("https://h:443/a", "https://h/", True),
        ("http://u:p@h/a", "http://h/", True),
        ("http://h/a", "https://h/", False),
        ("http://h/a", "http://h:81/", False),
        ("http://h/a", "http://h.example/", False),
        ("http://h/a", "http://[", False),
        ("http://h/a", "http://h:x/", False),
        ("http://h/a", "", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(here: str, there: str, same: bool) -> None:
    assert same_origin(here, there) is same


class Careless(httpx.Auth):
    """Shows what a file held, with its newline."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        request.headers["authorization"] = "Bearer s3cret\n"
        yield request


async def test_a_header_that_cannot_be_sent_is_not_told() -> None:
    """HTTP clients say back what they cannot send, and here that is a token."""

    async def never(asked: Asked, talk: Talk) -> None:
        raise AssertionError("nothing is sent")

    async with scripted(never) as server:
        with pytest.raises(MCPConnectionError, match="the request is not legal") as raised:
            await MCPClient.connect(server.url, auth=Careless())

    assert "s3cret" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_small_answer_that_unfolds_without_end_costs_no_memory(status: int, layers: int) -> None:
    body = gzip.compress(b"\0" * 50_000_000)
    if layers == 2:
        body = gzip.compress(body)

    async def script(asked: Asked, talk: Talk) -> None:
        await talk.answer(status, body, content_encoding=", ".join(["gzip"] * layers), content_type="application/json")

    tracemalloc.start()
    try:
        async with scripted(script) as server:
            with pytest.raises((MCPConnectionError, RemoteProtocolError)):
                await MCPClient.connect(StreamableHttp(server.url, max_message=1_000_000))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 20_000_000


async def test_answers_may_come_compressed() -> None:
    async def script(asked: Asked, talk: Talk) -> None:
        if not await legacy(asked, talk):
            body = gzip.compress(json.dumps(talk.reply({"content": []})).encode())
            await talk.answer(200, body, content_encoding="gzip", content_type="application/json")

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        assert (await client.call_tool("t")).content == []

    assert {asked.headers["accept-encoding"] for asked in server.asked} == {"gzip, deflate"}
