"""`DeviceCodeAuth`: a user signs in on another device.  In virtual time."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp.client.auth.device_code import LONGEST_LIFE, DeviceAuthorization, DeviceCodeAuth
from dedalus_mcp.client.auth.failures import AuthConfigError, AuthError, DiscoveryError, TokenError
from tests.client.auth.scripted import ISSUER, SERVER, World
from tests.virtual_time import virtual

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
DEVICE = "as.example/device"
ANSWER = {
    "device_code": "d3vice",
    "user_code": "WDJB-MJHT",
    "verification_uri": f"{ISSUER}/activate",
    "verification_uri_complete": f"{ISSUER}/activate?code=WDJB-MJHT",
    "expires_in": 600,
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


def silently(authorization: DeviceAuthorization) -> None:
    """Show a code to nobody."""


def world_with(**answer: object) -> World:
    """A world whose authorization server knows devices; what it says of them is as given."""
    world = World(device_authorization_endpoint=f"{ISSUER}/device")
    world.say(DEVICE, 200, {name: value for name, value in {**ANSWER, **answer}.items() if value is not None})
    return world


def make(world: World, shown: list[DeviceAuthorization] | None = None, client_id: str | None = "me") -> DeviceCodeAuth:
    show = silently if shown is None else shown.append
    return DeviceCodeAuth(client_id=client_id, show=show, scopes="a", http_client=world.http)


def pending(world: World, *codes: str) -> None:
    for code in codes:
        world.say("as.example/token", 400, {"error": code})


async def test_the_user_is_shown_where_to_go_and_the_token_is_waited_for() -> None:
    """RFC 8628, 3.1 to 3.5."""
    world, shown = world_with(), list[DeviceAuthorization]()
    pending(world, "authorization_pending", "authorization_pending")
    begin = anyio.current_time()

    answer = await world.http.post(SERVER, auth=make(world, shown))

    assert answer.json() == {"shown": "Bearer token-1"}
    assert [each.user_code for each in shown] == ["WDJB-MJHT"]
    assert world.forms(DEVICE) == [{"client_id": "me", "scope": "a", "resource": SERVER}]
    polled = {"grant_type": GRANT_TYPE, "device_code": "d3vice", "client_id": "me", "resource": SERVER}
    assert world.forms() == [polled] * 3
    assert anyio.current_time() - begin == pytest.approx(15)  # five seconds before each poll, virtual


async def test_a_server_that_wants_to_be_asked_less_often_is() -> None:
    world = world_with(interval=2)
    pending(world, "slow_down", "authorization_pending")
    begin = anyio.current_time()

    await world.http.post(SERVER, auth=make(world))

    assert anyio.current_time() - begin == pytest.approx(2 + 7 + 7)


async def test_a_server_that_has_too_much_to_do_is_asked_less_often_too() -> None:
    world = world_with(interval=2)
    world.say("as.example/token", 429, {})
    begin = anyio.current_time()

    await world.http.post(SERVER, auth=make(world))

    assert anyio.current_time() - begin == pytest.approx(2 + 7)


@pytest.mark.parametrize(("interval", "seconds"), [(0, 5), (-3, 1), (0.01, 1), (10**9, 120)])
async def test_the_interval_is_one_that_makes_sense(interval: float, seconds: float) -> None:
    world = world_with(interval=interval)
    begin = anyio.current_time()

    await world.http.post(SERVER, auth=make(world))

    assert anyio.current_time() - begin == pytest.approx(seconds)


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "invalid_grant"])
async def test_a_user_who_says_no_ends_it(code: str) -> None:
    world = world_with()
    pending(world, "authorization_pending", code)

    with pytest.raises(TokenError) as caught:
        await world.http.post(SERVER, auth=make(world))
    assert caught.value.code == code
    assert len(world.forms()) == 2


@pytest.mark.parametrize(("life", "seconds"), [(12, 12), (10**12, LONGEST_LIFE), (-1, 0)])
async def test_a_user_is_waited_for_no_longer_than_the_code_is_good(life: float, seconds: float) -> None:
    world = world_with(expires_in=life)
    pending(world, *["authorization_pending"] * 500)
    begin = anyio.current_time()

    with pytest.raises(TokenError, match="in time") as caught:
        await world.http.post(SERVER, auth=make(world))
    assert caught.value.code == "expired_token"
    assert anyio.current_time() - begin == pytest.approx(seconds)
    assert len(world.forms()) <= seconds / 5


async def test_a_network_that_fails_for_a_while_ends_nothing() -> None:
    """RFC 8628, 3.5: asked again, with more time between."""
    world = world_with(interval=5)
    lost = iter([httpx.ConnectError("gone")])

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/token":
            for error in lost:
                raise error
        return await world.answer(request)

    flaky = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    world.say("as.example/token", 503, "down")
    begin = anyio.current_time()
    auth = DeviceCodeAuth(client_id="me", show=silently, http_client=flaky)

    assert (await world.http.post(SERVER, auth=auth)).status_code == 200
    assert anyio.current_time() - begin == pytest.approx(5 + 10 + 10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"device_code": None},
        {"user_code": ""},
        {"user_code": "\x1b[2J"},
        {"user_code": "x" * 65},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "http://as.example/activate"},
        {"verification_uri_complete": "file:///etc/passwd"},
        {"expires_in": "soon"},
        {"expires_in": "NaN"},
        {"interval": "NaN"},  # with which no time would be waited at all
        {"interval": "Infinity"},
    ],
    ids=repr,
)
async def test_what_no_user_should_see_is_not_shown(wrong: dict[str, Any]) -> None:
    """SEC-10."""
    world, shown = world_with(**wrong), list[DeviceAuthorization]()

    with pytest.raises(DiscoveryError):
        await world.http.post(SERVER, auth=make(world, shown))
    assert shown == []
    assert world.forms() == []


async def test_a_server_that_knows_no_devices_is_named() -> None:
    world = World()

    with pytest.raises(AuthConfigError, match="has no device_authorization_endpoint"):
        await world.http.post(SERVER, auth=make(world))


async def test_a_server_that_refuses_the_client_is_heard() -> None:
    world = World(device_authorization_endpoint=f"{ISSUER}/device")
    world.say(DEVICE, 400, {"error": "unauthorized_client"})

    with pytest.raises(TokenError, match="unauthorized_client"):
        await world.http.post(SERVER, auth=make(world))


async def test_a_client_without_an_id_registers_itself() -> None:
    world = world_with()

    await world.http.post(SERVER, auth=make(world, client_id=None))

    registration: dict[str, Any] = dict(world.forms("as.example/register")[0])
    assert registration["grant_types"] == [GRANT_TYPE, "refresh_token"]
    assert world.forms()[0]["client_id"] == "registered"


async def test_a_code_may_be_shown_by_an_async_function() -> None:
    world, shown = world_with(), list[str]()

    async def show(authorization: DeviceAuthorization) -> None:
        shown.append(authorization.verification_uri)

    await world.http.post(SERVER, auth=DeviceCodeAuth(client_id="me", show=show, http_client=world.http))

    assert shown == [f"{ISSUER}/activate"]


async def test_a_code_is_written_to_stderr_where_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    world = world_with()

    await world.http.post(SERVER, auth=DeviceCodeAuth(client_id="me", http_client=world.http))

    out, err = capsys.readouterr()
    assert out == ""
    assert "WDJB-MJHT" in err
    assert f"{ISSUER}/activate" in err
    assert "d3vice" not in err


async def test_a_code_that_cannot_be_shown_ends_it() -> None:
    def show(authorization: DeviceAuthorization) -> None:
        raise OSError("no screen")

    world = world_with()
    with pytest.raises(AuthError, match="cannot be shown: OSError: no screen"):
        await world.http.post(SERVER, auth=DeviceCodeAuth(client_id="me", show=show, http_client=world.http))
    assert world.forms() == []


async def test_waiting_for_a_user_can_be_cancelled() -> None:
    world = world_with()
    pending(world, *["authorization_pending"] * 500)

    with anyio.move_on_after(22) as scope:
        await world.http.post(SERVER, auth=make(world))

    assert scope.cancelled_caught
    assert len(world.forms()) == 4


def test_the_device_code_is_not_shown() -> None:
    given: dict[str, Any] = dict(ANSWER)

    assert "d3vice" not in repr(DeviceAuthorization(**given))
