"""Cancelling a call: confined to that call, seen by its handler, and answered with silence."""

from __future__ import annotations

import logging
import threading

import anyio
import pytest
from anyio import to_thread

from dedalus_mcp import Limits, MCPClient, MCPServer, ServerConfig, StdioServer, tool
from tests.interaction.raw import Raw, Scripted, envelope, serving
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.interaction.scripts import opened, text
from tests.interaction.server import Story, make

revisions = pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


@ways
@revisions
@pytest.mark.parametrize("name", ["hold", "hide", "rage", "nest"])
async def test_a_cancelled_call_ends_without_an_answer_and_harms_no_other(
    name: str, revision: str, transport: str
) -> None:
    """CANC-03, STDIO-11, STDIO-12, B043, B044: also where the handler hides it, fails in it, or has children."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for id in range(5):
                key = f"call {id}"
                await raw.begin(id, "tools/call", name=name if id == 2 else "hold", arguments={"key": key})
                await raw.tool("s", "until", what=f"{key} began")
            await raw.notify("notifications/cancelled", requestId=2, reason="enough")
            await raw.tool("s", "until", what="call 2 cancelled")
            await raw.tool("s", "until", what="call 2 over")

            for id in (4, 3, 1, 0):
                await raw.tool("s", "release", key=f"call {id}")
                assert "result" in await raw.reply(id)
            for id in range(2, 12):
                assert (await raw.tool(id, "echo", text="on"))["result"]["content"][0]["text"] == "on"
            answered = [message["id"] for message in raw.heard if message.get("id") in (2, 3)]
    assert answered.count(2) == 1  # that of the second call under this id


@ways
@revisions
async def test_cancelling_what_does_not_run_does_nothing(revision: str, transport: str) -> None:
    """CANC-02, CANC-10, RPC-12: unknown, finished, malformed, twice, and for `initialize`: no answer, no harm."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            await raw.tool(1, "echo", text="done")
            for params in (
                {"requestId": 1},
                {"requestId": 99},
                {"requestId": "init"},
                {},
                {"requestId": [1]},
                {"x": 1},
            ):
                await raw.say({"method": "notifications/cancelled", "params": params})
            await raw.say({"method": "notifications/cancelled"}, {"method": "notifications/cancelled", "params": None})

            assert await raw.barrier() == []
            assert (await raw.tool(1, "echo", text="on"))["result"]["content"][0]["text"] == "on"


@pytest.mark.parametrize("zero", [0, ""], ids=repr)
@revisions
async def test_an_id_that_is_false_can_be_cancelled(revision: str, zero: int | str) -> None:
    """B005."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision)
            await raw.begin(zero, "tools/call", name="hold", arguments={"key": "k"})
            await raw.tool("s", "until", what="k began")
            await raw.notify("notifications/cancelled", requestId=zero)

            await raw.tool("s", "until", what="k cancelled")
            assert await raw.barrier() == []


@revisions
async def test_a_prompt_is_cancelled_likewise(revision: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision)
            await raw.begin(1, "prompts/get", name="hold-prompt")
            await raw.tool("s", "until", what="prompt began")
            await raw.notify("notifications/cancelled", requestId=1)
            await raw.tool("s", "until", what="prompt over")

            assert await raw.barrier() == []


@ways
@revisions
async def test_leaving_the_scope_of_a_call_cancels_it_on_the_wire(revision: str, transport: str) -> None:
    """CANC-06, STDIO-11, B044: the caller's own scope is all there is to it, and the client goes on."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "hold", {"key": "k"})
                await client.call_tool("until", {"what": "k began"})
                group.cancel_scope.cancel()

            await client.call_tool("until", {"what": "k cancelled"})
            assert text_of(await client.call_tool("echo", {"text": "on"})) == "on"


@revisions
async def test_the_client_names_the_call_and_drops_its_late_answer(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    """CANC-02, CANC-10, B043: a reply that crosses the cancellation is no news to anybody."""
    caplog.set_level(logging.WARNING)
    began = anyio.Event()

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        began.set()
        cancelled = await raw.hear()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == call["id"]
        await raw.say({"id": call["id"], "result": text(revision, "too late")})
        second = await raw.hear_method("tools/call")
        await raw.say({"id": second["id"], "result": text(revision, "on")})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as servers,
            MCPClient.connect(Scripted(servers, server), revision=revision) as client,
        ):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "a")
                await began.wait()
                group.cancel_scope.cancel()
            assert text_of(await client.call_tool("b")) == "on"
    assert caplog.records == []


@pytest.mark.parametrize("first", ["initialize", "server/discover"])
async def test_the_first_request_of_a_client_is_never_cancelled(first: str) -> None:
    """LIFE-10, B046, B157: an abandoned handshake ends the connection, and is cancellation to its caller."""
    revision = "2025-06-18" if first == "initialize" else "2026-07-28"
    heard: list[str] = []
    began = anyio.Event()

    async def server(raw: Raw) -> None:
        while True:
            heard.append((await raw.hear())["method"])
            began.set()

    async def connect(target: Scripted) -> None:
        async with MCPClient.connect(target, revision=revision):
            raise AssertionError("connected to a server that is silent")

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as servers, anyio.create_task_group() as group:
            group.start_soon(connect, Scripted(servers, server))
            await began.wait()
            group.cancel_scope.cancel()
    assert heard == [first]


async def test_a_client_that_goes_away_ends_its_calls_quietly(caplog: pytest.LogCaptureFixture) -> None:
    """B023, B047: handlers are cancelled, their cleanup runs, nothing is logged."""
    caplog.set_level(logging.INFO)
    story = Story()
    with anyio.fail_after(PATIENCE):
        async with serving(make(story=story)) as raw:
            await raw.open("2025-06-18")
            await raw.begin(1, "tools/call", name="hold", arguments={"key": "k"})
            await raw.begin(2, "tools/call", name="nest", arguments={"key": "n"})
            await raw.tool(3, "until", what="n's child began")

        assert {"k over", "n over", "n's child over"} <= set(story.told)
    assert caplog.records == []


@ways
@revisions
async def test_a_cancellation_right_behind_its_call_is_in_time(revision: str, transport: str) -> None:
    """B043, B044: the handler has not begun, or only just."""
    meta = {"_meta": envelope()} if revision == "2026-07-28" else {}
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for id in range(20):
                params = {"name": "hold", "arguments": {"key": f"k{id}"}, **meta}
                cancelled = {"method": "notifications/cancelled", "params": {"requestId": id}}
                await raw.say({"id": id, "method": "tools/call", "params": params}, cancelled)
            assert await raw.barrier() == []
            assert (await raw.tool(1, "echo", text="on"))["result"]["content"][0]["text"] == "on"


@revisions
async def test_a_cancelled_thread_keeps_its_place_and_nobody_else_waits(revision: str) -> None:
    """B043, B139: no reply for it, sync tools wait for the place, async ones go on."""
    go, began = threading.Event(), threading.Event()

    def block() -> str:
        began.set()
        go.wait(PATIENCE)
        return "blocked"

    def quick() -> str:
        return "quick"

    async def fast() -> str:
        return "fast"

    server = MCPServer("threads", config=ServerConfig(worker_threads=1))
    server.collect(*map(tool, (block, quick, fast)))
    try:
        with anyio.fail_after(PATIENCE):
            async with serving(server) as raw:
                await raw.open(revision)
                await raw.begin("b", "tools/call", name="block", arguments={})
                await to_thread.run_sync(began.wait, PATIENCE)
                await raw.notify("notifications/cancelled", requestId="b")
                await raw.begin("q", "tools/call", name="quick", arguments={})
                assert "result" in await raw.tool("f", "fast")
                assert await raw.barrier() == []
                go.set()
                assert (await raw.reply("q"))["result"]["content"][0]["text"] == "quick"
                assert await raw.barrier() == []
    finally:
        go.set()


@revisions
async def test_more_calls_than_the_limit_are_refused_each_with_its_id(revision: str) -> None:
    """B044: the others go on, and a place that is free again is taken."""
    with anyio.fail_after(PATIENCE):
        async with serving(make(ServerConfig(limits=Limits(max_in_flight=3)))) as raw:
            await raw.open(revision)
            for key in ("a", "b"):
                await raw.begin(key, "tools/call", name="hold", arguments={"key": key})
            await raw.tool("s", "until", what="b began")
            await raw.begin("c", "tools/call", name="hold", arguments={"key": "c"})
            refused = await raw.tool("d", "echo", text="x")
            assert refused["error"]["code"] == -32603
            assert "limit" in refused["error"]["message"]
            await raw.notify("notifications/cancelled", requestId="a")
            await raw.notify("notifications/cancelled", requestId="b")
            while "error" in await raw.tool("s", "until", what="a over"):  # until its cleanup is done
                pass
            assert (await raw.tool("d", "echo", text="on"))["result"]["content"][0]["text"] == "on"
