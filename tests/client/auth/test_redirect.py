"""The listener that a user comes back to: on this machine, for this request, and not for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from dedalus_mcp.client.auth import AuthError, HeadlessRedirect, LoopbackRedirect, TokenError
from dedalus_mcp.client.auth.redirect import MAX_HEAD, MAX_VISITORS, Landing
from tests.client.auth.scene import MCP, Scene
from tests.client.auth.world import Guard, World

PAGE = "https://as.example/authorize?state=s3cret"


@asynccontextmanager
async def waiting(
    redirect: LoopbackRedirect, state: str = "s3cret"
) -> AsyncGenerator[tuple[Landing, Callable[[], Any]]]:
    """Somebody has been sent away; the second value waits until they are back."""
    results: list[str] = []
    done = anyio.Event()
    with anyio.fail_after(20):
        async with redirect.listen(()) as landing, anyio.create_task_group() as group:

            async def send() -> None:
                results.append(await landing.send(PAGE, state))
                done.set()

            async def back() -> str:
                await done.wait()
                return results[0]

            group.start_soon(send)
            yield landing, back
            group.cancel_scope.cancel()


def opened(pages: list[str]) -> Callable[[str], bool]:
    def open_page(url: str) -> bool:
        pages.append(url)
        return True

    return open_page


async def get(url: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.get(url)


async def test_a_user_is_sent_away_and_comes_back() -> None:
    pages: list[str] = []
    sent = anyio.Event()

    async def open_page(url: str) -> None:
        pages.append(url)
        sent.set()

    async with waiting(LoopbackRedirect(open_page=open_page)) as (landing, back):
        await sent.wait()
        answer = await get(f"{landing.uri}?code=c&state=s3cret&iss=https%3A%2F%2Fas.example")
        assert await back() == f"{landing.uri}?code=c&state=s3cret&iss=https%3A%2F%2Fas.example"

    assert pages == [PAGE]
    assert urlsplit(landing.uri).hostname == "127.0.0.1"
    assert answer.status_code == 200
    assert "You can close this page" in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_a_user_who_said_no_is_not_told_that_it_is_done() -> None:
    async with waiting(LoopbackRedirect(open_page=opened([]))) as (landing, back):
        answer = await get(f"{landing.uri}?error=access_denied&state=s3cret")
        assert "error=access_denied" in await back()

    assert "Not signed in" in answer.text
    assert "Done" not in answer.text


@pytest.mark.parametrize(
    "target",
    [
        "/callback?code=evil&state=guessed",
        "/callback?code=evil",
        "/callback",
        "/callback?state=%FF%FE",
        "/callback?" + "&".join(f"a{n}=1" for n in range(100)),
        "/favicon.ico?state=s3cret",
        "/",
    ],
)
async def test_other_visitors_do_not_count(target: str) -> None:
    """AUTH-36: whoever does not know the state is not the user, and learns nothing."""
    async with waiting(LoopbackRedirect(open_page=opened([]))) as (landing, back):
        stranger = await get(landing.uri.removesuffix("/callback") + target)
        assert (await get(f"{landing.uri}?code=c&state=s3cret")).status_code == 200
        assert await back() == f"{landing.uri}?code=c&state=s3cret"

    assert stranger.status_code == 404
    assert "evil" not in stranger.text


async def test_only_the_first_answer_counts() -> None:
    async with waiting(LoopbackRedirect(open_page=opened([]))) as (landing, back):
        await get(f"{landing.uri}?code=first&state=s3cret")
        await get(f"{landing.uri}?code=second&state=s3cret")
        assert "code=first" in await back()


@pytest.mark.parametrize(
    "said",
    [
        b"POST /callback?code=c&state=s3cret HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"x" * (MAX_HEAD + 10),
        b"GET /callback?code=c&state=s3cret HTTP/1.1\r\nhost: cut off",
        b"",
    ],
)
async def test_what_is_no_request_does_no_harm(said: bytes) -> None:
    async with waiting(LoopbackRedirect(open_page=opened([]))) as (landing, back):
        async with await anyio.connect_tcp("127.0.0.1", urlsplit(landing.uri).port or 0) as stream:
            try:
                await stream.send(said)
                await stream.send_eof()
            except (anyio.BrokenResourceError, OSError):
                pass
        assert (await get(f"{landing.uri}?code=c&state=s3cret")).status_code == 200
        assert "code=c" in await back()


async def test_those_who_connect_and_say_nothing_do_not_keep_the_user_out() -> None:
    async with waiting(LoopbackRedirect(open_page=opened([]))) as (landing, back):
        port = urlsplit(landing.uri).port or 0
        silent = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(2 * MAX_VISITORS)]
        with anyio.fail_after(20):
            assert (await get(f"{landing.uri}?code=c&state=s3cret")).status_code == 200
        assert "code=c" in await back()
        for stream in silent:
            await stream.aclose()


async def test_a_user_who_does_not_come_back_is_not_waited_for_for_ever() -> None:
    redirect = LoopbackRedirect(open_page=opened([]), seconds=0.01)

    async with redirect.listen(()) as landing:
        with pytest.raises(AuthError, match=r"nobody came back from .*/authorize' within 0\.01 s") as told:
            await landing.send(PAGE, "s3cret")

    assert "s3cret" not in str(told.value)


async def test_the_listener_is_gone_when_nobody_waits_any_more() -> None:
    async with LoopbackRedirect(open_page=opened([])).listen(()) as landing:
        port = urlsplit(landing.uri).port or 0

    with pytest.raises(OSError):  # noqa: PT011 - what it says depends on the system
        await anyio.connect_tcp("127.0.0.1", port)


async def test_a_machine_without_a_browser_is_told_of() -> None:
    async with LoopbackRedirect(open_page=lambda url: False).listen(()) as landing:
        with pytest.raises(AuthError, match="there is no browser to sign in with"):
            await landing.send(PAGE, "s3cret")


@pytest.mark.parametrize("error", [OSError(7, "Argument list too long"), RuntimeError("no display"), ValueError()])
async def test_a_page_that_cannot_be_opened_is_told_of(error: Exception) -> None:
    """It must not look as if the MCP server could not be reached."""

    def open_page(url: str) -> None:
        raise error

    async with LoopbackRedirect(open_page=open_page).listen(()) as landing:
        with pytest.raises(AuthError, match=f"the page to sign in cannot be opened: {type(error).__name__}") as caught:
            await landing.send(PAGE, "s3cret")

    assert caught.value.__cause__ is error


async def test_a_browser_that_is_never_closed_keeps_nobody_waiting() -> None:
    closed = threading.Event()

    def open_page(url: str) -> None:
        closed.wait(20)

    try:
        async with waiting(LoopbackRedirect(open_page=open_page)) as (landing, back):
            await get(f"{landing.uri}?code=c&state=s3cret")
            with anyio.fail_after(20):
                assert (await back()).endswith("?code=c&state=s3cret")
    finally:
        closed.set()


async def test_a_browser_that_never_opens_is_waited_for_no_longer_than_the_user() -> None:
    async def open_page(url: str) -> None:
        await anyio.sleep_forever()

    async with LoopbackRedirect(open_page=open_page, seconds=0.01).listen(()) as landing:
        with anyio.fail_after(20), pytest.raises(AuthError, match=r"nobody came back from .* within 0\.01 s"):
            await landing.send(PAGE, "s3cret")


async def test_a_page_may_be_opened_by_a_coroutine() -> None:
    pages: list[str] = []
    sent = anyio.Event()

    async def open_page(url: str) -> None:
        await anyio.lowlevel.checkpoint()
        pages.append(url)
        sent.set()

    async with waiting(LoopbackRedirect(open_page=open_page)) as (landing, back):
        await sent.wait()
        await get(f"{landing.uri}?code=c&state=s3cret")
        await back()

    assert pages == [PAGE]


async def test_the_port_of_an_earlier_registration_is_used_again() -> None:
    """Servers that compare redirect URIs byte for byte know that one."""
    redirect = LoopbackRedirect(open_page=opened([]))
    async with redirect.listen(()) as landing:
        before = landing.uri

    async with redirect.listen(("https://elsewhere/callback", "http://127.0.0.1:x/callback", before)) as landing:
        assert landing.uri == before


async def test_another_port_is_found_where_that_is_taken() -> None:
    redirect = LoopbackRedirect(open_page=opened([]))

    async with redirect.listen(()) as first, redirect.listen((first.uri,)) as second:
        assert first.uri != second.uri


async def test_a_port_that_must_be_and_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AuthError, match=f"nobody can come back to 127.0.0.1, port {port}"):
            async with LoopbackRedirect(port=port).listen(()):
                pass


async def test_the_parts_of_the_address_can_be_chosen() -> None:
    redirect = LoopbackRedirect(host="localhost", path="/oauth/done", open_page=opened([]))

    async with redirect.listen(()) as landing:
        assert urlsplit(landing.uri).hostname == "localhost"
        assert urlsplit(landing.uri).path == "/oauth/done"


@pytest.mark.parametrize("host", ["0.0.0.0", "example.com", "192.168.1.1", ""])
def test_a_listener_is_on_this_machine_alone(host: str) -> None:
    """AUTH-47."""
    with pytest.raises(ValueError, match="a listener is on this machine"):
        LoopbackRedirect(host=host)


@pytest.mark.parametrize("path", ["callback", "/call back", "/callback?x=1", "/callback#x", "/ü", "/a\r\nb"])
def test_a_path_is_a_path(path: str) -> None:
    with pytest.raises(ValueError, match="a path begins with a slash"):
        LoopbackRedirect(path=path)


async def test_a_whole_sign_in_by_a_listener() -> None:
    scene = Scene()

    async def browser(url: str) -> None:
        answer = await scene.world.client().get(url)  # the page of the authorization server
        await get(answer.headers["location"])  # and where it leads, on a real socket

    answer = await scene.visit(redirect=LoopbackRedirect(open_page=browser))

    assert answer.status_code == 200
    assert scene.server.authorizations[0]["redirect_uri"].startswith("http://127.0.0.1:")


async def test_two_who_sign_in_at_once_with_one_issuer_both_stay_signed_in() -> None:
    """Each of them is another client to it: one refreshes with its own name alone."""
    scene = Scene()
    urls = [MCP, "http://localhost:9001/mcp"]
    Guard(scene.world, urls[1], scene.server)
    both, arrived = anyio.Event(), list[str]()

    async def browser(url: str) -> None:
        async with httpx.AsyncClient(transport=scene.world) as http:
            arrived.append((await http.get(url)).headers["location"])
        if len(arrived) == 2:
            both.set()
        await both.wait()
        await get(arrived.pop())

    def client() -> httpx.AsyncClient:
        return scene.world.client(scene.auth(redirect=LoopbackRedirect(open_page=browser)))

    clients = [client(), client()]
    for _ in range(3):
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for http, url in zip(clients, urls, strict=True):
                    group.start_soon(http.post, url)
        scene.server.revoke_all()

    assert sorted(scene.grants()) == [*["authorization_code"] * 2, *["refresh_token"] * 4]
    assert scene.server.reused == []


async def test_a_user_who_does_not_agree_is_an_error_like_any_other() -> None:
    """And no group of errors, though a listener was open round it."""
    scene = Scene()
    scene.server.answer_user = lambda fields: {"state": fields["state"], "iss": fields["iss"], "error": "access_denied"}

    async def browser(url: str) -> None:
        answer = await scene.world.client().get(url)
        await get(answer.headers["location"])

    with pytest.raises(TokenError, match="access_denied"):
        await scene.visit(redirect=LoopbackRedirect(open_page=browser))


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (302, {"location": "https://as.example/login"}),
        (302, {}),
        (500, {"location": "http://localhost:3000/callback?code=c"}),
    ],
)
async def test_a_page_that_needs_somebody_is_no_page_for_a_headless_client(
    status: int, headers: dict[str, str]
) -> None:
    world = World()
    world.at("https://as.example/authorize", lambda request: httpx.Response(status, headers=headers))

    with pytest.raises(AuthError, match=r"/authorize' answers .* does not send us back to") as caught:
        await world.redirect().send(PAGE, "s3cret")

    assert "s3cret" not in str(caught.value)


async def test_a_page_that_cannot_be_reached_is_told_of() -> None:
    with pytest.raises(AuthError, match="the page to sign in cannot be reached: ConnectError"):
        await World().redirect().send(PAGE, "s3cret")


@pytest.mark.parametrize("url", ["https://as.example/" + "x" * 70_000, "https://xn--a/", "https://xn--/"])
async def test_a_page_that_no_client_can_ask_for_is_told_of(url: str) -> None:
    with pytest.raises(AuthError, match="the page to sign in cannot be reached"):
        await World().redirect().send(url, "s3cret")


async def test_a_headless_client_makes_do_without_a_client_of_its_own() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(AuthError, match="cannot be reached"):
        await HeadlessRedirect().send(f"http://127.0.0.1:{port}/authorize", "s3cret")


async def test_the_server_is_named_where_nobody_can_sign_in() -> None:
    scene = Scene()
    scene.world.gone("http://localhost:8002/authorize")

    with pytest.raises(AuthError, match="'http://localhost:8002/authorize' answers 404"):
        await scene.world.client(scene.auth()).post(MCP)
