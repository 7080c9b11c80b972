"""`MCPClientGroup`: many servers as one, and none of them keeps the others from working."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import (
    ClientSettings,
    ConnectionLost,
    Context,
    MCPClientGroup,
    MCPServer,
    ServerConfig,
    StdioServer,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.errors import McpError
from dedalus_mcp.reaching import InMemory
from dedalus_mcp.transport import Duplex
from dedalus_mcp.types import ElicitRequestParams, NotificationParams, TextResourceContents
from dedalus_mcp_transports.memory import pair
from tests.client.counting import back_to, living_tasks
from tests.client.serving import BOTH
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import opened
from tests.transports.scripted_http import Asked, Talk, answering, scripted
from tests.transports.test_http_sse import Old, answer

MODERN = "2026-07-28"
LEGACY = "2025-11-25"


def server(name: str, *uris: str) -> MCPServer:
    """A server with the tools `who` and `ask`, a prompt, and these resources."""

    @tool
    async def who() -> str:
        return name

    @tool
    async def ask(ctx: Context) -> str:
        return f"{name}: {await ctx.confirm('Sure?')}"

    @prompt("say", arguments=[{"name": "what"}])
    def say(arguments: dict[str, str]) -> list[tuple[str, str]]:
        return [("user", f"{name} {arguments['what']}")]

    made = MCPServer(name)
    made.collect(who, ask, say)
    for uri in uris:

        @resource(uri)
        def read() -> str:
            return name

        made.collect(read)
    if uris:

        @resource_template("thing", uri_template="thing://{which}")
        def thing(which: str) -> str:
            return f"{name} {which}"

        made.collect(thing)
    return made


class Never:
    """A target that never answers, and knows what became of its connections."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = anyio.Event()

    async def open(self) -> Duplex:
        self.opened += 1
        near, _ = pair()
        never = self

        class Silent:
            async def receive(self) -> Any:
                return await near.receive()

            async def send(self, frames: Any) -> None:
                return

            async def aclose(self) -> None:
                await near.aclose()
                never.closed.set()

        return Silent()


class Refused:
    """A target that cannot be reached, until it can be."""

    def __init__(self, there: MCPServer | None = None) -> None:
        self.there = there
        self.is_up = False

    async def open(self) -> Duplex:
        if not self.is_up or self.there is None:
            raise ConnectionRefusedError("nobody is there")
        return await InMemory(self.there).open()


@asynccontextmanager
async def bounded() -> AsyncGenerator[None]:
    """Nothing takes long here, and nothing is left behind."""
    before = living_tasks()
    with anyio.fail_after(20):
        yield
    await back_to(before)


@BOTH
async def test_tools_prompts_and_resources_are_in_one_list_each_and_calls_go_to_whom_they_concern(
    revision: str,
) -> None:
    async with bounded(), MCPClientGroup({"a": server("A", "a://1"), "b c": server("B")}, revision=revision) as group:
        assert group.names == ("a", "b_c")
        assert group.errors == {}
        assert [found.name for found in (await group.list_tools()).tools] == [
            "a__who",
            "a__ask",
            "b_c__who",
            "b_c__ask",
        ]
        assert [found.name for found in (await group.list_prompts()).prompts] == ["a__say", "b_c__say"]
        assert [found.uri for found in (await group.list_resources()).resources] == ["a://1"]
        assert [found.name for found in (await group.list_resource_templates()).resourceTemplates] == ["a__thing"]
        assert (await group.call_tool("a__who")).text == "A"
        assert (await group.call_tool("b_c__who")).text == "B"
        (message,) = (await group.get_prompt("b_c__say", {"what": "hi"})).messages
        assert getattr(message.content, "text", "") == "B hi"
        (content,) = (await group.read_resource("a://1")).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == "A"


async def test_a_resource_that_several_servers_have_is_read_from_the_one_that_is_named() -> None:
    async with bounded(), MCPClientGroup({"a": server("A", "x://1"), "b": server("B", "x://1")}) as group:
        with pytest.raises(LookupError, match=r"a, b listed 'x://1': say server=, one of a, b"):
            await group.read_resource("x://1")
        (content,) = (await group.read_resource("x://1", server="b")).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == "B"
        with pytest.raises(LookupError, match="no server of this group listed 'thing://7'"):
            await group.read_resource("thing://7")
        (content,) = (await group.read_resource("thing://7", server="a")).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == "A 7"


async def test_names_that_are_none_are_refused_with_what_there_is() -> None:
    async with bounded(), MCPClientGroup({"a": server("A")}) as group:
        with pytest.raises(LookupError, match=r"names in a group are 'server__name', not 'who'"):
            await group.call_tool("who")
        with pytest.raises(LookupError, match=r"no server 'z' in this group; there are: a"):
            await group.call_tool("z__who")
        with pytest.raises(McpError, match="Unknown tool"):
            await group.call_tool("a__nope")


@pytest.mark.parametrize("names", [("a b", "a_b"), ("a", "a__"), ("x y", "x@y")])
def test_two_servers_of_one_name_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="two servers of this group would be called"):
        MCPClientGroup(dict.fromkeys(names, "https://example.com"))


@pytest.mark.parametrize("setting", ["auth", "headers"])
def test_what_is_a_secret_of_one_server_is_not_given_to_all(setting: str) -> None:
    """SEC in spirit: a token is shown to the server that it is for."""
    wrong: Any = {setting: {"authorization": "x"}}

    with pytest.raises(TypeError, match=f"{setting}= is for one server"):
        MCPClientGroup({}, **wrong)


async def test_a_server_that_is_not_there_keeps_nobody_from_the_others() -> None:
    targets = {
        "up": server("A"),
        "down": Refused(),
        "gone": StdioServer("/nonexistent/program", []),
        "url": "http://127.0.0.1:1/mcp",
    }
    async with bounded(), MCPClientGroup(targets) as group:
        assert sorted(group.errors) == ["down", "gone", "url"]
        assert str(group.errors["down"]) == "nobody is there"
        assert isinstance(group.errors["gone"], OSError)
        assert [found.name for found in (await group.list_tools()).tools] == ["up__who", "up__ask"]
        with pytest.raises(ConnectionLost, match=r"server 'down' is not connected: nobody is there") as raised:
            await group.call_tool("down__who")
        assert isinstance(raised.value.__cause__, ConnectionRefusedError)
        with pytest.raises(ConnectionLost):
            group["down"]
        assert (await group["up"].call_tool("who")).text == "A"


async def test_a_server_that_never_answers_delays_nobody() -> None:
    never = Never()
    async with bounded(), MCPClientGroup({"slow": never, "up": server("A")}, patience=0.05, revision=LEGACY) as group:
        assert group.opening == ("slow",)
        assert group.errors == {}
        assert (await group.call_tool("up__who")).text == "A"
        assert len((await group.list_tools()).tools) == 2
    assert never.closed.is_set()


async def test_a_server_that_is_not_connected_in_time_is_given_up() -> None:
    never = Never()
    async with bounded(), MCPClientGroup({"slow": never}, open_timeout=0.05, revision=LEGACY) as group:
        assert isinstance(group.errors["slow"], TimeoutError)
        assert str(group.errors["slow"]) == "not connected within 0.05 s"
        await never.closed.wait()


async def test_a_slow_server_joins_when_it_is_ready_and_calls_to_it_wait() -> None:
    ready = anyio.Event()

    class Slow(Refused):
        is_up = True

        async def open(self) -> Duplex:
            await ready.wait()
            self.is_up = True
            return await super().open()

    found: list[str] = []
    async with bounded(), MCPClientGroup({"slow": Slow(server("S"))}, patience=0.01) as group:

        async def call() -> None:
            found.append((await group.call_tool("slow__who")).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            assert found == []
            ready.set()
        assert found == ["S"]
        assert group.opening == ()


async def test_only_so_many_are_being_connected_to_at_once() -> None:
    nevers = {f"s{number}": Never() for number in range(5)}
    async with bounded(), MCPClientGroup(nevers, max_opening=2, patience=0.05, revision=LEGACY):
        assert sum(never.opened for never in nevers.values()) == 2


async def test_a_server_that_does_not_list_in_time_is_left_out_and_named() -> None:
    heard = Heard[Any]()

    async def script(raw: Raw) -> None:
        await opened(raw, LEGACY)
        while True:
            heard(await raw.hear())

    async with bounded(), anyio.create_task_group() as tasks:
        targets = {"mute": Scripted(tasks, script), "up": server("A")}
        async with MCPClientGroup(targets, revision=LEGACY) as group:
            listed = await group.list_tools(timeout=0.05)
            assert [found.name for found in listed.tools] == ["up__who", "up__ask"]
            assert sorted(group.errors) == ["mute"]
            assert "tools/list" in str(group.errors["mute"])
        tasks.cancel_scope.cancel()


async def test_a_connection_that_ends_is_an_error_until_it_is_made_anew() -> None:
    target = Refused(server("A"))
    target.is_up = True
    async with bounded(), MCPClientGroup({"a": target}) as group:
        assert (await group.call_tool("a__who")).text == "A"
        await group["a"].close()
        assert isinstance(group.errors["a"], ConnectionLost)
        with pytest.raises(ConnectionLost, match="server 'a' is not connected"):
            await group.call_tool("a__who")
        target.is_up = False
        with pytest.raises(ConnectionRefusedError):
            await group.reconnect("a")
        assert isinstance(group.errors["a"], ConnectionRefusedError)
        target.is_up = True
        client = await group.reconnect("a")
        assert group["a"] is client
        assert group.errors == {}
        assert (await group.call_tool("a__who")).text == "A"


async def test_those_who_reconnect_at_once_get_one_connection() -> None:
    async with bounded(), MCPClientGroup({"a": server("A")}) as group:
        clients: list[Any] = []

        async def reconnect() -> None:
            clients.append(await group.reconnect("a"))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(reconnect)
        assert group["a"] in clients
        assert sum(client.ended is None for client in clients) >= 1
        assert {client for client in clients if client.ended is None} == {group["a"]}


async def test_servers_are_added_and_removed_while_the_group_is_open() -> None:
    async with bounded(), MCPClientGroup() as group:
        assert (len(group), (await group.list_tools()).tools) == (0, [])
        client = await group.add("late", server("L"))
        assert "late" in group
        assert list(group) == ["late"]
        assert (await group.call_tool("late__who")).text == "L"
        with pytest.raises(ValueError, match="two servers"):
            await group.add("late", server("L"))
        with pytest.raises(ConnectionRefusedError):
            await group.add("down", Refused())
        assert group.names == ("late",)
        await group.remove("late")
        assert client.ended is not None
        assert list(group) == []
        with pytest.raises(LookupError):
            await group.remove("late")


async def test_adding_can_be_cancelled_and_leaves_nothing() -> None:
    never = Never()
    async with bounded(), MCPClientGroup(revision=LEGACY) as group:
        with anyio.move_on_after(0.05):
            await group.add("never", never)
        assert group.names == ()
        assert never.closed.is_set()


async def test_entering_can_be_cancelled_and_leaves_nothing() -> None:
    never = Never()
    async with bounded():
        with anyio.move_on_after(0.05) as scope:
            async with MCPClientGroup({"up": server("A"), "never": never}, revision=LEGACY):
                raise AssertionError("it is not entered")
        assert scope.cancelled_caught
        assert never.closed.is_set()


async def test_a_group_is_closed_from_any_task_and_for_good() -> None:
    async with bounded():
        group = MCPClientGroup({"a": server("A"), "b": server("B")})
        await group.open()
        client = group["a"]
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(group.close)
        assert client.ended is not None
        for use in (group.open, group.list_tools, lambda: group.call_tool("a__who"), lambda: group.reconnect("a")):
            with pytest.raises(RuntimeError, match=r"a group is opened once|the group is not open"):
                await use()
        await group.close()


async def test_a_group_that_was_never_opened_says_so() -> None:
    group = MCPClientGroup({"a": server("A")})

    with pytest.raises(RuntimeError, match="the group is not open"):
        await group.call_tool("a__who")
    await group.close()


async def test_closing_while_servers_are_being_connected_to_ends_that() -> None:
    never = Never()
    async with bounded():
        group = MCPClientGroup({"never": never}, patience=0.01, revision=LEGACY)
        await group.open()
        await group.close()
        assert never.closed.is_set()


@BOTH
async def test_each_server_may_have_settings_of_its_own(revision: str) -> None:
    """So a handler knows whose question it answers, and a callback whose tools have changed."""

    def settings_of(name: str) -> ClientSettings:
        async def answer(_: ElicitRequestParams) -> dict[str, bool]:
            return {"confirm": name == "a"}

        def changed(_: NotificationParams) -> None:
            heard(name)

        return {"elicitation": answer, "tools_list_changed": changed}

    heard = Heard[str]()
    changing = server("B")
    targets = {"a": server("A"), "b": changing}
    async with MCPClientGroup(targets, settings_of=settings_of, revision=revision) as group:
        assert (await group.call_tool("a__ask")).text == "A: True"
        assert (await group.call_tool("b__ask")).text == "B: False"

        @tool
        def more() -> None: ...

        changing.collect(more)
        with anyio.fail_after(20):
            assert await heard.wait(1) == ["b"]
        assert [found.name for found in (await group.list_tools()).tools][-1] == "b__more"


async def test_lists_of_many_pages_are_drained_from_every_server() -> None:
    def many(count: int) -> MCPServer:
        made = MCPServer("many", config=ServerConfig(pagination_limit=2))
        made.collect(*(tool(f"t{number}")(lambda: 1) for number in range(count)))
        return made

    async with bounded(), MCPClientGroup({"a": many(5), "b": many(3)}) as group:
        assert len((await group.list_tools()).tools) == 8


async def test_an_http_client_of_yours_is_for_urls_alone() -> None:
    async with bounded(), MCPClientGroup({"a": server("A")}, http_client=object()) as group:
        assert group.errors == {}


async def test_settings_that_do_not_exist_are_refused_when_the_group_is_made() -> None:
    wrong: Any = {"elicitatoin": None}

    with pytest.raises(TypeError, match="no setting 'elicitatoin'"):
        MCPClientGroup({}, **wrong)
    with pytest.raises(TypeError, match="no setting 'elicitatoin'"):
        MCPClientGroup({"a": server("A")}, settings_of=lambda _: wrong)


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.005, 0.02])
async def test_a_group_may_be_cancelled_at_any_moment(seconds: float) -> None:
    """Whatever it was about, nothing is left behind."""
    targets = {"a": server("A", "a://1"), "b": server("B"), "never": Never(), "down": Refused()}
    async with bounded():
        with anyio.move_on_after(seconds):
            async with MCPClientGroup(targets, patience=0.003, revision=LEGACY) as group:
                await group.list_tools()
                await group.read_resource("a://1", server="a")  # waits until that is there
                await group.reconnect("a")
                await anyio.sleep_forever()


async def test_entries_with_urls_are_connected_to_with_their_headers() -> None:
    """The entry's own count more than those of `settings_of`; an HTTP client of yours carries them all."""

    async def then(asked: Asked, talk: Talk) -> None:
        await talk.result({"content": [], "resultType": "complete"})

    def settings_of(name: str) -> ClientSettings:
        return {"headers": {"X-Name": name, "X-Key": "less"}} if name == "web" else {}

    async with scripted(answering(then)) as web, scripted(Old(answer).script) as old, httpx.AsyncClient() as http:
        servers = {
            "web": {"url": web.url, "headers": {"x-key": "more"}, "type": "http"},
            "old": {"url": old.url, "type": "sse"},
        }
        async with MCPClientGroup({"mcpServers": servers}, settings_of=settings_of, http_client=http) as group:
            assert group.errors == {}
            assert (await group.call_tool("web__t")).content == []
            assert (await group.call_tool("old__t")).content == []
            assert group["old"].revision == "2024-11-05"
        assert not http.is_closed

    assert {(asked.headers["x-key"], asked.headers["x-name"]) for asked in web.asked} == {("more", "web")}
    assert old.asked[0].method == "GET"


async def test_what_is_for_a_url_is_refused_for_a_program() -> None:
    entry = {"command": "anything"}
    async with MCPClientGroup({"a": entry}, settings_of=lambda _: {"headers": {"X-Key": "k"}}) as group:
        assert "go with a URL, and this is a program" in str(group.errors["a"])
