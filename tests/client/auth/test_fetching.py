"""Requests to servers that mean no good: too much, too slow, elsewhere, or nothing at all."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp.client.auth.discovery import (
    discover,
    find_resource_metadata,
    find_server_metadata,
)
from dedalus_mcp.client.auth.failures import AuthError, DiscoveryError
from dedalus_mcp.client.auth.fetching import MAX_DOCUMENT, MAX_REDIRECTS, Fetcher, resolved
from dedalus_mcp.client.auth.reach import Reach
from tests.client.auth.scene import Scene
from tests.client.auth.world import World

MCP = "https://mcp.example.com/mcp"
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
AS = "https://as.example.com"
GOOD = {"resource": MCP, "authorization_servers": [AS]}


def fetcher(world: World, **settings: Any) -> Fetcher:
    return Fetcher(world.client(), Reach(MCP), **settings)


class Endless(httpx.AsyncByteStream):
    """A body without an end."""

    def __init__(self) -> None:
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await anyio.lowlevel.checkpoint()
            self.sent += 65536
            yield b" " * 65536


class Silent(httpx.AsyncByteStream):
    """A body that never comes."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await anyio.sleep_forever()
        yield b""


async def test_a_document_without_end_is_read_up_to_the_limit() -> None:
    world, body = World(), Endless()
    world.at(METADATA, lambda request: httpx.Response(200, stream=body))

    with pytest.raises(DiscoveryError, match=f"longer than {MAX_DOCUMENT} bytes"):
        await find_resource_metadata(fetcher(world), MCP)

    assert body.sent <= MAX_DOCUMENT + 2 * 65536


async def test_a_compressed_document_is_measured_as_it_unfolds() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < MAX_DOCUMENT
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Once(bomb)))

    with pytest.raises(DiscoveryError, match="longer than"):
        await find_resource_metadata(fetcher(world), MCP)


async def test_a_document_that_is_compressed_twice_is_refused() -> None:
    bomb = gzip.compress(gzip.compress(b" " * 50_000_000))
    headers = {"content-encoding": "gzip, gzip"}
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, headers=headers, stream=Once(bomb)))

    with pytest.raises(DiscoveryError, match="in the coding 'gzip, gzip'; legal are"):
        await find_resource_metadata(fetcher(world), MCP)


class Once(httpx.AsyncByteStream):
    """A body in pieces."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._content), 1024):
            yield self._content[at : at + 1024]


async def test_a_server_that_does_not_come_to_an_end_is_not_waited_for() -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, stream=Silent()))

    with pytest.raises(DiscoveryError, match=r"no answer of https://mcp\.example\.com/.* within 0\.01 s"):
        await find_resource_metadata(fetcher(world, seconds=0.01), MCP)


async def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    world = World()

    async def never(request: httpx.Request) -> httpx.Response:
        await anyio.sleep_forever()
        raise AssertionError("for ever")

    world.at(METADATA, never)
    with pytest.raises(DiscoveryError, match="no answer of"):
        await find_resource_metadata(fetcher(world, seconds=0.01), MCP)


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(DiscoveryError, match=r"cannot reach https://mcp\.example\.com/.well-known/.*there is no"):
        await find_resource_metadata(fetcher(World()), MCP)


@pytest.mark.parametrize(
    "there",
    [
        "https://evil.example/metadata",
        "http://mcp.example.com/metadata",
        "https://mcp.example.com:8443/metadata",
        "//evil.example/metadata",
        "https://[/",
        "https://169.254.169.254/latest",
    ],
)
async def test_a_redirect_to_another_origin_is_not_followed(there: str) -> None:
    """SEC-09."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(302, headers={"location": there}))
    world.at("https://mcp.example.com/.well-known/oauth-protected-resource", lambda request: httpx.Response(404))

    assert await find_resource_metadata(fetcher(world), MCP) is None
    assert len(world.asked) == 2


async def test_a_redirect_within_an_origin_is_followed() -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(308, headers={"location": "/metadata"}))
    world.at("https://mcp.example.com/metadata", lambda request: httpx.Response(200, json=GOOD))

    found = await find_resource_metadata(fetcher(world), MCP)
    assert found is not None
    assert found.authorization_servers == (AS,)


async def test_redirects_in_a_circle_come_to_an_end() -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(307, headers={"location": METADATA}))

    with pytest.raises(DiscoveryError, match="round in a circle"):
        await find_resource_metadata(fetcher(world), MCP)

    assert len(world.asked) == MAX_REDIRECTS + 1


async def test_forms_are_never_sent_on() -> None:
    world = World()
    world.at(f"{AS}/token", lambda request: httpx.Response(307, headers={"location": f"{AS}/other"}))

    answer = await fetcher(world).post_form(f"{AS}/token", {"code": "s3cret"})

    assert answer.status == 307
    assert len(world.asked) == 1


async def test_nothing_of_the_callers_own_client_goes_along() -> None:
    """AUTH-46: its headers, cookies and credentials are for somebody else."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, json=GOOD, headers={"set-cookie": "a=1"}))
    http = httpx.AsyncClient(
        transport=world, headers={"x-api-key": "s3cret"}, cookies={"session": "s3cret"}, auth=("me", "s3cret")
    )

    for _ in range(2):
        await find_resource_metadata(Fetcher(http, Reach(MCP)), MCP)

    assert not any("s3cret" in str(asked.headers.multi_items()) for asked in world.asked)
    assert not any("cookie" in asked.headers or "authorization" in asked.headers for asked in world.asked)


async def test_a_name_that_stands_for_a_private_address_is_not_asked() -> None:
    """SEC-09."""
    world = World()
    looked_up: list[str] = []

    async def resolve(host: str) -> list[str]:
        await anyio.lowlevel.checkpoint()
        looked_up.append(host)
        return ["8.8.8.8", "169.254.169.254"]

    with pytest.raises(DiscoveryError, match="is in a private network"):
        await find_resource_metadata(fetcher(world, resolve=resolve), MCP)

    assert set(looked_up) == {"mcp.example.com"}
    assert world.asked == []


async def test_a_name_of_the_internet_may_lead_into_the_network_that_the_server_is_in() -> None:
    """SEC-09: companies answer for their own names."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, json=GOOD))

    async def resolve(host: str) -> list[str]:
        await anyio.lowlevel.checkpoint()
        return ["10.0.0.1"]

    assert await find_resource_metadata(fetcher(world, resolve=resolve), MCP) is not None


async def test_a_name_without_an_address_is_left_to_the_request() -> None:
    assert await resolved("localhost")
    assert await resolved("nobody.invalid") == []


# Documents that are none.


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{", "is no JSON"),
        (b'{"resource": 1, "authorization_servers": []}', r"is no ResourceMetadata: .*\$\.resource"),
        (b'{"authorization_servers": ["https://as.example.com"]}', "missing required field `resource`"),
        (b'{"resource": "https://mcp.example.com/mcp", "authorization_servers": "https://a"}', "authorization_servers"),
        (b'{"resource": "\xff"}', "is no"),
        (b'{"a":' * 5000, "is no"),
    ],
    ids=["cut off", "number", "missing", "no list", "not UTF-8", "deep"],
)
async def test_metadata_that_are_wrong_are_told_with_what_is_wrong(body: bytes, text: str) -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, content=body))

    with pytest.raises(DiscoveryError, match=text) as caught:
        await find_resource_metadata(fetcher(world), MCP)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410])
async def test_metadata_that_are_not_there_are_looked_for_elsewhere(status: int) -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(status))
    root = "https://mcp.example.com/.well-known/oauth-protected-resource"
    world.at(root, lambda request: httpx.Response(200, json=GOOD))

    assert await find_resource_metadata(fetcher(world), MCP) is not None


async def test_a_page_for_people_is_no_metadata() -> None:
    """Some servers give one for every address."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, text="<!doctype html><title>App</title>"))
    root = "https://mcp.example.com/.well-known/oauth-protected-resource"
    world.at(root, lambda request: httpx.Response(200, json=GOOD))

    assert await find_resource_metadata(fetcher(world), MCP) is not None


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_does_not_feel_well_is_not_taken_for_an_old_one(status: int) -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(status))

    with pytest.raises(DiscoveryError, match=f"answers {status}, where a ResourceMetadata should be"):
        await discover(fetcher(world), MCP)

    assert len(world.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [lambda: httpx.Response(404), lambda: httpx.Response(200, text="<html>")],
    ids=["404", "a page"],
)
async def test_metadata_that_the_challenge_names_have_to_be_there(answer: Callable[[], httpx.Response]) -> None:
    """AUTH-17: no other place is tried."""
    world = World()
    world.at("https://mcp.example.com/named", lambda request: answer())

    with pytest.raises(DiscoveryError):
        await discover(fetcher(world), MCP, resource_metadata="https://mcp.example.com/named")

    assert len(world.asked) == 1


@pytest.mark.parametrize("named", [None, []])
async def test_metadata_without_an_authorization_server_are_of_no_use(named: list[str] | None) -> None:
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, json={**GOOD, "authorization_servers": named}))

    with pytest.raises(DiscoveryError, match="name no authorization server"):
        await discover(fetcher(world), MCP)


@pytest.mark.parametrize("issuer", ["http://as.example.com", "https://10.0.0.1", "file:///etc", "", "https://x/#y"])
async def test_an_issuer_that_may_not_be_asked_is_not_asked(issuer: str) -> None:
    """SEC-09, SEC-10, AUTH-47."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, json={**GOOD, "authorization_servers": [issuer]}))

    with pytest.raises(DiscoveryError, match="the authorization server"):
        await discover(fetcher(world), MCP)

    assert len(world.asked) == 1


async def test_an_issuer_that_says_nothing_is_named() -> None:
    world = World()
    world.hosts[AS] = {}

    with pytest.raises(DiscoveryError, match=r"'https://as\.example\.com' says nothing of itself"):
        await find_server_metadata(fetcher(world), AS)


async def test_of_several_documents_of_an_issuer_the_one_that_is_its_own_is_used() -> None:
    """AUTH-22."""
    world = World()
    issuer = f"{AS}/tenant"
    endless = {"issuer": AS, "token_endpoint": f"{AS}/wrong"}
    own = {"issuer": issuer, "token_endpoint": f"{AS}/right"}
    world.at(f"{AS}/.well-known/oauth-authorization-server/tenant", lambda request: httpx.Response(200, json=endless))
    world.at(f"{AS}/tenant/.well-known/openid-configuration", lambda request: httpx.Response(200, json=own))

    found = await find_server_metadata(fetcher(world), issuer)
    assert found.token_endpoint == f"{AS}/right"


async def test_null_stands_for_what_is_not_there() -> None:
    world = World()
    null = dict.fromkeys(["scopes_supported", "registration_endpoint", "code_challenge_methods_supported"])
    world.at(f"{AS}/.well-known/oauth-authorization-server", lambda r: httpx.Response(200, json={"issuer": AS, **null}))

    assert (await find_server_metadata(fetcher(world), AS)).scopes_supported is None


async def test_an_old_server_that_names_somebody_else_is_not_believed() -> None:
    """AUTH-22."""
    world = World()
    root = "https://mcp.example.com/.well-known/oauth-authorization-server"
    world.at(root, lambda request: httpx.Response(200, json={"issuer": "https://evil.example"}))

    with pytest.raises(DiscoveryError, match=r"are those of 'https://evil\.example', and not used"):
        await discover(fetcher(world), MCP)


@pytest.mark.parametrize("endpoint", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
@pytest.mark.parametrize("url", ["https://169.254.169.254/", "http://as.example.com/", "javascript:alert(1)"])
async def test_an_endpoint_that_may_not_be_asked_is_not_asked(endpoint: str, url: str) -> None:
    """SEC-09, SEC-10, SEC-11: nor opened in a browser."""
    scene = Scene()
    scene.server.metadata[endpoint] = url

    with pytest.raises(AuthError):
        await scene.visit()

    assert scene.world.to(url) == []


@pytest.mark.parametrize(
    "url", ["https://[::1", "https://xn--a/", "https://xn--/", "https://a..b/", "https://%41/", "/"]
)
@pytest.mark.parametrize("how", ["named", "redirected to", "the issuer"])
async def test_whatever_a_server_names_ends_in_an_error_of_its_own_kind(how: str, url: str) -> None:
    """SEC-09: also what libraries for hosts and URLs cannot read."""
    world = World()
    world.at(METADATA, lambda request: httpx.Response(200, json={**GOOD, "authorization_servers": [url]}))
    if how == "redirected to":
        world.at(METADATA, lambda request: httpx.Response(302, headers={"location": url}))

    with pytest.raises(DiscoveryError):
        await discover(fetcher(world), MCP, resource_metadata=url if how == "named" else METADATA)
