"""What belongs to somebody, where whoever serves knows who sends: ids and states open nothing to others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from dedalus_mcp import McpError, MCPServer, get_context, resource, tool
from tests.interaction.raw import envelope
from tests.interaction.server import make
from tests.interaction.test_rounds import ABLE, MODERN, answering, ask, rejected, text
from tests.transports.asgi import Client, Web, serving

YES = {"action": "accept", "content": {"ok": True}}
KEY = b"k" * 32


def proved(scope: Mapping[str, Any]) -> str | None:
    """Stands for whatever proves who sends: it believes the header `x-proved`, and no other."""
    return next((value.decode() for name, value in scope["headers"] if name == b"x-proved"), None)


def proving(server: MCPServer, **settings: Any) -> AbstractAsyncContextManager[Web]:
    return serving(server, principal=proved, **settings)


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


async def test_a_sealed_state_is_good_for_its_user_alone_in_other_processes_too() -> None:
    """SEC-04, ELIC-32: also in one that has never heard of the call."""
    call: dict[str, Any] = {"name": "twice", "arguments": {}}
    servers = [MCPServer("s", state_keys=[KEY]) for _ in range(2)]
    for server in servers:
        server.collect(twice)
    async with proving(servers[0]) as here, proving(servers[1]) as there:
        alice = await somebody(here, "alice").open(MODERN, ABLE)
        retry = {**call, **answering(await alice.call(1, "tools/call", call), one=1)}

        for stranger in ("mallory", None, ""):
            mallory = await somebody(there, stranger, alice).open(MODERN, ABLE)
            assert rejected(await mallory.call(1, "tools/call", retry))
        alice = await somebody(there, "alice").open(MODERN, ABLE)
        second = {**call, **answering(await alice.call(2, "tools/call", retry), two=2)}
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


@resource("a://open", inline=True, ttl=3600.0, cache_scope="public")
def opened() -> str:
    return f"for {get_context().principal}"


@resource("a://hers", inline=True, ttl=3600.0, cache_scope="public")
def hers() -> str:
    if get_context().principal != "alice":
        raise McpError(-32602, "not for you")
    return "secret"


async def test_who_may_read_is_asked_at_every_read_whatever_clients_may_keep() -> None:
    """CACHE-15: nothing that was answered to one is an answer to another."""
    server = MCPServer("s")
    server.collect(opened, hers)
    async with proving(server) as web:
        told: list[Any] = []
        for who in ("alice", "mallory", None, "alice"):
            client = await somebody(web, who).open(MODERN)
            for uri in ("a://open", "a://hers"):
                reply = await client.call(1, "resources/read", uri=uri)
                told.append(reply["result"]["contents"][0]["text"] if "result" in reply else reply["error"]["message"])

    assert told == [
        "for alice",
        "secret",
        "for mallory",
        "not for you",
        "for None",
        "not for you",
        "for alice",
        "secret",
    ]


async def test_whoever_knows_who_sends_is_asked_at_every_request() -> None:
    """SEC-03: of every kind; an open session, a stream or a call that waits saves nobody from it."""
    seen: list[str] = []

    def of_token(scope: Mapping[str, Any]) -> str | None:
        seen.append(scope["method"])
        return proved(scope)

    async with serving(make(), principal=of_token) as web:
        alice = await somebody(web, "alice").open("2025-11-25", ABLE)
        call = alice.tool(1, "ask", message="Sure?")
        question = await call.message()
        stream = await alice.get()
        assert seen == ["POST"] * 3 + ["GET"]

        del alice.headers["x-proved"]
        refused = [
            await alice.begin(2, "ping").ended(),
            await alice.notify("notifications/cancelled", requestId=1),
            await alice.answer(question["id"], YES),
            await alice.get(),
            await alice.delete(),
        ]
        assert [exchange.status for exchange in refused] == [404] * 5
        assert seen[4:] == ["POST"] * 3 + ["GET", "DELETE"]
        assert (call.over, stream.over) == (False, False)

        modern = await somebody(web, "alice").open(MODERN, ABLE)
        for n in range(3):
            await modern.use(n, "echo", text="hi")
        assert seen[9:] == ["POST"] * 3


async def test_a_state_that_cannot_be_written_fails_its_own_question_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever proves names may make one that is no text: its calls fail, and others' rounds go on."""
    server = MCPServer("s", state_keys=(KEY,))
    server.collect(twice)

    def name_of(scope: Mapping[str, Any]) -> str | None:
        return "\ud800" if proved(scope) == "half" else proved(scope)

    async with serving(server, principal=name_of) as web:
        half, alice = somebody(web, "half"), somebody(web, "alice")
        call: dict[str, Any] = {"name": "twice", "arguments": {}}
        with anyio.fail_after(20):
            await half.open(MODERN, ABLE)
            failed = await half.call(1, "tools/call", call)
            await alice.open(MODERN, ABLE)
            round = await alice.call(1, "tools/call", call)

    assert failed["result"]["isError"]
    assert "the state of the call cannot be written" in text(failed)
    assert round["result"]["resultType"] == "input_required"
    assert "a round cannot be sent" in caplog.text
