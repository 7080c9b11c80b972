"""`SessionListener`: a legacy session hears of the lists that it was promised and of what it subscribed to."""

from __future__ import annotations

import anyio
import pytest

from dedalus_mcp import MCPServer, ServerConfig, resource, resource_template, tool
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.outbox import Outbox
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.changes import PROMPTS, TOOLS, updated
from dedalus_mcp.server.listeners import Listeners
from dedalus_mcp.server.session_listener import SessionListener
from tests.interaction.raw import Raw, serving

UPDATED = "notifications/resources/updated"


@resource("a://b", inline=True)
def b() -> str:
    return "b"


@resource("a://c", inline=True)
def c() -> str:
    return "c"


@resource_template("a://z{n}")
async def z(n: str) -> str:
    return n


def offering() -> MCPServer:
    server = MCPServer("test", config=ServerConfig(notice_delay=0))
    server.collect(b, c, z)
    return server


async def heard(raw: Raw, last: str) -> list[str]:
    """The URIs of the updates up to that one."""
    uris: list[str] = []
    while last not in uris:
        uris.append((await raw.hear_method(UPDATED))["params"]["uri"])
    return uris


async def test_each_session_hears_of_what_it_subscribed_to() -> None:
    """RES-11."""
    server = offering()
    async with serving(server) as one, serving(server) as other, serving(server) as none:
        for raw, uris in ((one, ["a://b"]), (other, ["a://b", "a://c"]), (none, ["a://z1"])):
            await raw.open("2025-11-25")
            for uri in uris:
                assert (await raw.call(1, "resources/subscribe", uri=uri))["result"] == {}
        for uri in ("a://b", "a://c", "a://d", "a://z2", "a://z1"):
            await server.notify_resource_updated(uri)

        assert await heard(none, "a://z1") == ["a://z1"]
        assert await heard(one, "a://b") == ["a://b"]
        assert await heard(other, "a://c") == ["a://b", "a://c"]

        await other.call(2, "resources/unsubscribe", uri="a://b")
        await server.notify_resource_updated("a://b")
        assert await heard(one, "a://b") == ["a://b"]
        assert await other.barrier() == []


async def test_a_connection_that_is_over_is_forgotten() -> None:
    server = offering()
    for _ in range(3):
        async with serving(server) as raw:
            await raw.open("2025-11-25")
            await raw.call(1, "resources/subscribe", uri="a://b")
            assert len(server.listeners) == 2
        assert len(server.listeners) == 0


async def test_a_modern_request_leaves_no_listener_behind() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open("2026-07-28")
        await raw.call(1, "resources/read", uri="a://b")
        assert (await raw.call(1, "resources/subscribe", uri="a://b"))["error"]["code"] == -32601
        assert len(server.listeners) == 0


async def test_a_session_hears_of_no_list_that_was_not_there_at_its_beginning() -> None:
    """What was not advertised is not sent; a session that begins later hears of it."""
    server = offering()

    @tool
    async def late() -> None: ...

    async with serving(server) as old, serving(server) as new:
        await old.open("2025-11-25")
        server.collect(late)
        await new.open("2025-11-25")
        server.tools.remove("late")
        server.resources.remove("a://c")

        methods = [(await new.hear())["method"] for _ in range(2)]
        assert sorted(methods) == ["notifications/resources/list_changed", "notifications/tools/list_changed"]
        assert (await old.hear())["method"] == "notifications/resources/list_changed"
        assert await old.barrier() == []


@pytest.mark.parametrize("way", ["from_thread", "bus"])
async def test_a_worker_thread_can_tell_too(way: str) -> None:
    server = offering()
    with server.binding():

        @resource("a://d")
        def telling() -> str:
            if way == "bus":
                server.bus.publish(updated("a://b"))
            else:
                anyio.from_thread.run(server.notify_resource_updated, "a://b")
            return "told"

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        await raw.call(1, "resources/subscribe", uri="a://b")
        await raw.begin(2, "resources/read", uri="a://d")
        messages = [await raw.hear(), await raw.hear()]
        assert [each["params"]["uri"] for each in messages if "method" in each] == ["a://b"]


async def test_one_subscription_is_enough_and_more_than_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp.server.session_listener.MAX_SUBSCRIPTIONS", 1)
    async with serving(server := offering()) as raw:
        await raw.open("2025-11-25")
        for _ in range(2):
            assert (await raw.call(1, "resources/subscribe", uri="a://b"))["result"] == {}
        assert (await raw.call(1, "resources/subscribe", uri="a://c"))["error"]["code"] == -32600
        await server.notify_resource_updated("a://b")
        assert await heard(raw, "a://b") == ["a://b"]
        await raw.call(1, "resources/unsubscribe", uri="a://b")
        assert (await raw.call(1, "resources/subscribe", uri="a://c"))["result"] == {}


async def test_what_a_session_hears_of_is_bounded_in_characters_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients choose the URIs, and where there is a template almost any will do."""
    monkeypatch.setattr("dedalus_mcp.server.session_listener.MAX_CHARACTERS", 100)
    short, long, longer = "a://z1", "a://z" + "1" * 90, "a://z" + "1" * 100
    async with serving(offering()) as raw:
        await raw.open("2025-11-25")
        assert "100 characters" in (await raw.call(1, "resources/subscribe", uri=longer))["error"]["message"]
        for _ in range(2):
            assert (await raw.call(1, "resources/subscribe", uri=long))["result"] == {}
        assert (await raw.call(1, "resources/subscribe", uri=short))["error"]["code"] == -32600
        for _ in range(2):
            assert (await raw.call(1, "resources/unsubscribe", uri=long))["result"] == {}
        assert (await raw.call(1, "resources/subscribe", uri=short))["result"] == {}


class Silent:
    """A handler that is never called."""

    def answer(self, call: Inbound) -> None:
        raise AssertionError

    def frees_others(self, call: Inbound) -> bool:
        return False

    def hear(self, notice: Notice) -> None:
        raise AssertionError


async def test_what_a_reader_misses_while_it_stalls_is_kept_once_and_sent_when_it_reads() -> None:
    outbox = Outbox(lambda: None, high_water=10)
    peer = Peer(Silent(), outbox, answers_malformed=True)
    listener = SessionListener(Listeners(0), peer, {TOOLS, PROMPTS})
    listener.subscribe("a://b")
    peer.channel.send(b"more than ten bytes")
    for _ in range(1000):
        for change in (TOOLS, updated("a://b"), PROMPTS):
            listener.tell(change)
    listener.unsubscribe("a://b")

    assert await outbox.take() == [b"more than ten bytes"]
    with anyio.fail_after(20):
        sent = await outbox.take()
    assert [frame.count(b"list_changed") for frame in sent] == [1, 1]


async def test_what_was_kept_for_a_session_that_ends_is_dropped() -> None:
    outbox = Outbox(lambda: None, high_water=10)
    peer = Peer(Silent(), outbox, answers_malformed=True)
    listeners = Listeners(0)
    listener = SessionListener(listeners, peer, {TOOLS})
    peer.at_end(listener.leave)
    peer.channel.send(b"more than ten bytes")
    listener.tell(TOOLS)

    peer.close("over")
    await outbox.take()
    outbox.close()
    with anyio.fail_after(20):
        await listener._tasks.wait()  # pyright: ignore[reportPrivateUsage]

    assert len(listeners) == 0
