"""`subscriptions/listen` on one connection: what is granted, what is told, how it ends, and the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, get_context, prompt, resource, resource_template, tool
from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.peer import Limits
from dedalus_mcp.server.changes import MemoryBus
from dedalus_mcp.transport import Received
from dedalus_mcp_transports.memory import pair
from tests.interaction.raw import Raw, envelope, serving

MODERN = "2026-07-28"
ID = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS, PROMPTS, RESOURCES, UPDATED = (
    f"notifications/{each}"
    for each in ("tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated")
)
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
PATIENCE = 20.0


@tool
async def touch(uri: str) -> None:
    await get_context().server.notify_resource_updated(uri)


@tool
async def chatter() -> None:
    context = get_context()
    await context.info("for the caller")
    await context.report_progress(1)


@prompt("p")
def p(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return []


@resource("a://b", inline=True)
def b() -> str:
    return "b"


@resource_template("a://t/{x}")
async def t(x: str) -> str:
    return x


def offering(*functions: Any, **settings: Any) -> MCPServer:
    server = MCPServer("test", config=ServerConfig(notice_delay=0, **settings))
    server.collect(*(functions or (touch, chatter, p, b, t)))
    return server


async def listening(raw: Raw, id: Any, **kinds: Any) -> dict[str, Any]:
    """Open a stream and return what is acknowledged, which comes first."""
    await raw.begin(id, "subscriptions/listen", notifications=kinds)
    return acknowledged(await raw.hear(), id)


def acknowledged(message: dict[str, Any], id: Any) -> dict[str, Any]:
    assert message["method"] == ACKNOWLEDGED
    assert tag(message) == (id, type(id))
    return dict(message["params"]["notifications"])


def tag(message: dict[str, Any]) -> tuple[object, type[object]]:
    id: object = message["params"]["_meta"][ID]
    return id, type(id)


async def test_what_is_there_is_granted_and_the_rest_left_out() -> None:
    """SUB-02, SUB-03, SUB-14, AMB-40: also resources that no one could read."""
    async with serving(offering()) as raw:
        await raw.open(MODERN)
        uris = ["a://b", "a://t/1", "a://none", "a://b"]

        assert await listening(raw, 1, **EVERYTHING, resourceSubscriptions=uris, taskIds=["t"], unknown=True) == {
            **EVERYTHING,
            "resourceSubscriptions": ["a://b", "a://t/1"],
        }
        assert await listening(raw, 2) == {}
        assert await listening(raw, 3, toolsListChanged=False, resourceSubscriptions=["a://none"]) == {}

    async with serving(offering(touch)) as raw:
        await raw.open(MODERN)
        assert await listening(raw, 1, **EVERYTHING, resourceSubscriptions=uris) == {"toolsListChanged": True}


async def test_a_stream_tells_what_was_asked_for_under_its_own_id_and_nothing_else() -> None:
    """SUB-01, SUB-05, SUB-07, META-10, RES-12, TOOL-20, PROMPT-11: ids keep their JSON type."""
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        await listening(raw, 1, toolsListChanged=True)
        await listening(raw, "1", promptsListChanged=True, resourcesListChanged=True)
        await listening(raw, "r", resourceSubscriptions=["a://b", "a://t/1"])
        server.tools.remove("chatter")
        server.prompts.remove("p")
        server.resources.remove_template("a://t/{x}")
        for uri in ("a://b", "a://t/2", "a://t/1"):
            await server.notify_resource_updated(uri)

        heard = [await raw.hear() for _ in range(5)]
        found = {(message["method"], message["params"].get("uri"), *tag(message)) for message in heard}
        assert found == {
            (TOOLS, None, 1, int),
            (PROMPTS, None, "1", str),
            (RESOURCES, None, "1", str),
            (UPDATED, "a://b", "r", str),
            (UPDATED, "a://t/1", "r", str),
        }
        assert await raw.barrier() == []


async def test_each_notify_method_reaches_whoever_listens() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        await listening(raw, 1, **EVERYTHING, resourceSubscriptions=["a://b"])
        for notify, method in (
            (server.notify_tools_list_changed, TOOLS),
            (server.notify_prompts_list_changed, PROMPTS),
            (server.notify_resources_list_changed, RESOURCES),
        ):
            await notify()
            assert (await raw.hear())["method"] == method
        await server.notify_resource_updated("a://b")
        assert (await raw.hear())["params"]["uri"] == "a://b"


async def test_a_burst_is_one_notice() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        await listening(raw, 1, toolsListChanged=True)
        for number in range(100):

            @tool(f"tool-{number}")
            async def another() -> None: ...

            server.collect(another)
        assert (await raw.hear())["method"] == TOOLS
        server.tools.remove("tool-0")
        assert (await raw.hear())["method"] == TOOLS
        assert await raw.barrier() == []


async def test_logs_and_progress_of_other_calls_stay_off_the_stream() -> None:
    """SUB-12, LOG-05: though the listener asks for them too."""
    async with serving(offering()) as raw:
        await raw.open(MODERN)
        noisy = {"io.modelcontextprotocol/logLevel": "debug", "progressToken": "t"}
        await raw.begin("l", "subscriptions/listen", notifications=EVERYTHING, _meta=noisy)
        acknowledged(await raw.hear(), "l")
        await raw.tool(1, "chatter")

        assert [message for message in raw.heard if "id" not in message][1:] == []


async def test_a_client_ends_its_stream_by_cancelling_and_its_id_is_free_again() -> None:
    """SUB-08, CANC-04: nothing more is said of it, and the others go on."""
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        await listening(raw, 1, toolsListChanged=True)
        await listening(raw, 2, toolsListChanged=True)
        await raw.notify("notifications/cancelled", requestId=1)
        server.tools.remove("chatter")

        assert tag(await raw.hear()) == (2, int)
        assert await raw.barrier() == []
        assert await listening(raw, 1, toolsListChanged=True) == {"toolsListChanged": True}


async def test_an_id_in_use_is_refused_and_the_stream_goes_on() -> None:
    """AMB-40."""
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        await listening(raw, 1, toolsListChanged=True)
        reply = await raw.call(1, "subscriptions/listen", notifications={})
        assert reply["error"]["code"] == -32600
        server.tools.remove("chatter")
        assert tag(await raw.hear()) == (1, int)


async def test_what_listened_on_a_connection_that_is_over_is_forgotten() -> None:
    """SUB-11: the server keeps nothing."""
    server = offering()
    for _ in range(3):
        async with serving(server) as raw:
            await raw.open(MODERN)
            await listening(raw, 1, **EVERYTHING, resourceSubscriptions=["a://b"])
            assert (len(server.listeners), len(server.listeners.streams)) == (4, 1)
        assert (len(server.listeners), len(server.listeners.streams)) == (0, 0)


# Refused.


@pytest.mark.parametrize(
    "params",
    [{}, {"notifications": None}, {"notifications": []}, {"notifications": {"toolsListChanged": "yes"}}],
    ids=str,
)
async def test_a_filter_that_is_none_is_refused(params: dict[str, Any]) -> None:
    async with serving(offering()) as raw:
        await raw.open(MODERN)
        assert (await raw.call(1, "subscriptions/listen", params))["error"]["code"] == -32602


@pytest.mark.parametrize("uris", [[f"a://t/{n}" for n in range(1001)], [f"a://t/{'x' * (256 * 1024)}"]], ids=len)
async def test_more_resources_than_a_stream_can_watch_are_refused(uris: Sequence[str]) -> None:
    async with serving(server := offering()) as raw:
        await raw.open(MODERN)
        reply = await raw.call(1, "subscriptions/listen", notifications={"resourceSubscriptions": uris})

        assert reply["error"]["code"] == -32602
        assert "at most 1000 URIs" in reply["error"]["message"]
        assert len(server.listeners) == 0


async def test_streams_are_bounded_on_each_connection_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp.server.subscriptions.MAX_STREAMS", 2)
    async with serving(server := offering(max_listens=3)) as one, serving(server) as other:
        await one.open(MODERN)
        await other.open(MODERN)
        for id in (1, 2):
            await listening(one, id)
        reply = await one.call(3, "subscriptions/listen", notifications={})
        assert (reply["error"]["code"], "2 are open here" in reply["error"]["message"]) == (-32603, True)

        await listening(other, 1)
        reply = await other.call(2, "subscriptions/listen", notifications={})
        assert (reply["error"]["code"], "no room" in reply["error"]["message"]) == (-32603, True)

        await one.notify("notifications/cancelled", requestId=1)
        await one.barrier()
        await listening(other, 2)


async def test_streams_take_no_place_among_the_calls_that_may_run() -> None:
    async with serving(offering(limits=Limits(max_in_flight=1))) as raw:
        await raw.open(MODERN)
        for id in range(10):
            await listening(raw, id)
        assert "result" in await raw.tool("t", "touch", uri="a://b")


async def test_a_stream_is_no_part_of_a_batch() -> None:
    async with serving(offering()) as raw:
        await raw.open("2025-03-26")
        params: dict[str, Any] = {"notifications": {}, "_meta": envelope()}
        await raw.say([{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}])
        (reply,) = await raw.hear()

    assert reply["error"]["code"] == -32600


async def test_where_nothing_is_offered_there_is_nothing_to_listen_to() -> None:
    """DISC-05."""
    async with serving(MCPServer("empty")) as raw:
        await raw.open(MODERN)
        assert (await raw.call(1, "subscriptions/listen", notifications={}))["error"]["code"] == -32601


# A reader that stalls, and the end.


class Narrow:
    """A connection whose reader can stop reading at a known moment."""

    def __init__(self) -> None:
        self.near, self._far = pair()
        self.reads = anyio.Event()
        self.reads.set()

    async def receive(self) -> Sequence[Received]:
        return await self._far.receive()

    async def send(self, frames: Sequence[bytes]) -> None:
        await self.reads.wait()
        await self._far.send(frames)

    async def aclose(self) -> None:
        await self._far.aclose()


async def test_a_stalled_reader_delays_nobody_and_gets_each_change_once_when_it_reads() -> None:
    server = offering()
    narrow = Narrow()
    with anyio.fail_after(PATIENCE):
        async with serving(server) as quick, anyio.create_task_group() as group:
            conversation = Conversation(server.answering(), narrow, answers_malformed=True)
            group.start_soon(conversation.run)
            slow = Raw(narrow.near)
            for raw in (slow, quick):
                await raw.open(MODERN)
                await listening(raw, 1, **EVERYTHING, resourceSubscriptions=["a://b"])
            narrow.reads = anyio.Event()
            conversation.peer.channel.send(b'{"jsonrpc":"2.0","method":"padding"}' + b" " * (2 << 20))
            for _ in range(50):
                await server.notify_tools_list_changed()
                await server.notify_resource_updated("a://b")
                assert {(await quick.hear())["method"] for _ in range(2)} == {TOOLS, UPDATED}
            narrow.reads.set()

            assert (await slow.hear())["method"] == "padding"
            assert {(await slow.hear())["method"] for _ in range(2)} == {UPDATED, TOOLS}
            assert await slow.barrier() == []
            await slow.close()


async def test_a_stream_that_is_ended_here_says_what_waits_and_then_that_it_is_complete() -> None:
    """SUB-09, CANC-05, AMB-01: on a connection that goes on, both words are said."""
    server = offering(max_listens=2)
    near, far = pair()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            conversation = Conversation(server.answering(), far, answers_malformed=True)
            group.start_soon(conversation.run)
            raw = Raw(near)
            await raw.open(MODERN)
            await listening(raw, 1, toolsListChanged=True)
            await listening(raw, "1", toolsListChanged=True)
            await conversation.end_lasting()
            heard = [await raw.hear() for _ in range(4)]
            replies = {message["id"]: message["result"] for message in heard if "id" in message}
            for id in (1, "1"):
                assert (replies[id]["resultType"], replies[id]["_meta"][ID]) == ("complete", id)
            cancelled = [message["params"]["requestId"] for message in heard if "method" in message]
            assert set(cancelled) == {1, "1"}

            assert await listening(raw, 2, toolsListChanged=True) == {"toolsListChanged": True}
            assert (await raw.reply(2))["result"]["_meta"][ID] == 2  # the server goes: it ends at once
            assert len(server.listeners.streams) == 0
            await raw.close()


async def test_the_end_does_not_wait_for_a_reader_that_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp.server.subscriptions.ENDING_SECONDS", 0.05)
    server = offering()
    narrow = Narrow()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            conversation = Conversation(server.answering(), narrow, answers_malformed=True)
            group.start_soon(conversation.run)
            raw = Raw(narrow.near)
            await raw.open(MODERN)
            await listening(raw, 1, toolsListChanged=True)
            narrow.reads = anyio.Event()
            conversation.peer.channel.send(b"{}" + b" " * (2 << 20))
            await server.notify_tools_list_changed()
            await anyio.wait_all_tasks_blocked()
            conversation.peer.drain()
            await conversation.peer.drained()
            assert len(server.listeners.streams) == 0
            narrow.reads.set()
            await raw.close()


# The bus.


async def test_what_one_server_publishes_is_heard_by_the_clients_of_all_that_share_its_bus() -> None:
    bus = MemoryBus()
    servers = [MCPServer(name, config=ServerConfig(notice_delay=0), subscription_bus=bus) for name in "ab"]
    for server in servers:
        server.collect(touch, chatter)
    async with serving(servers[0]) as one, serving(servers[1]) as other:
        for raw in (one, other):
            await raw.open(MODERN)
            await listening(raw, 1, toolsListChanged=True)
        servers[0].tools.remove("chatter")

        assert [(await raw.hear())["method"] for raw in (one, other)] == [TOOLS, TOOLS]


async def test_streams_that_come_and_go_leave_nothing_behind() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open(MODERN)
        for turn in range(100):
            await raw.begin(turn, "subscriptions/listen", notifications=EVERYTHING)
            while turn % 2 and tag(await raw.hear_method(ACKNOWLEDGED)) != (turn, int):
                pass
            await server.notify_tools_list_changed()
            await raw.notify("notifications/cancelled", requestId=turn)
        await raw.barrier()

        assert (len(server.listeners), len(server.listeners.streams)) == (0, 0)
