"""Sessions, and calls that wait for their next round, belong to whoever began them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from starlette.authentication import SimpleUser, UnauthenticatedUser

from dedalus_mcp import MCPServer, ServerConfig, get_context, tool
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp_transports.http_principal import authenticated_user
from tests.interaction.test_rounds import ABLE, MODERN, answering, ask, rejected, text
from tests.transports.asgi import Client, Web, serving


class Known:
    """A user with an identity, as other middlewares have them."""

    is_authenticated = True
    identity = "ada"
    display_name = "Ada"


class Shown:
    """One with a name for people alone."""

    is_authenticated = True
    display_name = "Eve"

    @property
    def identity(self) -> str:
        raise NotImplementedError


class Odd:
    """One whose name is none."""

    is_authenticated = True
    identity = 7
    display_name = ""


@pytest.mark.parametrize(
    ("user", "name"),
    [
        (None, None),
        (SimpleUser("bob"), "bob"),
        (UnauthenticatedUser(), None),
        (Known(), "ada"),
        (Shown(), "Eve"),
        (Odd(), None),
    ],
    ids=["nobody", "starlette", "not authenticated", "identity", "shown", "odd"],
)
def test_the_user_of_the_scope_counts_if_it_is_authenticated(user: Any, name: str | None) -> None:
    assert authenticated_user({} if user is None else {"user": user}) == name


def of_header(scope: Mapping[str, Any]) -> str | None:
    """What a trusted proxy says."""
    return next((value.decode() for name, value in scope["headers"] if name == b"x-user"), None)


@tool
async def once() -> str:
    return str(await ask("n"))


@tool
async def who() -> str:
    return f"{get_context().principal}"


def offering(**parking: Any) -> MCPServer:
    server = MCPServer("owned", config=ServerConfig(parking=ParkingConfig(**parking)))
    server.collect(once, who)
    return server


async def as_user(web: Web, name: str, revision: str) -> Client:
    client = web.client()
    client.headers["x-user"] = name
    return await client.open(revision, ABLE)


async def test_a_session_is_its_owner_s_alone() -> None:
    """SEC-01, HTTP-44: for anybody else there is no such session."""
    async with serving(offering(), principal=of_header) as web:
        ada = await as_user(web, "ada", "2025-11-25")
        assert (await ada.begin(1, "ping").ended()).status == 200
        for other in ("bob", ""):
            ada.headers["x-user"] = other
            assert (await ada.begin(2, "ping").ended()).status == 404
            assert (await ada.delete()).status == 404
        ada.headers["x-user"] = "ada"
        assert await ada.use(3, "who") == "ada"


@pytest.mark.parametrize("keys", [(), (b"k" * 32,)], ids=["kept here", "sealed"])
async def test_a_round_is_answered_by_whoever_was_asked(keys: tuple[bytes, ...]) -> None:
    """MRTR-10."""
    server = MCPServer("owned", state_keys=keys)
    server.collect(once)
    async with serving(server, principal=of_header) as web:
        ada, bob = await as_user(web, "ada", MODERN), await as_user(web, "bob", MODERN)
        retry = answering(await ada.tool(1, "once").reply(), n=1)
        assert rejected(await bob.call(2, "tools/call", name="once", arguments={}, **retry))
        assert text(await ada.call(3, "tools/call", name="once", arguments={}, **retry)) == "1"


async def test_one_owner_cannot_take_all_the_places() -> None:
    async with serving(offering(max_parked_by_principal=2), principal=of_header) as web:
        ada, bob = await as_user(web, "ada", MODERN), await as_user(web, "bob", MODERN)
        for id in (1, 2):
            await ada.tool(id, "once").reply()
        refused = text(await ada.tool(3, "once").reply())
        assert refused == "too many parked calls of one client: 2 are the limit"
        retry = answering(await bob.tool(1, "once").reply(), n=1)
        assert text(await bob.call(2, "tools/call", name="once", arguments={}, **retry)) == "1"


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_what_says_who_asks_may_fail_and_the_client_learns_nothing(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_scope: Mapping[str, Any]) -> str | None:
        raise ValueError("a secret")

    says: Callable[[Mapping[str, Any]], str | None] = failing
    async with serving(offering(), principal=says) as web:
        exchange = await web.client().initialize(revision)

        assert exchange.status == 500
        assert "secret" not in str(exchange.messages)
    assert "a secret" in caplog.text
    caplog.clear()
