"""`include`: what one server offers, another offers as well; whose rules hold, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from dedalus_mcp import (
    CacheHint,
    Context,
    MCPClient,
    McpError,
    MCPServer,
    ResourceNotFound,
    ServerConfig,
    completion,
    get_context,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS
from dedalus_mcp.types import CompletionArgument, PromptReference, ResourceTemplateReference
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, Heard, text_of

every = pytest.mark.parametrize("revision", REVISIONS)


@tool(tags=["sums"], description="Adds.", meta={"m": 1})
async def add(a: int, b: int = 1) -> int:
    return a + b


@prompt("greet", arguments=[{"name": "who", "required": True}])
def greet(arguments: dict[str, str] | None) -> Any:
    return [("user", f"Hello {(arguments or {})['who']}")]


@completion(prompt="greet")
def people(argument: CompletionArgument) -> list[str]:
    return [argument.value + "a"]


@resource("a://r", name="r")
def r() -> str:
    return "r"


@resource_template("t", uri_template="a://t/{x}")
def t(x: str) -> str:
    return x


@completion(resource="a://t/{x}")
def letters(argument: CompletionArgument) -> list[str]:
    return [argument.value + "b"]


FACE = (add, greet, people, r, t, letters)


def offering(*functions: Callable[..., Any], name: str = "inner", **settings: Any) -> MCPServer:
    server = MCPServer(name, **settings)
    server.collect(*functions)
    return server


def including(*inner: MCPServer, prefix: str = "", **settings: Any) -> MCPServer:
    outer = MCPServer("outer", **settings)
    for each in inner:
        outer.include(each, prefix=prefix)
    return outer


def named(name: str, **options: Any) -> Callable[..., Any]:
    async def fn() -> str:
        return name

    return tool(name, **options)(fn)


# What is seen.


@every
async def test_the_whole_face_of_a_server_is_seen_in_the_one_that_includes_it(revision: str) -> None:
    outer = including(offering(*FACE), prefix="x")
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, revision=revision) as client:
            (found,) = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            resources = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resourceTemplates
            result = await client.call_tool("x_add", {"a": 1})
            said = await client.get_prompt("x_greet", {"who": "Ada"})
            read = [(await client.read_resource(uri)).contents[0] for uri in ("a://r", "a://t/y")]

    assert (found.name, found.description, found.inputSchema["required"]) == ("x_add", "Adds.", ["a"])
    assert [each.name for each in prompts] == ["x_greet"]
    assert [(each.uri, each.name) for each in resources] == [("a://r", "r")]
    assert [(each.uriTemplate, each.name) for each in templates] == [("a://t/{x}", "t")]
    assert text_of(result) == "2"
    assert [getattr(each.content, "text", None) for each in said.messages] == ["Hello Ada"]
    assert [(each.uri, getattr(each, "text", None)) for each in read] == [("a://r", "r"), ("a://t/y", "y")]


async def test_completions_follow_the_names_of_what_they_complete() -> None:
    outer = including(offering(*FACE), prefix="x")
    async with MCPClient.connect(outer) as client:
        assert client.server_capabilities.completions is not None
        names = await client.complete(PromptReference(name="x_greet"), "who", "Ad")
        values = await client.complete(ResourceTemplateReference(uri="a://t/{x}"), "x", "a")
        with pytest.raises(McpError, match="no argument 'y'"):
            await client.complete(ResourceTemplateReference(uri="a://t/{x}"), "y", "a")

    assert names.completion.values == ["Ada"]
    assert values.completion.values == ["ab"]


async def test_names_of_several_levels_have_the_prefixes_of_all() -> None:
    middle = MCPServer("middle")
    middle.include(offering(*FACE), prefix="x")
    outer = MCPServer("outer")
    outer.include(middle, prefix="y")
    async with MCPClient.connect(outer) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["y_x_add"]
        assert text_of(await client.call_tool("y_x_add", {"a": 1})) == "2"
        assert (await client.get_prompt("y_x_greet", {"who": "Ada"})).messages
        assert (await client.read_resource("a://t/y")).contents[0].uri == "a://t/y"
        assert (await client.complete(PromptReference(name="y_x_greet"), "who", "Ad")).completion.values == ["Ada"]
    assert outer.tool_names == ["y_x_add"]


def test_registered_names_and_tags_are_those_of_all_servers() -> None:
    outer = including(offering(*FACE), prefix="x")
    outer.collect(named("own", tags=["sums"]))

    assert outer.tool_names == ["own", "x_add"]
    assert outer.prompt_names == ["x_greet"]
    assert outer.resource_uris == ["a://r"]
    assert outer.tools.tagged("sums") == ["own", "x_add"]
    definition = outer.tools.definition("x_add")
    assert definition is not None
    assert definition.meta == {"m": 1, "dedalus-mcp/tags": ["sums"]}
    assert (len(outer.tools), len(outer.prompts), len(outer.resources)) == (2, 1, 2)


async def test_pages_have_the_items_of_all_servers_in_the_order_they_came_each_once() -> None:
    inner = offering(named("a"), named("b"))
    outer = including(inner, config=ServerConfig(pagination_limit=2))
    outer.collect(named("c"))
    inner.collect(named("d"))
    async with MCPClient.connect(outer) as client:
        first = await client.list_tools_page()
        inner.tools.remove("b")
        second = await client.list_tools_page(first.nextCursor)

    assert [each.name for each in first.tools] == ["a", "b"]
    assert [each.name for each in second.tools] == ["c", "d"]


@every
async def test_what_the_included_server_registers_and_removes_later_is_told_and_seen(revision: str) -> None:
    """TOOL-20, PROMPT-11, RES-10."""
    inner = offering(named("a"), r, greet)
    middle = including(inner, prefix="x")
    outer = including(middle, prefix="y")
    tools, prompts, resources = Heard[Any](), Heard[Any](), Heard[Any]()
    hearers: dict[str, Any] = {
        "tools_list_changed": tools,
        "prompts_list_changed": prompts,
        "resources_list_changed": resources,
    }
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, revision=revision, **hearers) as client:
            inner.collect(named("b"))
            inner.prompts.remove("greet")
            inner.resources.remove("a://r")
            for heard in (tools, prompts, resources):
                await heard.wait(1)

            assert [each.name for each in (await client.list_tools()).tools] == ["y_x_a", "y_x_b"]
            assert (await client.list_prompts()).prompts == []
            with pytest.raises(McpError, match="Resource not found"):
                await client.read_resource("a://r")
            with pytest.raises(McpError, match="not registered"):
                await client.get_prompt("y_x_greet", {"who": "x"})


@every
async def test_who_subscribes_hears_of_the_resources_of_included_servers(revision: str) -> None:
    inner = offering(r)
    outer = including(including(inner))
    updated = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, revision=revision, resource_updated=updated) as client:
            await client.subscribe_resource("a://r")
            await inner.notify_resource_updated("a://r")
            (told, *_) = await updated.wait(1)

    assert told.uri == "a://r"


async def test_servers_that_share_a_bus_do_not_tell_each_other_for_ever() -> None:
    inner = offering(r)
    outer = MCPServer("outer", subscription_bus=inner.bus)
    outer.include(inner)
    updated = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(outer, resource_updated=updated) as client:
            await client.subscribe_resource("a://r")
            await outer.notify_resource_updated("a://r")
            await updated.wait(1)


# Whose rules hold.


async def test_what_is_not_allowed_in_either_server_is_as_unknown_as_what_never_was() -> None:
    """TOOL-16."""
    inner = offering(named("a"), named("b"), named("c"))
    outer = including(inner, prefix="x")
    inner.allow_tools(["a", "b"])
    outer.allow_tools(["x_b", "x_c"])
    async with MCPClient.connect(outer) as client:
        assert [each.name for each in (await client.list_tools()).tools] == outer.tool_names == ["x_b"]
        for name in ("x_a", "x_c"):
            with pytest.raises(McpError, match=f"Unknown tool: {name}"):
                await client.call_tool(name)


async def test_whether_a_tool_is_enabled_is_asked_of_the_server_that_has_it() -> None:
    asked: list[MCPServer] = []

    def enabled(server: MCPServer) -> bool:
        asked.append(server)
        return len(asked) > 1

    inner = offering(named("a", enabled=enabled), named("b", enabled=False))
    outer = including(including(inner))
    async with MCPClient.connect(outer) as client:
        assert (await client.list_tools()).tools == []
        assert [each.name for each in (await client.list_tools()).tools] == ["a"]
        assert text_of(await client.call_tool("a")) == "a"
        assert (await client.call_tool("b")).isError
    assert asked == [inner, inner, inner]


async def test_changes_of_what_is_allowed_are_told_to_the_clients_of_the_outer_server() -> None:
    inner = offering(named("a"))
    heard = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(including(inner), tools_list_changed=heard) as client:
            inner.allow_tools([])
            await heard.wait(1)
            assert (await client.list_tools()).tools == []


async def test_the_context_is_the_outer_servers_and_the_lifespan_that_of_the_handlers_own_server() -> None:
    seen: list[Any] = []

    @tool("look")
    async def look(ctx: Context) -> None:
        seen.append((ctx.server.name, ctx.lifespan, get_context() is ctx))

    @resource("a://look")
    async def look_again() -> str:
        return f"{get_context().lifespan}"

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[str]:
        yield f"life of {server.name}"

    inner = offering(look, look_again, name="inner", lifespan=lifespan)
    middle = MCPServer("middle", lifespan=lifespan)
    middle.include(inner)
    outer = MCPServer("outer", lifespan=lifespan)
    outer.include(middle)

    async with MCPClient.connect(outer) as client:
        await client.call_tool("look")
        assert getattr((await client.read_resource("a://look")).contents[0], "text", None) == "life of inner"
    assert seen == [("outer", "life of inner", True)]


async def test_an_included_servers_lifespan_lasts_as_long_as_there_is_a_client_of_either() -> None:
    story: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        story.append(f"{server.name} begins")
        yield
        story.append(f"{server.name} ends")

    inner = offering(add, lifespan=lifespan)
    outer = MCPServer("outer", lifespan=lifespan)
    outer.include(inner)
    async with MCPClient.connect(inner):
        async with MCPClient.connect(outer):
            assert story == ["inner begins", "outer begins"]
        assert story == ["inner begins", "outer begins", "outer ends"]

    assert story[3:] == ["inner ends"]


async def test_a_lifespan_that_cannot_begin_fails_the_connection_to_the_outer_server() -> None:
    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        raise OSError("no database")
        yield

    with pytest.raises(OSError, match="no database"):
        await MCPClient.connect(including(offering(add, lifespan=lifespan)))


async def test_plain_functions_run_in_the_threads_of_their_own_server() -> None:
    seen: list[tuple[int, int]] = []

    @tool("work")
    def work() -> None:
        seen.append(anyio.from_thread.run_sync(lambda: (inner.threads.busy, outer.threads.busy)))

    inner = offering(work, config=ServerConfig(worker_threads=1))
    outer = including(inner)
    async with MCPClient.connect(outer) as client:
        await client.call_tool("work")

    assert seen == [(1, 0)]


@pytest.mark.parametrize(("inner_masks", "outer_masks"), [(True, False), (False, True), (True, True), (False, False)])
async def test_what_errors_tell_is_as_the_included_server_is_set(
    inner_masks: bool, outer_masks: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @tool("bad")
    async def bad() -> None:
        raise RuntimeError("secret")

    @prompt("bad")
    def bad_prompt(arguments: dict[str, str] | None) -> Any:
        raise RuntimeError("secret")

    @resource("a://bad")
    def bad_resource() -> str:
        raise RuntimeError("secret")

    inner = offering(bad, bad_prompt, bad_resource, config=ServerConfig(mask_errors=inner_masks))
    outer = including(inner, config=ServerConfig(mask_errors=outer_masks))
    async with MCPClient.connect(outer) as client:
        told = [text_of(await client.call_tool("bad"))]
        for read in (partial(client.get_prompt, "bad"), partial(client.read_resource, "a://bad")):
            with pytest.raises(McpError) as raised:
                await read()
            assert raised.value.code == INTERNAL_ERROR
            told.append(raised.value.message)

    assert ["secret" in each for each in told] == [not inner_masks] * 3
    assert sum(record.exc_info is not None for record in caplog.records if record.levelno >= logging.ERROR) == 3


async def test_in_process_the_exceptions_of_included_servers_are_raised_as_they_are() -> None:
    @prompt("bad")
    def bad(arguments: dict[str, str] | None) -> Any:
        raise KeyError("k")

    outer = including(offering(bad, *FACE, config=ServerConfig(mask_errors=False)), prefix="x")
    with pytest.raises(KeyError):
        await outer.invoke_prompt("x_bad")
    assert (await outer.invoke_tool("x_add", a=1)).structuredContent == {"result": 2}
    assert (await outer.invoke_resource("a://r")).contents[0].uri == "a://r"


async def test_a_result_may_be_kept_as_long_as_the_server_says_that_has_the_resource() -> None:
    """CACHE-01."""
    hints = {"resources/read": CacheHint(ttl=2)}
    outer = including(
        offering(r, config=ServerConfig(cache_hints=hints)),
        config=ServerConfig(cache_hints={"resources/read": CacheHint(ttl=3)}),
    )
    async with serving(outer) as raw:
        await raw.open("2026-07-28")
        assert (await raw.call(1, "resources/read", uri="a://r"))["result"]["ttlMs"] == 2000


@pytest.mark.parametrize("forwards_first", [True, False])
async def test_logs_that_an_included_server_forwards_go_to_the_clients_of_the_outer_one(forwards_first: bool) -> None:
    @tool("speak")
    async def speak() -> None:
        logging.getLogger("forwarded.by.inner").warning("hello")

    inner, outer = offering(speak), MCPServer("outer")
    middle, heard = MCPServer("middle"), Heard[Any]()
    outer.include(middle)
    handler = inner.forward_logs("forwarded.by.inner") if forwards_first else None
    middle.include(inner)
    handler = handler or inner.forward_logs("forwarded.by.inner")
    try:
        with anyio.fail_after(PATIENCE):
            async with MCPClient.connect(outer, logging=heard) as client:
                await client.call_tool("speak")
                (message,) = await heard.wait(1)
    finally:
        logging.getLogger("forwarded.by.inner").removeHandler(handler)

    assert message.data["msg"] == "hello"


# What is refused.


@pytest.mark.parametrize(("mine", "theirs"), [(add, add), (greet, greet), (r, r), (t, t)])
def test_two_of_one_name_are_refused_with_the_names_of_both_servers(mine: Any, theirs: Any) -> None:
    inner, outer = offering(theirs), offering(mine, name="outer")
    kept = offering(named("other"))

    with pytest.raises(ValueError, match="server 'outer'") as raised:
        outer.include(inner)
    assert "'inner'" in str(raised.value)
    assert len(list(outer.included())) == 0
    kept.include(inner)  # and it was left as it was
    with pytest.raises(ValueError, match="'inner'"):
        kept.collect(mine)


async def test_nothing_is_included_of_a_server_of_which_one_thing_has_no_room() -> None:
    outer = offering(r, name="outer")
    with pytest.raises(ValueError, match="resource 'a://r'"):
        outer.include(offering(*FACE))

    assert (outer.tool_names, outer.prompt_names) == ([], [])
    assert outer.capabilities.tools is None


def test_a_server_does_not_include_itself_in_any_number_of_steps() -> None:
    one, two, three = MCPServer("one"), MCPServer("two"), MCPServer("three")
    one.include(two)
    two.include(three)

    for inner, outer in ((one, one), (one, three), (one, two)):
        with pytest.raises(ValueError, match="would include itself"):
            outer.include(inner)


@pytest.mark.parametrize("prefix", ["a b", "é", "x" * 65, "a/b", "\n", None, 5])
def test_a_prefix_that_cannot_begin_a_name_is_refused(prefix: Any) -> None:
    """TOOL-04."""
    with pytest.raises(ValueError, match="a prefix has at most 64"):
        MCPServer("outer").include(MCPServer("inner"), prefix=prefix)


def test_what_is_no_server_is_refused() -> None:
    url: Any = "http://127.0.0.1:1/mcp"
    with pytest.raises(TypeError, match="takes an MCPServer, not str"):
        MCPServer("outer").include(url)


async def test_nothing_is_included_while_a_client_is_served() -> None:
    inner, outer = MCPServer("inner"), MCPServer("outer")
    outer.include(inner)
    async with MCPClient.connect(outer):
        for server in (outer, inner):
            with pytest.raises(RuntimeError, match="before serving"):
                server.include(MCPServer("new"))
    inner.include(offering(add))

    assert outer.tool_names == ["add"]


async def test_tools_that_are_fixed_in_the_outer_server_are_fixed_in_what_it_includes() -> None:
    inner = offering(named("a"))
    outer = including(inner, allow_dynamic_tools=False)
    async with MCPClient.connect(outer) as client:
        changes: list[Callable[[], object]] = [
            lambda: inner.collect(named("b")),
            lambda: inner.tools.remove("a"),
            lambda: inner.allow_tools([]),
        ]
        for change in changes:
            with pytest.raises(RuntimeError, match="Tool mutation attempted"):
                change()
        assert [each.name for each in (await client.list_tools()).tools] == ["a"]
    assert inner.tool_names == ["a"]


async def test_what_is_in_no_server_is_refused_in_the_outer_servers_words() -> None:
    outer = including(offering(*FACE), prefix="x")
    for wrong in (outer.invoke_tool("add"), outer.invoke_prompt("greet")):
        with pytest.raises(McpError) as raised:
            await wrong
        assert raised.value.code == INVALID_PARAMS
    with pytest.raises(ResourceNotFound):
        await outer.invoke_resource("a://none")
    for uri in ("a://r", "a://t/{x}"):
        outer.resources.check(uri.replace("{x}", "y"))
