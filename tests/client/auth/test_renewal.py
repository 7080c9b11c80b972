"""Tokens that end: refreshed in time, got anew when they are refused, and by one for all."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp.client.auth import (
    AuthConfigError,
    AuthError,
    AuthorizationCodeAuth,
    FileTokenStorage,
    HeadlessRedirect,
    Landing,
    LoopbackRedirect,
    MemoryTokenStorage,
    TokenError,
    oauth,
)
from tests.client.auth.scene import AS, MCP, Scene
from tests.client.auth.world import AuthorizationServer, Guard, World, refusal

OK = 200


def shown(scene: Scene) -> list[str]:
    """The tokens that the MCP server was shown, in order."""
    found = [asked.headers.get("authorization", "none") for asked in scene.world.to(MCP)]
    return [each.removeprefix("Bearer ") for each in found]


async def test_a_token_is_refreshed_a_little_before_it_ends() -> None:
    """AUTH-48."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK

    scene.time += 3600 - 31
    assert (await http.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code"]
    scene.time += 2
    assert (await http.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert scene.server.redeemed[1]["resource"] == MCP
    assert len([each for each in shown(scene) if each == "none"]) == 1


@pytest.mark.parametrize(("lifetime", "fresh", "stale"), [(10, 8.9, 9.1), (0, None, 0), (-5, None, 0)])
async def test_a_short_life_is_used_as_far_as_it_goes(lifetime: float, fresh: float | None, stale: float) -> None:
    scene = Scene()
    scene.server.lifetime = lifetime
    http = scene.world.client(scene.auth())
    begun = scene.time
    assert (await http.post(MCP)).status_code == OK

    if fresh is not None:
        scene.time = begun + fresh
        assert (await http.post(MCP)).status_code == OK
        assert len(scene.grants()) == 1
    scene.time = begun + stale
    assert (await http.post(MCP)).status_code == OK
    assert len(scene.grants()) == 2


async def test_a_token_without_an_end_is_used_until_it_is_refused() -> None:
    scene = Scene()
    scene.server.lifetime = None
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.time += 10**9

    assert (await http.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code"]


async def test_a_clock_that_was_set_back_ends_what_it_cannot_judge() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.time -= 10_000

    assert (await http.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]


async def test_a_token_that_is_refused_is_refreshed_and_nobody_signs_in() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.server.revoke_all()

    assert (await http.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]


async def test_a_refresh_token_is_kept_where_there_is_no_new_one() -> None:
    """B136."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    used: list[str] = []

    def same(form: dict[str, str]) -> httpx.Response | None:
        if form["grant_type"] == "refresh_token":
            used.append(form["refresh_token"])
            scene.server.tokens["another"] = issued
            return httpx.Response(200, json={"access_token": "another", "token_type": "Bearer", "expires_in": 3600})
        return None

    issued = next(iter(scene.server.tokens.values()))
    scene.server.answer_token = same
    for _ in range(2):
        scene.server.revoke_all()
        assert (await http.post(MCP)).status_code == OK

    assert used[0] == used[1]


async def test_a_new_refresh_token_takes_the_place_of_the_old_one() -> None:
    """AUTH-49: whoever rotates them takes the second use of one for theft."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    for _ in range(4):
        assert (await http.post(MCP)).status_code == OK
        scene.server.revoke_all()

    used = [form["refresh_token"] for form in scene.server.redeemed[1:]]
    assert len(set(used)) == len(used) == 3


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client", "unauthorized_client"])
async def test_a_refresh_token_that_is_worth_nothing_lets_the_user_sign_in_again(code: str) -> None:
    """B136."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.server.revoke_all()
    scene.server.answer_token = lambda form: refusal(400, code) if form["grant_type"] == "refresh_token" else None

    assert (await http.post(MCP)).status_code == OK
    assert len(scene.server.authorizations) == 2
    assert len(scene.server.registered) == (2 if code == "invalid_client" else 1)


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(503, text="<html>busy</html>"), refusal(400, "temporarily_unavailable"), refusal(429, "slow")],
    ids=["503", "a passing fault", "429"],
)
@pytest.mark.parametrize("early", [False, True])
async def test_a_passing_failure_to_refresh_costs_no_refresh_token(answer: httpx.Response, early: bool) -> None:
    """B136: it is told, and the next request tries again."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.server.revoke_all()
    scene.time += 4000 if early else 0
    scene.server.answer_token = lambda form: answer

    with pytest.raises(TokenError):
        await http.post(MCP)
    scene.server.answer_token = lambda form: None

    assert (await http.post(MCP)).status_code == OK
    assert scene.grants()[-1] == "refresh_token"
    assert len(scene.server.authorizations) == 1


async def test_a_server_that_has_moved_away_from_one_that_is_gone_is_followed() -> None:
    """AUTH-30: the old one need not answer any more."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.time += 4000
    del scene.world.hosts[AS]
    scene.guard.server = AuthorizationServer(scene.world, "http://localhost:8003")
    scene.guard.metadata["authorization_servers"] = ["http://localhost:8003"]

    assert (await http.post(MCP)).status_code == OK
    assert len(scene.guard.server.authorizations) == 1


async def test_a_token_that_could_not_be_refreshed_in_time_is_used_to_its_end() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.time += 3600 - 10
    scene.server.answer_token = lambda form: httpx.Response(503)

    assert (await http.post(MCP)).status_code == OK
    assert shown(scene)[-1] == shown(scene)[-2]


async def test_a_token_that_is_refused_whatever_is_done_ends_in_the_refusal() -> None:
    """Refreshed once, and got anew once."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.guard.server = type(scene.server)(scene.world, "http://localhost:9999")  # whose tokens nobody gives out

    assert (await http.post(MCP)).status_code == 401
    assert scene.grants() == ["authorization_code", "refresh_token", "authorization_code"]


async def test_a_fresh_token_that_is_refused_ends_in_the_refusal() -> None:
    scene = Scene()
    scene.guard.server = type(scene.server)(scene.world, "http://localhost:9999")

    assert (await scene.visit()).status_code == 401
    assert len(scene.server.authorizations) == 1


async def test_many_requests_with_no_token_sign_in_once() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(http.post, MCP)

    assert len(scene.server.authorizations) == 1
    assert len(scene.server.registered) == 1


# Another run of the program, or another process.


async def test_the_next_run_goes_on_with_the_token_that_was_kept() -> None:
    scene = Scene()
    assert (await scene.visit()).status_code == OK

    assert (await scene.visit()).status_code == OK
    assert len(scene.server.authorizations) == 1
    assert shown(scene)[1] == shown(scene)[2]


async def test_the_next_run_refreshes_a_token_that_has_ended() -> None:
    scene = Scene()
    assert (await scene.visit()).status_code == OK
    scene.time += 5000
    scene.server.revoke_all()

    assert (await scene.visit()).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert len(scene.server.registered) == 1


async def test_a_client_that_is_registered_for_other_addresses_registers_again() -> None:
    """AUTH-47: redirect URIs are registered."""
    scene = Scene()
    assert (await scene.visit()).status_code == OK
    scene.server.revoke_all()
    scene.server.refresh.clear()

    assert (await scene.visit(redirect=scene.world.redirect("http://localhost:4000/callback"))).status_code == OK
    assert len(scene.server.registered) == 2


async def test_a_registration_whose_secret_has_ended_is_made_again() -> None:
    scene = Scene()
    known = {"client_id": "short", "client_secret": "s", "client_secret_expires_at": scene.time + 5000}
    scene.server.clients["short"] = "s"
    scene.server.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    scene.world.at(f"{AS}/register", lambda request: httpx.Response(201, json=known))
    assert (await scene.visit()).status_code == OK
    scene.server.revoke_all()
    scene.server.refresh.clear()
    scene.time += 4950

    assert (await scene.visit()).status_code == OK
    assert len(scene.world.to("/register")) == 2


async def test_two_processes_with_one_refresh_token_use_it_once(tmp_path: Any) -> None:
    """AUTH-49: the second finds what the first has got."""
    scene = Scene()
    one, other = (scene.world.client(scene.auth(storage=FileTokenStorage(tmp_path / "tokens"))) for _ in range(2))
    assert (await one.post(MCP)).status_code == OK
    assert (await other.post(MCP)).status_code == OK
    scene.server.revoke_all()
    scene.time += 10

    async with anyio.create_task_group() as group:
        group.start_soon(one.post, MCP)
        group.start_soon(other.post, MCP)

    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert (await one.post(MCP)).status_code == OK
    assert (await other.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]


async def test_a_token_of_another_server_is_not_taken_from_the_storage() -> None:
    """AUTH-46."""
    scene = Scene()
    assert (await scene.visit()).status_code == OK
    kept = await scene.storage.load(f"token {MCP}")
    await scene.storage.save("token http://localhost:9001/mcp", kept)
    auth = scene.auth()

    scene.world.at("http://localhost:9001/mcp", lambda request: httpx.Response(401))
    with pytest.raises(AuthError):
        await scene.world.client(auth).post("http://localhost:9001/mcp")

    assert [asked for asked in scene.world.to("localhost:9001") if "authorization" in asked.headers] == []


class Full(MemoryTokenStorage):
    """A storage that is full."""

    async def save(self, key: str, value: bytes | None) -> None:
        if key.startswith("token"):
            raise OSError("no space left")
        await super().save(key, value)


async def test_a_token_that_cannot_be_kept_is_told_once_and_used() -> None:
    """B136: errors of a storage are not hidden."""
    scene = Scene()
    http = scene.world.client(scene.auth(storage=Full()))

    with pytest.raises(AuthError, match="the token storage cannot be written: no space left"):
        await http.post(MCP)

    assert (await http.post(MCP)).status_code == OK
    assert len(scene.server.authorizations) == 1


class Broken(MemoryTokenStorage):
    """A storage with a fault of its own."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__()
        self._reads = reads

    async def load(self, key: str) -> bytes | None:
        if not self._reads:
            raise KeyError(key)
        return await super().load(key)

    async def save(self, key: str, value: bytes | None) -> None:
        raise RuntimeError


@pytest.mark.parametrize(("reads", "text"), [(False, "cannot be read: 'token"), (True, "cannot be written: Runtime")])
async def test_whatever_a_storage_raises_is_an_error_of_the_storage(reads: bool, text: str) -> None:
    """And not of the MCP server, which it would look like."""
    with pytest.raises(AuthError, match=f"the token storage {text}"):
        await Scene().visit(storage=Broken(reads=reads))


async def test_what_is_forgotten_is_got_anew() -> None:
    scene = Scene()
    auth = scene.auth()
    await auth.forget()  # there is nothing yet
    await auth.forget(MCP)
    assert (await scene.visit(auth)).status_code == OK
    await auth.forget()

    assert await scene.storage.load(f"token {MCP}") is None
    assert (await scene.visit(auth)).status_code == OK
    assert len(scene.server.authorizations) == 2
    assert len(scene.server.registered) == 1


async def test_a_token_can_be_got_ahead_of_time() -> None:
    scene = Scene()
    auth = scene.auth()

    token = await auth.get_token(MCP)
    assert scene.world.to(MCP) == []
    assert await auth.get_token() == token
    assert (await scene.visit(auth)).status_code == OK
    assert len(scene.server.authorizations) == 1


async def test_a_token_ahead_of_time_is_one_that_is_good() -> None:
    scene = Scene()
    token = await scene.auth().get_token(MCP)
    scene.time += 5000

    again = await scene.auth().get_token(MCP)  # the next run, which knows nothing but what was kept
    assert again.access_token != token.access_token
    assert scene.grants() == ["authorization_code", "refresh_token"]
    scene.time += 5000
    scene.server.answer_token = lambda form: httpx.Response(503)
    with pytest.raises(TokenError):
        await scene.auth().get_token(MCP)


async def test_a_token_ahead_of_time_is_for_one_server() -> None:
    scene = Scene()
    auth = scene.auth()

    with pytest.raises(ValueError, match="no server is known yet"):
        await auth.get_token()
    await auth.get_token(MCP)
    with pytest.raises(ValueError, match="this object is for http://localhost:8001/mcp; make another one"):
        await auth.get_token("http://localhost:9001/mcp")


# Cancelled.


class Gate:
    """Somebody who signs in when they are let."""

    def __init__(self, redirect: HeadlessRedirect) -> None:
        self._redirect = redirect
        self.uri = redirect.uri
        self.asked = 0
        self.open = anyio.Event()

    @asynccontextmanager
    async def listen(self, preferred: Sequence[str]) -> AsyncGenerator[Landing]:
        yield self

    async def send(self, url: str, state: str) -> str:
        self.asked += 1
        await self.open.wait()
        return await self._redirect.send(url, state)


async def test_whoever_waits_takes_over_from_one_that_is_cancelled() -> None:
    scene = Scene()
    gate = Gate(scene.world.redirect())
    http = scene.world.client(scene.auth(redirect=gate))
    answers: list[int] = []

    async def visit() -> None:
        answers.append((await http.post(MCP)).status_code)

    async def first() -> None:
        with scope:
            await visit()

    scope = anyio.CancelScope()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await wait_all_tasks_blocked()
            for _ in range(3):
                group.start_soon(visit)
            await wait_all_tasks_blocked()
            assert gate.asked == 1
            scope.cancel()
            await wait_all_tasks_blocked()
            assert gate.asked == 2
            gate.open.set()

    assert answers == [OK] * 3
    assert len(scene.server.authorizations) == 1


@pytest.mark.parametrize("part", ["/.well-known/oauth-protected", "/.well-known/oauth-auth", "/register", "/token"])
async def test_a_request_that_is_cancelled_at_any_moment_leaves_nothing_behind(part: str) -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    (host, path), answer = next(
        ((host, path), answer)
        for host, paths in scene.world.hosts.items()
        for path, answer in paths.items()
        if path.startswith(part)
    )
    reached = anyio.Event()

    async def never(request: httpx.Request) -> httpx.Response:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError("for ever")

    scene.world.hosts[host][path] = never
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(http.post, MCP)
            await reached.wait()
            group.cancel_scope.cancel()
    scene.world.hosts[host][path] = answer

    with anyio.fail_after(20):
        assert (await http.post(MCP)).status_code == OK


@pytest.mark.parametrize("how", ["cancelled", "nobody came", "denied"])
async def test_a_registration_with_which_nobody_came_back_is_made_again(how: str) -> None:
    """The server may have forgotten it, and shown the user a page that says so."""
    scene = Scene()
    gate = Gate(scene.world.redirect())
    auth = scene.auth(redirect=gate)
    if how == "denied":
        scene.server.answer_user = lambda fields: {**fields, "error": "access_denied"}
        gate.open.set()
        with pytest.raises(TokenError):
            await scene.visit(auth)
        scene.server.answer_user = lambda fields: fields
    elif how == "nobody came":
        nobody = LoopbackRedirect(open_page=lambda url: True, seconds=0.01)
        with pytest.raises(AuthError, match="nobody came back"):
            await scene.visit(redirect=nobody)
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(scene.visit, auth)
            await wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert len(scene.server.registered) == 1

    gate.open.set()
    assert (await scene.visit(auth)).status_code == OK
    assert len(scene.server.registered) == 2
    await auth.forget()
    assert (await scene.visit(auth)).status_code == OK
    assert len(scene.server.registered) == 2


STREAMS: list[tuple[str, dict[str, str]]] = [
    ("GET", {"mcp-session-id": "1"}),
    ("GET", {"mcp-protocol-version": "2025-06-18"}),
    ("GET", {"last-event-id": "1"}),
    ("POST", {"mcp-method": "subscriptions/listen"}),
]
BACKGROUND = [("DELETE", STREAMS[0][1]), *STREAMS]


@pytest.mark.parametrize(("method", "headers"), BACKGROUND)
async def test_nobody_is_asked_to_sign_in_for_what_nobody_waits_for(method: str, headers: dict[str, str]) -> None:
    """A page that opens by itself, again and again, helps nobody; a token that can be refreshed is."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.server.revoke_all()

    assert (await http.request(method, MCP, headers=headers)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]
    scene.guard.needs = for_more
    assert (await http.request(method, MCP, headers=headers)).status_code == 403
    assert len(scene.server.authorizations) == 1


@pytest.mark.parametrize(("method", "headers"), STREAMS)
async def test_a_stream_waits_until_somebody_signs_in_for_another_reason(method: str, headers: dict[str, str]) -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    answers: list[int] = []

    async def open_stream() -> None:
        answers.append((await http.request(method, MCP, headers=headers)).status_code)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(open_stream)
            await wait_all_tasks_blocked()
            assert scene.server.authorizations == []
            assert (await http.post(MCP)).status_code == OK

    assert answers == [OK]
    assert len(scene.server.authorizations) == 1


async def test_whoever_leaves_does_not_wait() -> None:
    scene = Scene()

    with anyio.fail_after(20):
        assert (await scene.world.client(scene.auth()).delete(MCP)).status_code == 401

    assert scene.server.authorizations == []


def for_more(request: httpx.Request) -> list[str]:
    return ["more"]


async def test_the_stream_that_a_connection_begins_with_is_waited_for() -> None:
    """That of 2024-11-05."""
    scene = Scene()
    http = scene.world.client(scene.auth())

    assert (await http.get(MCP, headers={"accept": "text/event-stream"})).status_code == OK


async def test_a_call_does_not_take_the_silence_of_a_stream_for_its_own() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    answers: list[int] = []

    async def send(method: str) -> None:
        answers.append((await http.request(method, MCP)).status_code)

    async with anyio.create_task_group() as group:
        for method in ("DELETE", "POST", "DELETE", "POST"):
            group.start_soon(send, method)

    assert answers.count(OK) >= 2
    assert len(scene.server.authorizations) == 1


@pytest.mark.parametrize("how", ["metadata", "challenge"])
async def test_a_server_that_wants_tokens_bound_to_a_key_gets_no_other(how: str) -> None:
    """The cure is named."""
    scene = Scene()
    if how == "metadata":
        scene.guard.metadata["dpop_bound_access_tokens_required"] = True
    else:
        scene.guard.scheme = "DPoP"

    with pytest.raises(AuthConfigError, match=r"takes only tokens that are bound to a key: give proof=DPoP\(\)"):
        await scene.visit()

    assert scene.server.authorizations == []


# Where the token goes.


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8001/other",
        "http://localhost:8001/mcpx",
        "http://localhost:8001/",
        "http://evil.example/mcp",
        "https://localhost:8001/mcp",
    ],
)
async def test_the_token_is_shown_to_the_resource_alone(url: str) -> None:
    """AUTH-46: not to the rest of its host either, unless the metadata speak for that."""
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.world.at(url, lambda request: httpx.Response(401, headers={"www-authenticate": "Bearer"}))

    assert (await http.post(url)).status_code == 401
    assert "authorization" not in scene.world.asked[-1].headers


async def test_another_server_of_the_same_host_gets_no_token_before_there_is_one_either() -> None:
    """AUTH-46."""
    scene = Scene()
    scene.world.at("http://localhost:8001/other", lambda request: httpx.Response(401))
    auth = scene.auth()
    http = scene.world.client(auth)
    scene.world.at(f"{MCP}", lambda request: httpx.Response(200))  # open to all
    assert (await http.post(MCP)).status_code == OK

    assert (await http.post("http://localhost:8001/other")).status_code == 401
    assert len(scene.world.asked) == 2


async def test_the_token_goes_to_what_lies_beneath_the_resource() -> None:
    scene = Scene()
    http = scene.world.client(scene.auth())
    assert (await http.post(MCP)).status_code == OK
    scene.world.at(f"{MCP}/messages", scene.guard.answer)

    assert (await http.post(f"{MCP}/messages?session=1")).status_code == OK


@pytest.mark.parametrize("there", ["http://evil.example/login", "https://localhost:8001/mcp"])
async def test_whoever_a_redirect_leads_to_gets_no_token_and_asks_for_none(there: str) -> None:
    """AUTH-46; B073."""
    scene = Scene()
    http = scene.world.client(scene.auth(), follow_redirects=True)
    assert (await http.post(MCP)).status_code == OK
    scene.guard.inside = lambda request: httpx.Response(307, headers={"location": there})
    challenge = {"www-authenticate": 'Bearer resource_metadata="http://evil.example/metadata"'}
    scene.world.at(there, lambda request: httpx.Response(401, headers=challenge))

    assert (await http.post(MCP)).status_code == 401
    assert scene.world.to("http://evil.example/metadata") == []
    assert "authorization" not in scene.world.to(there)[-1].headers


async def test_a_server_that_asks_for_something_else_gets_no_token() -> None:
    scene = Scene()
    scene.world.at(MCP, lambda request: httpx.Response(401, headers={"www-authenticate": "Negotiate"}))

    assert (await scene.visit()).status_code == 401
    assert len(scene.world.asked) == 1


def test_requests_without_an_event_loop_are_refused() -> None:
    scene = Scene()

    with pytest.raises(RuntimeError, match=r"AuthorizationCodeAuth works with httpx\.AsyncClient only"):
        httpx.get(MCP, auth=AuthorizationCodeAuth(redirect=scene.world.redirect()))


# Refusals that have no end.


class Endless(httpx.AsyncByteStream):
    """A body without an end, or one that never comes."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await anyio.lowlevel.checkpoint()
            if self._silent:
                await anyio.sleep_forever()
            self.sent += 65536
            yield b" " * 65536


@pytest.mark.parametrize("silent", [False, True])
async def test_the_body_of_a_refusal_is_not_waited_for(silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said with a 401 is in its header."""
    monkeypatch.setattr(oauth, "REFUSAL_SECONDS", 0.01 if silent else 30)
    scene, body = Scene(), Endless(silent=silent)
    answer = scene.guard.answer

    async def refuse(request: httpx.Request) -> httpx.Response:
        made = await answer(request)
        return made if made.status_code == OK else httpx.Response(401, headers=made.headers, stream=body)

    scene.world.at(MCP, refuse)
    with anyio.fail_after(20):
        assert (await scene.visit()).status_code == OK
    assert body.sent <= oauth.MAX_REFUSAL + 2 * 65536


# Somebody was faster.


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_that_comes_late_is_cured_by_what_others_have_got_meanwhile(status: int) -> None:
    scene = Scene(scope="basic")
    http = scene.world.client(scene.auth())
    if status == 403:
        assert (await http.post(MCP)).status_code == OK
        scene.guard.needs = for_more
    reached, go_on = anyio.Event(), anyio.Event()

    async def late(request: httpx.Request) -> httpx.Response:
        made = await scene.guard.answer(request)
        if request.content == b"late" and made.status_code == status:
            reached.set()
            await go_on.wait()
        return made

    scene.world.at(MCP, late)
    answers: list[int] = []

    async def send_late() -> None:
        answers.append((await http.post(MCP, content=b"late")).status_code)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(send_late)
            await reached.wait()
            assert (await http.post(MCP)).status_code == OK
            go_on.set()

    assert answers == [OK]
    assert len(scene.server.authorizations) == (1 if status == 401 else 2)


async def test_a_user_who_has_signed_in_for_another_process_is_not_asked_again(tmp_path: Any) -> None:
    scene = Scene()
    one, other = (scene.world.client(scene.auth(storage=FileTokenStorage(tmp_path / "tokens"))) for _ in range(2))
    assert (await one.post(MCP)).status_code == OK
    assert (await other.post(MCP)).status_code == OK
    scene.server.revoke_all()
    scene.server.refresh.clear()
    scene.time += 10
    assert (await one.post(MCP)).status_code == OK
    assert len(scene.server.authorizations) == 2

    assert (await other.post(MCP)).status_code == OK
    assert len(scene.server.authorizations) == 2


@pytest.mark.parametrize("old", ["ended", "revoked"])
async def test_what_another_process_has_left_is_refreshed_where_it_is_too_old_as_well(tmp_path: Any, old: str) -> None:
    """Nobody is asked to sign in as long as there is a token to refresh with."""
    scene = Scene()
    one, other = (scene.world.client(scene.auth(storage=FileTokenStorage(tmp_path / "tokens"))) for _ in range(2))
    assert (await one.post(MCP)).status_code == OK
    assert (await other.post(MCP)).status_code == OK
    for _ in range(2):
        scene.server.revoke_all()
        scene.time += 4000 if old == "ended" else 10
        assert (await one.post(MCP)).status_code == OK
    scene.server.revoke_all()
    scene.time += 4000 if old == "ended" else 10

    assert (await other.post(MCP)).status_code == OK
    assert scene.grants() == ["authorization_code", *["refresh_token"] * 3]
    assert scene.server.reused == []


async def test_another_processs_token_is_found_whatever_its_clock_says(tmp_path: Any) -> None:
    """AUTH-49: a refresh token that is used twice looks stolen."""
    scene, storage = Scene(), FileTokenStorage(tmp_path / "tokens")
    one = scene.world.client(scene.auth(storage=storage, clock=lambda: 2_000_000.0))
    other = scene.world.client(scene.auth(storage=storage, clock=lambda: 1_000_000.0))
    assert (await one.post(MCP)).status_code == OK
    for each in (other, one, other, one):
        scene.server.revoke_all()
        assert (await each.post(MCP)).status_code == OK

    assert scene.grants() == ["authorization_code", *["refresh_token"] * 4]
    assert scene.server.reused == []


async def test_what_is_forgotten_while_it_is_refreshed_is_not_kept() -> None:
    scene = Scene()
    auth = scene.auth()
    assert (await scene.visit(auth)).status_code == OK
    scene.server.revoke_all()
    answer = scene.world.hosts[AS]["/token"]

    async def slow(request: httpx.Request) -> httpx.Response:
        await auth.forget()
        made = answer(request)
        return made if isinstance(made, httpx.Response) else await made

    scene.world.at(f"{AS}/token", slow)

    assert (await scene.visit(auth)).status_code == OK
    assert scene.grants() == ["authorization_code", "refresh_token"]
    assert await scene.storage.load(f"token {MCP}") is None


async def test_a_token_of_2025_03_26_is_for_the_whole_host() -> None:
    """That revision has no narrower word for it: HTTP+SSE has two addresses."""
    world = World()
    server = AuthorizationServer(world, "http://localhost:8001")
    guard = Guard(world, MCP, server, says_where=False)
    world.gone(str(guard.place))
    http = world.client(AuthorizationCodeAuth(redirect=world.redirect(), http_client=world.client()))
    assert (await http.post(MCP)).status_code == OK
    world.at("http://localhost:8001/messages", guard.answer)

    assert (await http.post("http://localhost:8001/messages")).status_code == OK
    assert len(server.authorizations) == 1
