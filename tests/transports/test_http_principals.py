"""What belongs to somebody, where whoever serves knows who sends: ids and states open nothing to others."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.raw import envelope
from tests.interaction.server import make
from tests.interaction.test_rounds import ABLE, MODERN, answering, ask, rejected, text
from tests.transports.asgi import Client, Web, using

YES = {"action": "accept", "content": {"ok": True}}
KEY = b"k" * 32


class Proving(HttpApp):
    """Stands for whatever proves who sends: it believes the header `x-proved`, and no other."""

    async def _serve(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        request.principal = request.headers.get("x-proved")
        await super()._serve(request, receive, send)


@asynccontextmanager
async def proving(server: MCPServer, **settings: Any) -> AsyncGenerator[Web]:
    async with using(Proving(Hosted(server), HttpSettings(**settings))) as web:
        yield web


def somebody(web: Web, who: str | None, like: Client | None = None) -> Client:
    """Somebody proved to be who they are, or nobody; with all that another one's headers say, if like them."""
    client = web.client()
    if like is not None:
        client.headers = {name: value for name, value in like.headers.items() if name != "x-proved"}
    if who is not None:
        client.headers["x-proved"] = who
    return client


@tool
async def twice() -> str:
    return f"{await ask('one')} {await ask('two')}"


@pytest.mark.parametrize("keys", [(), (KEY,)], ids=["kept here", "sealed"])
@pytest.mark.parametrize("stranger", ["mallory", None, "", "alic", "alice "], ids=repr)
async def test_the_state_of_a_call_is_good_for_its_user_alone(stranger: str | None, keys: tuple[bytes, ...]) -> None:
    """SEC-04, ELIC-28, ELIC-32: whoever has it has proved nothing, and what they try costs the user nothing."""
    server = MCPServer("s", state_keys=keys)
    server.collect(twice)
    async with proving(server) as web:
        alice = await somebody(web, "alice").open(MODERN, ABLE)
        mallory = await somebody(web, stranger, alice).open(MODERN, ABLE)
        call: dict[str, Any] = {"name": "twice", "arguments": {}}
        retry = {**call, **answering(await alice.call(1, "tools/call", call), one=1)}

        assert rejected(await mallory.call(1, "tools/call", retry))
        second = {**call, **answering(await alice.call(2, "tools/call", retry), two=2)}
        assert rejected(await mallory.call(2, "tools/call", second))
        assert text(await alice.call(3, "tools/call", second)) == "1 2"


async def test_who_a_client_says_it_is_proves_nothing() -> None:
    """ELIC-30, HTTP-72: neither in its headers nor in its messages."""
    server = MCPServer("s")
    server.collect(twice)
    async with proving(server) as web:
        alice = await somebody(web, "alice").open(MODERN, ABLE)
        call: dict[str, Any] = {"name": "twice", "arguments": {}}
        retry = {**call, **answering(await alice.call(1, "tools/call", call), one=1)}
        mallory = await somebody(web, "mallory", alice).open(MODERN, ABLE)
        mallory.headers |= {"authorization": "Bearer alice", "x-user": "alice", "x-forwarded-user": "alice"}
        claim = {"io.modelcontextprotocol/clientInfo": {"name": "alice", "version": "1"}, "principal": "alice"}

        assert rejected(await mallory.call(2, "tools/call", {**retry, "_meta": {**envelope(MODERN, ABLE), **claim}}))
        assert rejected(await mallory.call(2, "tools/call", {**retry, "principal": "alice"}))


@pytest.mark.parametrize("stateless", [False, True], ids=["sessions", "stateless"])
@pytest.mark.parametrize("stranger", ["mallory", None], ids=repr)
async def test_a_question_is_answered_by_its_user_alone_though_others_know_the_session(
    stranger: str | None, *, stateless: bool
) -> None:
    """ELIC-28, ELIC-31, SEC-01, SEC-04."""
    async with proving(make(), stateless=stateless) as web:
        alice = await somebody(web, "alice").open("2025-11-25", ABLE)
        call = alice.tool(1, "ask", message="Sure?")
        question = await call.message()

        refused = await somebody(web, stranger, alice).answer(question["id"], {"action": "decline"})
        await anyio.wait_all_tasks_blocked()
        assert (refused.status, call.over) == (404, False)
        assert (await alice.answer(question["id"], YES)).status == 202
        assert text(await call.reply()) == "accept {'ok': True}"


async def test_headers_alone_let_nobody_do_anything() -> None:
    """HTTP-72: what is done is what the body says, and only if the headers say the same."""
    done: list[str] = []

    @tool
    async def harmless() -> None:
        done.append("harmless")

    @tool
    async def dangerous() -> None:
        done.append(f"dangerous, for {get_context().headers.get('mcp-name')}")

    server = MCPServer("s")
    server.collect(harmless, dangerous)
    async with proving(server) as web:
        client = await web.open(MODERN)
        params: dict[str, Any] = {"name": "dangerous", "arguments": {}, "_meta": envelope()}
        message = {"id": 1, "method": "tools/call", "params": params}
        for method, name in (("tools/call", "harmless"), ("tools/list", "dangerous"), ("ping", "")):
            exchange = await client.say(message, mcp_method=method, mcp_name=name).ended()
            assert (exchange.status, exchange.messages[0]["error"]["code"]) == (400, -32020)

        huge = await client.say(message, mcp_method="tools/call", mcp_name="x" * 100_000).ended()
        assert huge.status == 431
    assert done == []
