"""`Listeners`: who hears of changes, found again without signing off."""

from __future__ import annotations

import gc

import anyio
import pytest

from dedalus_mcp import MCPServer, resource
from tests.interaction.raw import Raw, serving


@resource("a://b", inline=True)
def b() -> str:
    return "b"


@resource("a://c", inline=True)
def c() -> str:
    return "c"


def offering() -> MCPServer:
    server = MCPServer("test")
    server.collect(b, c)
    return server


async def heard(raw: Raw) -> list[str]:
    return [message["params"]["uri"] for message in await raw.barrier()]


async def test_each_session_hears_of_what_it_subscribed_to() -> None:
    """RES-11."""
    server = offering()
    async with serving(server) as one, serving(server) as other, serving(server) as none:
        for raw, uris in ((one, ["a://b"]), (other, ["a://b", "a://c"]), (none, list[str]())):
            await raw.open("2025-11-25")
            for uri in uris:
                assert (await raw.call(1, "resources/subscribe", uri=uri))["result"] == {}
        await server.notify_resource_updated("a://b")
        await server.notify_resource_updated("a://c")
        await server.notify_resource_updated("a://d")

        assert await heard(one) == ["a://b"]
        assert await heard(other) == ["a://b", "a://c"]
        assert await heard(none) == []

        await other.call(2, "resources/unsubscribe", uri="a://b")
        await server.notify_resource_updated("a://b")
        assert await heard(other) == []
        assert await heard(one) == ["a://b"]


async def test_a_connection_that_is_over_is_forgotten() -> None:
    server = offering()
    for _ in range(3):
        async with serving(server) as raw:
            await raw.open("2025-11-25")
            await raw.call(1, "resources/subscribe", uri="a://b")
        await anyio.wait_all_tasks_blocked()
        await server.notify_resource_updated("a://b")  # to nobody, and nothing fails
    gc.collect()

    assert len(server.listeners) <= 1  # a last frame may still hold one


async def test_a_modern_request_leaves_no_listener_behind() -> None:
    server = offering()
    async with serving(server) as raw:
        await raw.open("2026-07-28")
        await raw.call(1, "resources/read", uri="a://b")
        assert (await raw.call(1, "resources/subscribe", uri="a://b"))["error"]["code"] == -32601

    assert len(server.listeners) == 0


def test_no_event_loop_touches_what_is_anothers() -> None:
    server = offering()
    started: list[Raw] = []

    async def subscribe_and_look() -> None:
        async with serving(server) as raw:
            await raw.open("2025-11-25")
            await raw.call(1, "resources/subscribe", uri="a://b")
            started.append(raw)
            await anyio.to_thread.run_sync(anyio.run, notify)  # in a loop of its own
            assert await heard(raw) == []

    async def notify() -> None:
        await server.notify_resource_updated("a://b")

    anyio.run(subscribe_and_look)
    assert started


async def test_a_worker_thread_can_tell_too() -> None:
    server = offering()
    with server.binding():

        @resource("a://d")
        def telling() -> str:
            anyio.from_thread.run(server.notify_resource_updated, "a://b")
            return "told"

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        await raw.call(1, "resources/subscribe", uri="a://b")
        await raw.begin(2, "resources/read", uri="a://d")
        assert (await raw.hear())["method"] == "notifications/resources/updated"
        assert (await raw.hear())["id"] == 2


async def test_one_subscription_is_enough_and_more_than_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp.session.MAX_SUBSCRIPTIONS", 1)
    async with serving(server := offering()) as raw:
        await raw.open("2025-11-25")
        for _ in range(2):
            assert (await raw.call(1, "resources/subscribe", uri="a://b"))["result"] == {}
        assert (await raw.call(1, "resources/subscribe", uri="a://c"))["error"]["code"] == -32600
        await server.notify_resource_updated("a://b")
        assert await heard(raw) == ["a://b"]
