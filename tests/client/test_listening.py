"""Hearing of changes on 2026-07-28, against a scripted server: one stream, replaced and re-opened."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, McpError, RequestTimeout
from dedalus_mcp.client import listening, patience, subscription
from dedalus_mcp.types import ResourceUpdatedNotificationParams
from tests.client.counting import back_to, living_tasks
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import result

MODERN = "2026-07-28"
TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
FRESH: dict[str, Any] = {"ttlMs": 0, "cacheScope": "private"}
TELLS: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
}
Answer = Callable[["Server", Message], Awaitable[None]]


class Server:
    """A server of 2026-07-28 that grants what `answer` does.

    Attributes:
        listens: The requests to listen, in order.
        cancelled: The ids of those that the client has ended.
    """

    def __init__(self, answer: Answer | None = None, capabilities: dict[str, Any] = TELLS) -> None:
        self._answer = answer or Server.grant
        self._capabilities = capabilities
        self._changed = anyio.Event()
        self.raw: Raw
        self.listens: list[Message] = []
        self.cancelled: list[Any] = []

    async def script(self, raw: Raw) -> None:
        self.raw = raw
        while True:
            message = await raw.hear()
            match message["method"]:
                case "server/discover":
                    agreed = {"supportedVersions": [MODERN], "capabilities": self._capabilities}
                    await raw.say(
                        {"id": message["id"], "result": result(MODERN, ttlMs=0, cacheScope="private", **agreed)}
                    )
                case "subscriptions/listen":
                    self.listens.append(message)
                    await self._answer(self, message)
                case "notifications/cancelled":
                    self.cancelled.append(message["params"]["requestId"])
                case _:
                    await raw.say(
                        {"id": message["id"], "result": result(MODERN, tools=[], ttlMs=0, cacheScope="private")}
                    )
            self._changed.set()
            self._changed = anyio.Event()

    async def until(self, listens: int = 0, cancelled: int = 0) -> None:
        """Return when there were so many."""
        while len(self.listens) < listens or len(self.cancelled) < cancelled:
            await self._changed.wait()

    def wanted(self, number: int) -> Message:
        """What the n-th request was for."""
        found: Message = self.listens[number]["params"]["notifications"]
        return found

    async def grant(self, listen: Message, granted: Message | None = None) -> None:
        """Acknowledge a request."""
        given = listen["params"]["notifications"] if granted is None else granted
        await self.tell(listen, "notifications/subscriptions/acknowledged", notifications=given)

    async def tell(self, listen: Message, method: str, **params: Any) -> None:
        """Send a notice of a subscription."""
        tag = {"io.modelcontextprotocol/subscriptionId": listen["id"]}
        await self.raw.say({"method": method, "params": {**params, "_meta": tag}})

    async def end(self, listen: Message) -> None:
        """End a subscription."""
        tag = {"io.modelcontextprotocol/subscriptionId": listen["id"]}
        await self.raw.say({"id": listen["id"], "result": result(MODERN, _meta=tag)})

    async def refuse(self, listen: Message, code: int = -32601) -> None:
        """Refuse a request."""
        await self.raw.say({"id": listen["id"], "error": {"code": code, "message": "refused"}})


@asynccontextmanager
async def listening_to(server: Server, **settings: Any) -> AsyncGenerator[MCPClient]:
    """A client of a scripted server; nothing may be left of it afterwards."""
    before = living_tasks()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server.script), **settings) as client:
                yield client
            group.cancel_scope.cancel()
    await back_to(before)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE", 0.001)


async def test_a_client_asks_for_what_it_has_callbacks_for_and_the_server_tells_of() -> None:
    """SUB-14."""
    server = Server(capabilities={**TELLS, "prompts": {}})
    heard = Heard[Any]()
    async with listening_to(server, tools_list_changed=heard, prompts_list_changed=heard, resource_updated=heard):
        await server.until(listens=1)
        assert server.wanted(0) == {"toolsListChanged": True}
        await server.tell(server.listens[0], TOOLS)
        await heard.wait(1)


async def test_a_client_without_callbacks_asks_for_nothing() -> None:
    server = Server()
    async with listening_to(server, resource_updated=Heard()) as client:
        await client.list_tools()

    assert server.listens == []


async def test_notices_are_told_apart_by_the_subscription_that_they_belong_to() -> None:
    """SUB-06, STDIO-10: what belongs to none of ours, or to none at all, is not heard."""
    server, heard = Server(), Heard[Any]()
    async with listening_to(server, tools_list_changed=heard) as client:
        await server.until(listens=1)
        mine = server.listens[0]
        others: list[Any] = [mine["id"] + 1, str(mine["id"]), float(mine["id"]), None, True, {}]
        for id in others:
            await server.tell({"id": id}, TOOLS, other=True)
        await server.raw.say({"method": TOOLS}, {"method": TOOLS, "params": {"_meta": 7}})
        await server.tell(mine, TOOLS)
        await heard.wait(1)
        await client.list_tools()

    assert len(heard.values) == 1


async def test_nothing_is_heard_before_the_acknowledgement() -> None:
    """SUB-02."""

    async def early(server: Server, listen: Message) -> None:
        await server.tell(listen, TOOLS)
        await server.grant(listen)

    server, heard = Server(early), Heard[Any]()
    async with listening_to(server, tools_list_changed=heard) as client:
        await server.until(listens=1)
        await client.list_tools()

    assert heard.values == []


async def test_a_resource_is_subscribed_to_by_another_stream_which_replaces_the_first() -> None:
    """SUB-07, SUB-08: without a gap, since the first ends when the second is acknowledged."""
    server, heard, changed = Server(), Heard[ResourceUpdatedNotificationParams](), Heard[Any]()
    async with listening_to(server, resource_updated=heard, tools_list_changed=changed) as client:
        await client.subscribe_resource("r://a")
        await client.subscribe_resource("r://b")
        await client.subscribe_resource("r://b")
        last = server.listens[-1]
        assert last["params"]["notifications"] == {
            "toolsListChanged": True,
            "resourceSubscriptions": ["r://a", "r://b"],
        }
        await server.until(cancelled=len(server.listens) - 1)
        assert server.cancelled == [listen["id"] for listen in server.listens[:-1]]
        await server.tell(server.listens[0], UPDATED, uri="r://old")
        await server.tell(last, UPDATED, uri="r://b")
        assert [told.uri for told in await heard.wait(1)] == ["r://b"]

    assert changed.values == []


async def test_many_subscriptions_at_once_share_few_streams() -> None:
    server = Server()
    async with listening_to(server) as client:
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(client.subscribe_resource, f"r://{number}")
        assert len(server.wanted(-1)["resourceSubscriptions"]) == 50

    assert len(server.listens) <= 3


async def test_what_is_unsubscribed_is_asked_for_no_more_and_the_last_one_ends_the_stream() -> None:
    """SUB-08."""
    server = Server()
    async with listening_to(server, resource_updated=Heard()) as client:
        await client.subscribe_resource("r://a")
        await client.subscribe_resource("r://b")
        await client.unsubscribe_resource("r://a")
        assert server.wanted(-1) == {"resourceSubscriptions": ["r://b"]}
        await client.unsubscribe_resource("r://never")
        await client.unsubscribe_resource("r://b")
        await server.until(cancelled=3)
        assert len(server.listens) == 3
        await client.subscribe_resource("r://c")
        assert server.wanted(-1) == {"resourceSubscriptions": ["r://c"]}


async def test_a_resource_that_the_server_does_not_tell_of_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """SUB-03, SUB-04: the acknowledged filter is compared with what was asked for."""

    async def narrow(server: Server, listen: Message) -> None:
        asked = listen["params"]["notifications"]
        told = [uri for uri in asked.get("resourceSubscriptions", []) if uri != "r://b"]
        await server.grant(listen, {"toolsListChanged": True, **({"resourceSubscriptions": told} if told else {})})

    server, heard = Server(narrow), Heard[Any]()
    async with listening_to(server, resource_updated=heard, prompts_list_changed=heard) as client:
        await client.subscribe_resource("r://a")
        with pytest.raises(McpError, match="does not tell of changes of this resource") as raised:
            await client.subscribe_resource("r://b")
        await client.subscribe_resource("r://c")
        assert server.wanted(-1)["resourceSubscriptions"] == ["r://a", "r://c"]

    assert raised.value.code == -32602
    assert "promptsListChanged" in caplog.text


@pytest.mark.parametrize("code", [-32601, -32602, -32603])
async def test_a_server_that_refuses_is_not_asked_again(code: int, caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(server: Server, listen: Message) -> None:
        await server.refuse(listen, code)

    server = Server(refuse)
    async with listening_to(server, tools_list_changed=Heard()) as client:
        await server.until(listens=1)
        await client.list_tools()
        assert len(server.listens) == 1
        for times in (2, 3):
            with pytest.raises(McpError, match="refused") as raised:
                await client.subscribe_resource("r://a")
            assert raised.value.code == code
            assert server.wanted(times - 1)["resourceSubscriptions"] == ["r://a"]

    assert "nothing is heard of changes, for good: refused" in caplog.text


async def dropped(server: Server, listen: Message) -> None:
    await server.end(listen)


async def cancelled_by_the_server(server: Server, listen: Message) -> None:
    await server.raw.say({"method": "notifications/cancelled", "params": {"requestId": listen["id"]}})


async def refused_later(server: Server, listen: Message) -> None:
    await server.refuse(listen, -32603)


@pytest.mark.parametrize("end", [dropped, cancelled_by_the_server, refused_later])
async def test_a_stream_that_ends_is_opened_again_and_everybody_told_once(end: Answer) -> None:
    """SUB-09, SUB-10, SUB-15, AMB-01: with or without a result, what changed in between was told to nobody."""
    server, tools, prompts, resources = Server(), Heard[Any](), Heard[Any](), Heard[Any]()
    callbacks = {"tools_list_changed": tools, "prompts_list_changed": prompts, "resource_updated": resources}
    async with listening_to(server, **callbacks) as client:
        await client.subscribe_resource("r://a")
        number = len(server.listens)
        await end(server, server.listens[-1])
        await server.until(listens=number + 1)
        assert server.wanted(-1) == server.wanted(-2)
        await tools.wait(1)
        await prompts.wait(1)
        assert [told.uri for told in await resources.wait(1)] == ["r://a"]
        await server.tell(server.listens[-1], TOOLS)
        await tools.wait(2)

    assert (len(tools.values), len(prompts.values), len(resources.values)) == (2, 1, 1)


async def test_a_stream_that_is_refused_for_a_while_after_a_drop_is_asked_for_again() -> None:
    busy = 3

    async def answer(server: Server, listen: Message) -> None:
        nonlocal busy
        if len(server.listens) > 1 and busy:
            busy -= 1
            await server.refuse(listen, -32603)
        else:
            await server.grant(listen)

    server, heard = Server(answer), Heard[Any]()
    async with listening_to(server, tools_list_changed=heard):
        await server.until(listens=1)
        await server.end(server.listens[0])
        await heard.wait(1)

    assert len(server.listens) == 5


async def test_a_server_that_never_acknowledges_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "ACKNOWLEDGE_SECONDS", 0.01)

    async def silent(server: Server, listen: Message) -> None:
        return

    server = Server(silent)
    async with listening_to(server) as client:
        with pytest.raises(RequestTimeout):
            await client.subscribe_resource("r://a")
        await server.until(cancelled=1)


async def test_a_subscription_has_a_timeout_and_can_be_cancelled() -> None:
    async def silent(server: Server, listen: Message) -> None:
        return

    server = Server(silent)
    async with listening_to(server) as client:
        with pytest.raises(RequestTimeout, match="subscriptions/listen"):
            await client.subscribe_resource("r://a", timeout=0.01)
        async with anyio.create_task_group() as group:
            group.start_soon(client.subscribe_resource, "r://b")
            await server.until(listens=1)
            group.cancel_scope.cancel()


@pytest.mark.parametrize("answer", [dropped, cancelled_by_the_server])
async def test_a_subscription_that_ends_unacknowledged_is_an_error(answer: Answer) -> None:
    async with listening_to(Server(answer)) as client:
        with pytest.raises(Exception, match="without acknowledging"):
            await client.subscribe_resource("r://a")


async def test_a_lost_connection_is_told_to_those_who_wait() -> None:
    async def hang_up(server: Server, listen: Message) -> None:
        raise anyio.EndOfStream

    async with listening_to(Server(hang_up)) as client:
        with pytest.raises(ConnectionLost):
            await client.subscribe_resource("r://a")
        with pytest.raises(ConnectionLost):
            await client.subscribe_resource("r://a")


async def test_bad_acknowledgements_and_cancellations_are_dropped() -> None:
    async def answer(server: Server, listen: Message) -> None:
        await server.tell(listen, "notifications/subscriptions/acknowledged", notifications=7)
        await server.tell({"id": "x"}, "notifications/subscriptions/acknowledged", notifications={})
        await server.raw.say({"method": "notifications/cancelled", "params": {"requestId": [1]}})
        await server.raw.say({"method": "notifications/cancelled", "params": {"requestId": 999}})
        await server.grant(listen)
        await server.grant(listen, {})

    server = Server(answer)
    async with listening_to(server) as client:
        await client.subscribe_resource("r://a")


async def test_another_connection_listens_again() -> None:
    """SUB-11, STDIO-17: the server keeps nothing."""
    for _ in range(2):
        server = Server()
        async with listening_to(server, tools_list_changed=Heard()):
            await server.until(listens=1)


async def test_a_callback_may_subscribe_and_close() -> None:
    """B100."""
    server, over = Server(), anyio.Event()
    client: MCPClient

    async def changed(told: Any) -> None:
        await client.subscribe_resource("r://a")
        await client.close()
        over.set()

    async with listening_to(server, tools_list_changed=changed) as client:
        await server.until(listens=1)
        await server.tell(server.listens[0], TOOLS)
        await over.wait()


async def test_connecting_waits_for_the_first_acknowledgement_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """SUB-15, B092: what is listed after that is watched."""
    monkeypatch.setattr(listening, "BEGIN_SECONDS", 0.01)

    async def silent(server: Server, listen: Message) -> None:
        return

    for server in (Server(), Server(silent)):
        async with listening_to(server, tools_list_changed=Heard()):
            assert len(server.listens) == 1


async def test_connecting_can_be_cancelled_while_it_waits_for_the_acknowledgement() -> None:
    """B097."""
    before = living_tasks()

    async def cancel(server: Server, listen: Message) -> None:
        group.cancel_scope.cancel()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            target = Scripted(group, Server(cancel).script)
            await MCPClient.connect(target, tools_list_changed=Heard[Any]())
    await back_to(before)


async def test_a_subscription_made_while_another_is_asked_for_waits_for_its_own() -> None:
    release = anyio.Event()

    async def slow(server: Server, listen: Message) -> None:
        if len(server.listens) == 1:
            await server.raw.say({"method": "notifications/message", "params": {"level": "info", "data": 1}})
            release.set()
        else:
            await server.grant(server.listens[0])
            await server.grant(listen)

    server = Server(slow)
    async with listening_to(server) as client, anyio.create_task_group() as group:
        group.start_soon(client.subscribe_resource, "r://a")
        await release.wait()
        with pytest.raises(RequestTimeout):
            await client.subscribe_resource("r://b", timeout=0.01)
        await server.grant(server.listens[0])
        await client.subscribe_resource("r://c")

    assert server.wanted(-1)["resourceSubscriptions"] == ["r://a", "r://c"]


async def test_a_resource_unsubscribed_while_it_is_asked_for_is_not_listened_to() -> None:
    async def slow(server: Server, listen: Message) -> None:
        if len(server.listens) > 1:
            await server.grant(listen)

    server = Server(slow)
    async with listening_to(server, resource_updated=Heard()) as client, anyio.create_task_group() as group:
        group.start_soon(client.subscribe_resource, "r://a")
        await server.until(listens=1)
        group.start_soon(client.unsubscribe_resource, "r://a")
        await anyio.wait_all_tasks_blocked()
        await server.grant(server.listens[0])
        await server.until(cancelled=1)

    assert len(server.listens) == 1


async def test_all_who_subscribe_to_what_the_server_does_not_tell_of_are_told_so() -> None:
    """SUB-04."""

    async def nothing(server: Server, listen: Message) -> None:
        await server.grant(listen, {})

    failed: list[McpError] = []
    async with listening_to(Server(nothing)) as client:

        async def subscribe() -> None:
            try:
                await client.subscribe_resource("r://a")
            except McpError as error:
                failed.append(error)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(subscribe)

    assert len(failed) == 5
