"""A client answers from what it has kept, exactly as far as the server allows (2026-07-28)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import ClientSettings, MCPClient, MemoryCache
from dedalus_mcp.errors import McpError
from dedalus_mcp.types import ElicitResult, PaginatedRequestParams, ReadResourceRequestParams
from dedalus_mcp.types.methods import RESOURCES_READ, TOOLS_LIST
from tests.client.playing import asks, form
from tests.client.test_cache import Clock
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import agree, result

MODERN = "2026-07-28"
LEGACY = "2025-11-25"


class Server:
    """Answers every request with a number that counts them, and with hints.

    Attributes:
        asked: What was asked for, in order: the method, and the cursor or URI.
        hints: What the results say.
        raw: Its end of the conversation.
        held: Where set, replies wait for it.
    """

    def __init__(self, **hints: Any) -> None:
        self.hints = hints or {"ttlMs": 10_000, "cacheScope": "private"}
        self.asked: list[tuple[str, str | None]] = []
        self.arriving = Heard[Message]()
        self.held: anyio.Event | None = None
        self.refused_cursor: str | None = None
        self.pages = 1
        self.questions: list[Message] = []
        self.revision = MODERN
        self.raw: Raw

    async def script(self, raw: Raw) -> None:
        self.raw = raw
        async with anyio.create_task_group() as group:
            while True:
                try:
                    message = await raw.hear()
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    group.cancel_scope.cancel()
                    return
                if "id" in message:
                    group.start_soon(self.answer, raw, message)

    async def answer(self, raw: Raw, message: Message) -> None:
        method, params = message["method"], message.get("params", {})
        if method in ("server/discover", "initialize"):
            await raw.say({"id": message["id"], "result": agree(self.revision)})
            return
        if method == "subscriptions/listen":
            await self.acknowledge(raw, message)
            return
        cursor = params.get("cursor", params.get("uri"))
        self.asked.append((method, cursor))
        self.arriving(message)
        number = len(self.asked)
        if self.held is not None:
            await self.held.wait()
        if cursor is not None and cursor == self.refused_cursor:
            self.refused_cursor = None
            await raw.say({"id": message["id"], "error": {"code": -32602, "message": "Invalid cursor"}})
            return
        if self.questions and "inputResponses" not in params:
            await raw.say({"id": message["id"], "result": self.questions.pop(0)})
            return
        await raw.say({"id": message["id"], "result": self.content(method, cursor, number)})

    def content(self, method: str, cursor: str | None, number: int) -> Message:
        page = int(cursor or 0) if method == "tools/list" else 0
        more = {"nextCursor": str(page + 1)} if page + 1 < self.pages else {}
        return result(
            self.revision,
            tools=[{"name": f"t{number}", "inputSchema": {"type": "object"}}],
            contents=[{"uri": cursor or "", "text": str(number)}],
            **{name: [] for name in ("prompts", "resources", "resourceTemplates")},
            **more,
            **self.hints,
        )

    async def acknowledge(self, raw: Raw, message: Message) -> None:
        self.subscription = message["id"]
        await self.tell("notifications/subscriptions/acknowledged", notifications=message["params"]["notifications"])

    async def tell(self, method: str, **params: Any) -> None:
        meta = {"io.modelcontextprotocol/subscriptionId": self.subscription}
        await self.raw.say({"method": method, "params": {**params, "_meta": meta}})


@asynccontextmanager
async def connected(server: Server, **settings: Any) -> AsyncGenerator[MCPClient]:
    given: ClientSettings = {"revision": server.revision, **settings}  # type: ignore[typeddict-item]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server.script), **given) as client:
                yield client
            group.cancel_scope.cancel()


async def names(client: MCPClient) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def test_a_result_is_kept_for_its_time_and_asked_for_again_after_it() -> None:
    """CACHE-06, CACHE-07: on the next use, and not before."""
    server, clock = Server(), Clock()
    async with connected(server, cache=MemoryCache(clock=clock)) as client:
        assert await names(client) == ["t1"]
        clock.now = 9.99
        assert await names(client) == ["t1"]
        clock.now = 10.0
        assert await names(client) == ["t2"]

    assert len(server.asked) == 2


@pytest.mark.parametrize("hints", [{"ttlMs": 0}, {"ttlMs": -5}, {"cacheScope": "public"}], ids=str)
async def test_what_is_stale_at_once_is_asked_for_every_time(hints: dict[str, Any]) -> None:
    """CACHE-06."""
    async with connected(Server(**hints)) as client:
        assert [await names(client) for _ in range(2)] == [["t1"], ["t2"]]


async def test_each_list_and_each_resource_is_kept_for_itself() -> None:
    """CACHE-04."""
    server = Server()
    async with connected(server) as client:
        for _ in range(2):
            await client.list_tools()
            await client.list_prompts()
            await client.list_resources()
            await client.list_resource_templates()
            for uri in ("r://a", "r://b"):
                (content,) = (await client.read_resource(uri)).contents
                assert content.uri == uri

    assert [method for method, _ in server.asked] == [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/read",
    ]


async def test_a_request_with_meta_of_its_own_is_another_request() -> None:
    """CACHE-04."""
    server = Server()
    async with connected(server) as client:
        await client.read_resource("r://a")
        await client.request(RESOURCES_READ, ReadResourceRequestParams(uri="r://a", meta={"tenant": "x"}))
        await client.request(TOOLS_LIST, PaginatedRequestParams(meta={"tenant": "x"}))
        await client.request(TOOLS_LIST, PaginatedRequestParams(meta={"tenant": "x"}))

    assert len(server.asked) == 4


async def test_what_came_after_questions_is_not_kept() -> None:
    """CACHE-05, CACHE-03."""
    server = Server()
    server.questions = [asks("s", q=form()), asks("s", q=form())]

    async def answer(_: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with connected(server, elicitation=answer) as client:
        first = await client.read_resource("r://a")
        second = await client.read_resource("r://a")

    assert first != second
    assert len(server.asked) == 4


async def test_every_page_has_its_own_time() -> None:
    """CACHE-12, CACHE-13: only the one that expired is asked for again, by its cursor."""
    server, clock = Server(), Clock()
    server.pages = 2
    async with connected(server, cache=MemoryCache(clock=clock)) as client:
        await client.list_tools_page()
        clock.now = 6.0
        await client.list_tools_page("1")
        clock.now = 12.0
        assert await names(client) == ["t3", "t2"]

    assert [cursor for _, cursor in server.asked] == [None, "1", None]


async def test_a_cursor_that_the_server_knows_no_longer_begins_the_list_anew() -> None:
    """CACHE-13: and nothing of what was kept is used."""
    server, cache = Server(), MemoryCache()
    server.pages = 2
    async with connected(server, cache=cache) as client:
        await client.list_tools_page()
        server.refused_cursor = "1"
        assert await names(client) == ["t3", "t4"]
        cache.clear()
        server.refused_cursor = "1"
        with pytest.raises(McpError, match="Invalid cursor"):  # nothing kept is to blame
            await client.list_tools()


async def test_a_told_change_makes_what_is_kept_stale_at_once() -> None:
    """CACHE-14: of the list that has changed, with all its pages; and of the one resource."""
    server, heard = Server(), Heard[Any]()
    async with connected(
        server, tools_list_changed=heard, resources_list_changed=heard, resource_updated=heard
    ) as client:
        await client.subscribe_resource("r://a")
        for _ in range(2):
            await client.list_tools()
            await client.list_resources()
            await client.read_resource("r://a")
            await client.read_resource("r://b")
        assert len(server.asked) == 4
        await server.tell("notifications/tools/list_changed")
        await server.tell("notifications/resources/updated", uri="r://a")
        await heard.wait(2)
        server.asked.clear()
        await client.list_tools()
        await client.list_resources()
        await client.read_resource("r://a")
        await client.read_resource("r://b")

    assert server.asked == [("tools/list", None), ("resources/read", "r://a")]


async def test_a_change_that_is_told_while_the_answer_is_on_its_way_counts() -> None:
    """CACHE-14: nobody knows which of the two was first, so it is asked again."""
    server, heard = Server(), Heard[Any]()
    server.held = anyio.Event()
    async with connected(server, tools_list_changed=heard) as client, anyio.create_task_group() as group:
        await client.subscribe_resource("r://a")
        group.start_soon(client.list_tools)
        await server.arriving.wait(1)
        await server.tell("notifications/tools/list_changed")
        await heard.wait(1)
        server.held.set()
        server.held = None
        await anyio.wait_all_tasks_blocked()
        assert await names(client) == ["t2"]


async def test_those_who_ask_at_once_share_one_request() -> None:
    server = Server()
    server.held = anyio.Event()
    async with connected(server) as client, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(client.list_tools)
        await anyio.wait_all_tasks_blocked()
        server.held.set()

    assert len(server.asked) == 1


async def test_who_waits_for_anothers_request_survives_its_cancellation() -> None:
    server = Server()
    server.held = anyio.Event()
    found: list[list[str]] = []
    async with connected(server) as client:

        async def other() -> None:
            found.append(await names(client))

        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as first:
                group.start_soon(other)
                async with anyio.create_task_group() as inner:

                    async def leave() -> None:
                        await server.arriving.wait(1)
                        await anyio.wait_all_tasks_blocked()
                        first.cancel()

                    inner.start_soon(leave)
                    await client.list_tools()
            await server.arriving.wait(1)
            server.held.set()

    assert len(found) == 1


async def test_what_is_stale_at_once_is_not_shared() -> None:
    server = Server(ttlMs=0)
    async with connected(server) as client, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(client.list_tools)

    assert len(server.asked) == 3


async def test_nobody_can_change_what_another_gets() -> None:
    async with connected(Server()) as client:
        (await client.list_tools()).tools.clear()
        assert await names(client) == ["t1"]


async def test_a_cache_that_is_switched_off_keeps_nothing() -> None:
    async with connected(Server(), cache=None) as client:
        assert [await names(client) for _ in range(2)] == [["t1"], ["t2"]]


async def test_a_ping_asks_the_server_every_time() -> None:
    cache = MemoryCache()
    async with connected(Server(), cache=cache) as client:
        await client.ping()
        assert len(cache) == 0


async def test_a_legacy_server_knows_no_such_hints() -> None:
    server = Server()
    server.revision = LEGACY
    async with connected(server) as client:
        assert [await names(client) for _ in range(2)] == [["t1"], ["t2"]]


class Reached(Scripted):
    """A target that other clients of the same server have too."""

    cache_key = "server"


async def found_by(cache: MemoryCache, server: Server, *, key: str = "server", **settings: Any) -> list[str]:
    """What a new client of a server finds, which shares a cache with others."""
    found: list[str] = []
    async with anyio.create_task_group() as group:
        target = Reached(group, server.script)
        target.cache_key = key
        given: ClientSettings = {"revision": MODERN, "cache": cache, **settings}  # type: ignore[typeddict-item]
        async with MCPClient.connect(target, **given) as client:
            found += await names(client)
        group.cancel_scope.cancel()
    return found


async def test_private_results_are_shared_among_clients_of_one_principal_alone() -> None:
    """CACHE-10: and with nobody where no principal is named."""
    cache, server = MemoryCache(), Server()
    with anyio.fail_after(20):
        assert await found_by(cache, server, principal="ann") == ["t1"]
        assert await found_by(cache, server, principal="bob") == ["t2"]
        assert await found_by(cache, server, principal="ann") == ["t1"]
        assert await found_by(cache, server) == ["t3"]
        assert await found_by(cache, server) == ["t4"]
        assert await found_by(cache, server, principal="ann", key="another") == ["t5"]


async def test_public_results_are_shared_by_all_clients_of_the_server() -> None:
    """CACHE-09: of the same server, with the same capabilities."""
    cache, server = MemoryCache(), Server(ttlMs=10_000, cacheScope="public")
    with anyio.fail_after(20):
        assert await found_by(cache, server, principal="ann") == ["t1"]
        assert await found_by(cache, server) == ["t1"]
        assert await found_by(cache, server, key="another") == ["t2"]
        assert await found_by(cache, server, roots=[]) == ["t3"]


async def test_what_somebody_else_put_into_a_shared_cache_and_is_no_result_is_dropped() -> None:
    class Spoiled(MemoryCache):
        def get(self, topic: str, key: str) -> bytes | None:
            return None if super().get(topic, key) is None else b"{spoiled"

    async with connected(Server(), cache=Spoiled()) as client:
        assert [await names(client) for _ in range(2)] == [["t1"], ["t2"]]


ICON = {"src": "https://e.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
RICH: dict[str, Message] = {
    "tools": {
        "name": "t",
        "title": "T",
        "inputSchema": {"type": "object", "x-mine": [None, 1.5]},
        "outputSchema": {"type": "array"},
        "annotations": {"readOnlyHint": True, "title": "T"},
        "icons": [ICON],
        "_meta": {"a": {"b": None}},
    },
    "prompts": {"name": "p", "arguments": [{"name": "a", "required": True}], "icons": [ICON], "_meta": {"a": 1}},
    "resources": {
        "uri": "r://a",
        "name": "a",
        "size": 7,
        "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
        "_meta": {"a": 1},
    },
    "resourceTemplates": {"uriTemplate": "r://{a}", "name": "a", "mimeType": "text/plain", "_meta": {"a": 1}},
    "contents": {"uri": "r://a", "blob": "aGk=", "mimeType": "image/png", "_meta": {"a": 1}},
}


@pytest.mark.parametrize("listed", RICH)
async def test_what_is_kept_is_what_came(listed: str) -> None:
    """Member for member, for every kind of result."""

    class Rich(Server):
        def content(self, method: str, cursor: str | None, number: int) -> Message:
            return {**super().content(method, cursor, number), listed: [RICH[listed]], "_meta": {"own": [number]}}

    server = Rich()
    async with connected(server) as client:
        asks: dict[str, Callable[[], Awaitable[Any]]] = {
            "tools": client.list_tools_page,
            "prompts": client.list_prompts_page,
            "resources": client.list_resources_page,
            "resourceTemplates": client.list_resource_templates_page,
            "contents": lambda: client.read_resource("r://a"),
        }
        first, second = await asks[listed](), await asks[listed]()

    assert second == first
    assert second is not first
    assert len(server.asked) == 1
