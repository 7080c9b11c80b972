"""`Upstream`: which connection carries what, how long each lasts, and what happens when one is lost."""

from __future__ import annotations

import subprocess
from typing import Any

import anyio
import pytest

from dedalus_mcp import CallNext, Context, Incoming, MCPClient, McpError, MCPServer, ServerConfig, proxy, tool
from dedalus_mcp.errors import CONNECTION_CLOSED, INTERNAL_ERROR, RemoteProtocolError
from dedalus_mcp.types import ElicitRequestParams
from tests.client.counting import back_to, living_tasks
from tests.interaction import proxied_server
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import PATIENCE, Heard, script, text_of
from tests.proxies.line import Line
from tests.proxies.scripted import legacy, text
from tests.transports import asgi
from tests.transports.test_http_client import serving as web_serving

ERAS = ("2025-11-25", "2026-07-28")
inside = pytest.mark.parametrize("inside", ERAS)
outside = pytest.mark.parametrize("outside", ERAS)


def named(name: str) -> Any:
    async def fn() -> str:
        return name

    return tool(name)(fn)


def offering(*functions: Any) -> MCPServer:
    server = MCPServer("upstream")
    server.collect(*functions)
    return server


def only_one(params: ElicitRequestParams) -> dict[str, Any]:
    return {"confirm": params.message == "1?"}


# Lost, and found again.


@inside
async def test_calls_on_a_lost_connection_fail_at_once_and_the_next_one_connects_again(inside: str) -> None:
    """B022."""
    line, began, updated = Line(proxied_server.make()), Heard[Any](), Heard[Any]()
    server = proxy(line, name="front", revision=inside)
    failures: list[McpError] = []
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, resource_updated=updated) as client:
            await client.subscribe_resource("a://r")

            async def fail() -> None:
                with pytest.raises(McpError) as raised:
                    await client.call_tool("wait", progress=began)
                failures.append(raised.value)

            async with anyio.create_task_group() as group:
                group.start_soon(fail)
                await began.wait(1)
                await line.cut()
            assert text_of(await client.call_tool("tell")) == "None"
            await updated.wait(1)  # nobody knows what was missed
            before = len(updated.values)
            await client.call_tool("change", {"what": "a://r"})
            await updated.wait(before + 1)

    (failure,) = failures
    assert failure.code == CONNECTION_CLOSED
    assert failure.message == "'front': the upstream server is gone"


@inside
async def test_as_long_as_the_upstream_server_cannot_be_reached_every_call_says_so(inside: str) -> None:
    line = Line(offering(named("a")))
    server = proxy(line, name="front", revision=inside)
    async with MCPClient.connect(server) as client:
        line.down = True
        await line.cut()
        for _ in range(3):
            with pytest.raises(McpError, match="'front': the upstream server cannot be reached") as raised:
                await client.call_tool("a")
            assert raised.value.code == CONNECTION_CLOSED
        assert [each.name for each in (await client.list_tools()).tools] == ["a"]  # as they were known
        line.down = False
        assert text_of(await client.call_tool("a")) == "a"


async def test_what_changed_while_the_connection_was_lost_is_seen_afterwards() -> None:
    upstream = offering(named("a"), named("b"))
    line, changed = Line(upstream), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(proxy(line), tools_list_changed=changed) as client:
            line.down = True
            await line.cut()
            upstream.tools.remove("a")
            upstream.collect(named("c"))
            line.down = False
            assert text_of(await client.call_tool("b")) == "b"
            await changed.wait(1)
            assert [each.name for each in (await client.list_tools()).tools] == ["b", "c"]


async def test_a_call_that_takes_too_long_is_ended_at_both_servers() -> None:
    server = proxy(proxied_server.make(), name="front", timeout=0.5)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server) as client:
            before = int(text_of(await client.call_tool("ended")))
            with pytest.raises(McpError, match="did not answer in time") as raised:
                await client.call_tool("wait")
            assert raised.value.code == INTERNAL_ERROR
            while int(text_of(await client.call_tool("ended"))) == before:
                await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@inside
@pytest.mark.parametrize("mask_errors", [True, False])
async def test_a_process_that_dies_is_started_again_and_its_last_words_are_for_the_log_unless_set_otherwise(
    inside: str, mask_errors: bool, caplog: pytest.LogCaptureFixture
) -> None:
    target = script("tests.interaction.proxied_server", stderr=subprocess.PIPE)
    server = proxy(target, name="front", revision=inside, config=ServerConfig(mask_errors=mask_errors))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server) as client:
            with pytest.raises(McpError, match="'front': the upstream server is gone") as raised:
                await client.call_tool("die")
            assert ("no licence" in caplog.text, "no licence" in raised.value.message) == (mask_errors, not mask_errors)
            assert text_of(await client.call_tool("count")) == "1"


# Connections of clients' own.


@outside
async def test_a_client_has_one_connection_to_a_legacy_server_which_ends_with_it(outside: str) -> None:
    line = Line(proxied_server.make())
    server = proxy(line, revision="2025-11-25")
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server) as stays:
            await stays.call_tool("count")
            tasks = living_tasks()
            for _ in range(3):
                async with MCPClient.connect(server, revision=outside) as client:
                    assert [text_of(await client.call_tool("count")) for _ in range(2)] == ["1", "2"]
            assert len(line.opened) == 2 + 3
            await back_to(tasks)


async def test_clients_of_the_newest_revision_share_one_connection_to_a_server_of_it() -> None:
    line = Line(proxied_server.make())
    server = proxy(line, revision="2026-07-28")
    able: dict[str, Any] = {"elicitation": only_one}
    async with MCPClient.connect(server, **able) as one, MCPClient.connect(server, **able) as two:
        for client in (one, two, one):
            assert text_of(await client.call_tool("ask_at_once")) == "[False, True, False]"

    assert len(line.opened) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@outside
async def test_over_http_a_client_without_a_session_has_a_connection_for_each_call(outside: str) -> None:
    line = Line(proxied_server.make())
    async with web_serving(proxy(line, revision="2025-11-25")) as url:
        with anyio.fail_after(PATIENCE):
            async with MCPClient.connect(url, revision=outside) as client:
                counts = [text_of(await client.call_tool("count")) for _ in range(3)]

    assert counts == (["1", "1", "1"] if outside == "2026-07-28" else ["1", "2", "3"])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_over_http_without_sessions_a_legacy_client_has_one_for_each_call_too(anyio_backend: str) -> None:
    line = Line(proxied_server.make())
    async with web_serving(proxy(line, revision="2025-11-25"), stateless=True) as url:
        with anyio.fail_after(PATIENCE):
            async with MCPClient.connect(url, revision="2025-11-25") as client:
                counts = [text_of(await client.call_tool("count")) for _ in range(3)]

    assert counts == ["1", "1", "1"]


async def test_one_client_too_many_is_told_the_limit_and_the_others_go_on() -> None:
    server = proxy(proxied_server.make(), revision="2025-11-25", max_connections=2)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server) as one, MCPClient.connect(server) as two:
            async with MCPClient.connect(server) as three:
                for client in (one, two):
                    assert text_of(await client.call_tool("count")) == "1"
                with pytest.raises(McpError, match="Too many connections to the upstream server: 2 are the limit"):
                    await three.call_tool("count")
            await two.close()
            async with MCPClient.connect(server) as four:
                assert text_of(await four.call_tool("count")) == "1"
            assert text_of(await one.call_tool("count")) == "2"


@tool
async def tell(ctx: Context) -> str:
    await ctx.info("here")
    return "told"


async def test_one_client_too_many_of_a_modern_server_has_no_logs_and_all_else() -> None:
    server = proxy(offering(tell), revision="2026-07-28", max_connections=1)
    first, second = Heard[Any](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with (
            MCPClient.connect(server, revision="2025-11-25", logging=first) as one,
            MCPClient.connect(server, revision="2025-11-25", logging=second) as two,
        ):
            for client in (one, two, one):
                assert text_of(await client.call_tool("tell")) == "told"
            await first.wait(2)

    assert second.values == []


async def test_a_call_that_outlives_its_session_leaves_no_connection_behind() -> None:
    upstream = offering(named("a"))
    server = proxy(upstream, revision="2025-11-25")
    there, may_pass, over = anyio.Event(), anyio.Event(), anyio.Event()

    @server.middleware.add
    async def shielded(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method != "tools/call":
            return await call_next()
        with anyio.CancelScope(shield=True):
            there.set()
            await may_pass.wait()
            try:
                return await call_next()
            finally:
                over.set()

    with anyio.fail_after(PATIENCE):
        async with asgi.serving(server) as web:
            client = await web.open("2025-11-25")
            client.tool(1, "a")
            await there.wait()
            await client.delete()
            may_pass.set()
            await over.wait()
            while len(upstream.active_sessions()) > 1:  # the one for all stays
                await anyio.lowlevel.checkpoint()


# What is asked on them, by servers that ours are not.


async def listing(raw: Raw, message: dict[str, Any]) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("one", "two")]
    await raw.say({"id": message["id"], "result": {"tools": tools}})


@outside
async def test_what_a_legacy_server_asks_at_the_handshake_is_asked_of_the_call_that_made_it(outside: str) -> None:
    """A server may list the roots once it hears `initialized`; there is always a call for whose sake that is."""

    async def begin(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": "r", "method": "roots/list"})

    async def answered(raw: Raw, message: dict[str, Any]) -> None:
        replies.append(message)

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": text("fine")})

    replies: list[dict[str, Any]] = []
    handshaking = {"notifications/initialized": begin, "tools/list": listing, "tools/call": call, "": answered}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, *[legacy(handshaking, {"tools": {}})] * 2)
            async with MCPClient.connect(
                proxy(target, revision="2025-11-25"), revision=outside, roots=["file:///r"]
            ) as client:
                assert text_of(await client.call_tool("one")) == "fine"
                while len(replies) < 2:
                    await anyio.lowlevel.checkpoint()

    refused, told = replies  # the first connection is nobody's
    assert refused["error"]["code"] == -32601
    assert told["result"]["roots"] == [{"uri": "file:///r"}]


@outside
async def test_a_question_goes_to_the_newest_call_and_to_another_where_that_ends_first(outside: str) -> None:
    """On legacy revisions nothing says on whose behalf a server asks."""
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    ids: dict[str, Any] = {}
    asked, let_two_end = anyio.Event(), anyio.Event()

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        ids[message["params"]["name"]] = message["id"]
        if len(ids) == 2:
            await raw.say(
                {"id": "q", "method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}
            )
            await asked.wait()
            await raw.say({"id": ids["two"], "result": text("two is over")})

    async def answered(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": ids["one"], "result": text(f"one got {message['result']['content']}")})

    async def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        if not asked.is_set():
            asked.set()
            await let_two_end.wait()
        return {"ok": True}

    results: dict[str, str] = {}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(
                group, *[legacy({"tools/list": listing, "tools/call": call, "": answered}, {"tools": {}})] * 2
            )
            async with MCPClient.connect(
                proxy(target, revision="2025-11-25"), revision=outside, elicitation=elicit
            ) as client:

                async def use(name: str) -> None:
                    try:
                        results[name] = text_of(await client.call_tool(name))
                    finally:
                        if name == "two":
                            let_two_end.set()

                async with anyio.create_task_group() as users:
                    users.start_soon(use, "one")
                    while "one" not in ids:
                        await anyio.lowlevel.checkpoint()
                    users.start_soon(use, "two")
                    await asked.wait()
                    if outside == "2026-07-28":  # whose call two waits for its round, and never gets the result
                        let_two_end.set()

    assert results["one"] == "one got {'ok': True}"


@outside
async def test_a_question_that_the_server_takes_back_is_not_waited_for(outside: str) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    calls: list[Any] = []

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        calls.append(message["id"])
        question = {"message": "?", "requestedSchema": schema}
        await raw.say({"id": "q", "method": "elicitation/create", "params": question})
        await seen.wait()
        await raw.say({"method": "notifications/cancelled", "params": {"requestId": "q"}})
        await raw.say({"id": message["id"], "result": text("never mind")})

    async def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        seen.set()
        await anyio.sleep_forever()
        return {}

    seen = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, *[legacy({"tools/list": listing, "tools/call": call}, {"tools": {}})] * 2)
            async with MCPClient.connect(
                proxy(target, revision="2025-11-25"), revision="2025-11-25", elicitation=elicit
            ) as client:
                assert text_of(await client.call_tool("one")) == "never mind"


@outside
async def test_progress_that_does_not_rise_and_numbers_that_are_none_are_left_out(outside: str) -> None:
    """PROG-03."""

    async def call(raw: Raw, message: dict[str, Any]) -> None:
        token = message["params"]["_meta"]["progressToken"]
        for progress, total in ((1, 2), (1, 2), (0.5, 2), (-3, 2), (2, None)):
            params = {"progressToken": token, "progress": progress, "total": total}
            await raw.say({"method": "notifications/progress", "params": params})
        await raw.say({"id": message["id"], "result": text("done")})

    heard = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, *[legacy({"tools/list": listing, "tools/call": call}, {"tools": {}})] * 2)
            async with MCPClient.connect(proxy(target, revision="2025-11-25"), revision=outside) as client:
                assert text_of(await client.call_tool("one", progress=heard)) == "done"
                await heard.wait(2)

    assert [(step.progress, step.total) for step in heard.values] == [(1, 2), (2, None)]


async def test_a_log_message_between_calls_reaches_a_legacy_client() -> None:
    async def call(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": text("done")})
        connections.append(raw)

    async def refuse(raw: Raw, message: dict[str, Any]) -> None:  # which costs the client no call
        await raw.say({"id": message["id"], "error": {"code": -32603, "message": "no"}})

    connections: list[Raw] = []
    heard = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            answers = {"tools/list": listing, "tools/call": call, "logging/setLevel": refuse}
            target = Scripted(group, *[legacy(answers, {"tools": {}, "logging": {}})] * 2)
            async with MCPClient.connect(
                proxy(target, revision="2025-11-25"), revision="2025-11-25", logging=heard
            ) as client:
                await client.call_tool("one")
                for said in ("debug", "error"):
                    await connections[0].say(
                        {"method": "notifications/message", "params": {"level": said, "data": said}}
                    )
                await heard.wait(1)

    assert [message.data for message in heard.values] == ["error"]


async def test_lists_without_end_and_lists_of_too_much_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    many = [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(10_005)]

    async def list_many(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": {"tools": many}})

    async def list_for_ever(raw: Raw, message: dict[str, Any]) -> None:
        await raw.say({"id": message["id"], "result": {"tools": [], "nextCursor": "again"}})

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            server = proxy(Scripted(group, legacy({"tools/list": list_many}, {"tools": {}})), revision="2025-11-25")
            async with server.running():
                assert len(server.tool_names) == 10_000
            endless = Scripted(group, legacy({"tools/list": list_for_ever}, {"tools": {}}))
            with pytest.raises(RemoteProtocolError, match="does not end"):
                async with proxy(endless, revision="2025-11-25").running():
                    pass
    assert "10000 are handed on" in caplog.text


async def test_many_notices_of_change_are_one_list_and_maybe_another() -> None:
    lists: list[Any] = []
    flooded = anyio.Event()

    async def list_slowly(raw: Raw, message: dict[str, Any]) -> None:
        lists.append(message["id"])
        await listing(raw, message)
        if len(lists) == 1:
            for _ in range(300):
                await raw.say({"method": "notifications/tools/list_changed"})
            flooded.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, legacy({"tools/list": list_slowly}, {"tools": {"listChanged": True}}))
            server = proxy(target, revision="2025-11-25")
            async with server.running():
                await flooded.wait()
                while len(lists) < 2:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
                assert server.tool_names == ["one", "two"]

    assert 2 <= len(lists) < 30


async def test_the_log_has_no_more_than_a_line_of_what_the_upstream_server_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(raw: Raw, message: dict[str, Any]) -> None:
        error = {"code": -32000, "message": "x" * 100_000}
        await raw.say({"id": message["id"], "error": error})

    async def list_once(raw: Raw, message: dict[str, Any]) -> None:
        answers["tools/list"] = fail
        await listing(raw, message)
        await raw.say({"method": "notifications/tools/list_changed"})

    answers: dict[str, Any] = {"tools/list": list_once}
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, legacy(answers, {"tools": {"listChanged": True}}))
            async with proxy(target, revision="2025-11-25").running():
                while not caplog.records:
                    await anyio.lowlevel.checkpoint()

    assert all(len(record.getMessage()) < 600 for record in caplog.records)
