"""`Answering`: the route of a call, and the order in which what is wrong with it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import Context, McpError, MCPServer, ServerConfig, prompt, resource_template, tool
from dedalus_mcp.types.methods import REQUESTS
from dedalus_mcp.types.revisions import LEGACY, MODERN, REVISIONS
from tests.interaction.raw import INFO, envelope, serving


@tool
async def echo(a: Any = None) -> Any:
    return {"a": a}


@prompt("greet")
def greet(arguments: dict[str, str]) -> None: ...


@resource_template("a://{x}")
def page(x: str) -> str:
    return x


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", version="1", **settings)
    server.collect(*functions)
    return server


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_method_is_answered_by_its_revision_and_by_what_is_there(revision: str) -> None:
    """DISC-05: with nothing registered, the methods of tools, prompts and resources are none."""
    there = {"tools/list", "tools/call", "prompts/list", "prompts/get"}
    there |= {"subscriptions/listen"}
    there |= {f"resources/{method}" for method in ("list", "templates/list", "read", "subscribe", "unsubscribe")}
    always = {"ping", "logging/setLevel", "initialize", "server/discover"}
    for server, methods in ((offering(), always), (offering(echo, greet, page), always | there)):
        async with serving(server) as raw:
            await raw.open(revision)
            for method in [*REQUESTS, "no/such"]:
                reply = await raw.call(method, method, name="greet", level="info", uri="a://b")
                known = method in methods and revision in REQUESTS[method].client_sends
                not_found = reply.get("error", {}).get("code") == -32601
                assert not_found != known, (method, reply)


@pytest.mark.parametrize("params", [b"[]", b'"x"', b"7", b"null"], ids=repr)
async def test_params_that_are_no_object_are_refused(params: bytes) -> None:
    async with serving(offering(echo)) as raw:
        await raw.open("2025-11-25")
        await raw.say(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":%s}' % params)
        reply = await raw.reply(1)

    assert reply["error"]["code"] in {-32600, -32602}


async def test_what_is_wrong_with_the_envelope_is_said_before_what_is_wrong_with_the_params() -> None:
    async with serving(offering(echo)) as raw:
        meta = envelope("2099-01-01")
        unknown = await raw.call(1, "tools/call", name=7, _meta=meta)
        bad = await raw.call(2, "tools/call", name=7, _meta=envelope())
        not_there = await raw.call(3, "resources/read", uri=7, _meta=envelope())

    assert unknown["error"]["code"] == -32022
    assert bad["error"]["code"] == -32602
    assert "name" in bad["error"]["message"]
    assert not_there["error"]["code"] == -32601


async def test_a_huge_value_is_not_sent_back_to_say_that_it_is_wrong() -> None:
    async with serving(offering(echo)) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "logging/setLevel", level="x" * 1_000_000)

    assert reply["error"]["code"] == -32602
    assert len(reply["error"]["message"]) < 300


async def test_params_nested_too_deeply_are_refused_for_their_call_alone() -> None:
    async with serving(offering(echo)) as raw:
        await raw.open("2025-11-25")
        deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":%s}}}'
        await raw.say(deep % (b"[" * 50_000 + b"]" * 50_000))
        reply = await raw.hear()
        assert await raw.barrier() == []

    assert "error" in reply or reply["result"]["isError"]


async def test_requests_are_answered_in_order_where_no_code_of_the_author_runs() -> None:
    may_go = anyio.Event()

    @tool
    async def slow() -> None:
        await may_go.wait()

    async with serving(offering(slow, greet)) as raw:
        await raw.open("2025-11-25")
        await raw.begin("slow", "tools/call", name="slow")
        for id in range(5):
            await raw.begin(id, ("tools/list", "ping", "prompts/list")[id % 3])
        assert [(await raw.hear())["id"] for _ in range(5)] == list(range(5))
        may_go.set()
        assert (await raw.reply("slow"))["id"] == "slow"


@pytest.mark.parametrize("revision", LEGACY)
async def test_the_handshake_tells_what_is_there(revision: str) -> None:
    """LIFE-04."""
    async with serving(offering(echo)) as raw:
        agreed = (await raw.initialize(revision))["result"]

    assert agreed["protocolVersion"] == revision
    assert agreed["serverInfo"] == {"name": "test", "version": "1"}
    assert set(agreed["capabilities"]) == {"logging", "tools"}


@pytest.mark.parametrize("revision", MODERN)
async def test_discovery_tells_what_is_there(revision: str) -> None:
    """DISC-01, DISC-02, DISC-03, DISC-07."""
    async with serving(offering(greet)) as raw:
        await raw.open(revision)
        found = (await raw.call(1, "server/discover"))["result"]

    assert found["supportedVersions"] == list(MODERN)
    assert "prompts" in found["capabilities"]
    assert {"resultType", "ttlMs", "cacheScope"} <= set(found)
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "test"


async def test_a_handshake_in_a_batch_is_refused_and_agrees_on_nothing() -> None:
    async with serving(offering(echo)) as raw:
        await raw.open("2025-03-26")
        params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": INFO}
        await raw.say([{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}])
        (reply,) = await raw.hear()

    assert reply["error"]["code"] == -32600


async def test_the_context_of_one_call_is_never_that_of_another() -> None:
    seen: dict[str, str] = {}

    @tool
    async def look(me: str, ctx: Context) -> None:
        await anyio.lowlevel.checkpoint()
        seen[me] = ctx.request_id

    async with serving(offering(look)) as raw:
        await raw.open("2025-11-25")
        for number in range(50):
            await raw.begin(f"id {number}", "tools/call", name="look", arguments={"me": f"id {number}"})
        with anyio.fail_after(20):
            replies = [await raw.hear() for _ in range(50)]  # in any order

    assert {reply["id"] for reply in replies} == set(seen)
    assert seen == {f"id {number}": f"id {number}" for number in range(50)}


async def test_a_tool_registered_while_the_server_runs_is_there_at_once() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        assert (await raw.call(1, "tools/list"))["error"]["code"] == -32601
        server.collect(echo)
        assert len((await raw.call(2, "tools/list"))["result"]["tools"]) == 1
    await wait_all_tasks_blocked()


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "told"])
@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_a_prompt_or_resource_raises_is_told_where_the_author_wants_it(
    revision: str, masked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @prompt("greet")
    def failing(arguments: dict[str, str]) -> None:
        raise ZeroDivisionError("secret")

    @resource_template("a://{x}")
    async def reading(x: str) -> str:
        if x == "mine":
            raise ExceptionGroup("g", [McpError(-32099, "mine")])
        raise ZeroDivisionError("secret")

    server = offering(failing, reading, config=ServerConfig(mask_errors=masked))
    said = "Internal error" if masked else "Internal error: ZeroDivisionError: secret"
    async with serving(server) as raw:
        await raw.open(revision)
        for method, params in (("prompts/get", {"name": "greet"}), ("resources/read", {"uri": "a://b"})):
            assert (await raw.call(method, method, params))["error"] == {"code": -32603, "message": said}
        assert (await raw.call("mine", "resources/read", uri="a://mine"))["error"]["code"] == -32099

    assert caplog.text.count("ZeroDivisionError: secret") == 2  # one traceback for each, in the log
