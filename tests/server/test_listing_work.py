"""What registering and listing take: counted in calls of functions, which no busy machine changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dedalus_mcp import (
    CallNext,
    Incoming,
    MCPServer,
    ServerConfig,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.types import Tool
from tests.interaction.raw import serving
from tests.work import Calls

SIZES = (100, 200, 400)
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def functions(kind: str, count: int) -> list[Callable[..., Any]]:
    """Functions of one kind, decorated."""
    made: list[Callable[..., Any]] = []
    for number in range(count):
        name = f"x{number}"

        def function(x: str) -> str:
            """Do it."""
            return x

        match kind:
            case "tools/list":
                made.append(tool(name)(function))
            case "prompts/list":
                made.append(prompt(name)(function))
            case "resources/list":
                made.append(resource(f"a://{name}")(lambda: ""))
            case _:
                made.append(resource_template(name, uri_template=f"{name}://{{x}}")(function))
    return made


def assert_linear(calls: list[int]) -> None:
    each = [count / size for count, size in zip(calls, SIZES, strict=True)]
    assert max(each) < 1.3 * min(each), each


@pytest.mark.parametrize("kind", LISTS)
def test_registering_takes_as_much_for_each_however_many_there_are(kind: str) -> None:
    taken: list[int] = []
    for size in (SIZES[0], *SIZES):
        calls, server, made = Calls(), MCPServer("test"), functions(kind, size)
        with calls.counted():
            server.collect(*made)
        taken.append(calls.count)

    assert_linear(taken[1:])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("kind", LISTS)
async def test_listing_takes_as_much_for_each_however_many_there_are(kind: str, revision: str) -> None:
    """The whole list page by page, when it is new, and when its items are kept."""
    first: list[int] = []
    again: list[int] = []
    for size in (SIZES[0], *SIZES):  # once more, since some things are made at their first use
        server = MCPServer("test", config=ServerConfig(pagination_limit=10))
        server.collect(*functions(kind, size))
        async with serving(server) as raw:
            await raw.open(revision)
            for taken in (first, [], again):
                calls, names = Calls(), list[str]()
                members: dict[str, Any] = {}
                with calls.counted():
                    while True:
                        result = (await raw.call(1, kind, **members))["result"]
                        names += [item["name"] for item in result[LISTS[kind]]]
                        if "nextCursor" not in result:
                            break
                        members = {"cursor": result["nextCursor"]}
                taken.append(calls.count)
                assert len(set(names)) == size

    assert_linear(first[1:])
    assert_linear(again[1:])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_change_is_listed_at_once_and_so_is_one_of_an_included_server() -> None:
    inner, outer = MCPServer("inner"), MCPServer("outer")
    inner.collect(*functions("tools/list", 3))
    outer.include(inner, prefix="in")

    async with serving(outer) as raw:
        await raw.open("2025-11-25")

        async def names() -> list[str]:
            return [each["name"] for each in (await raw.call(1, "tools/list"))["result"]["tools"]]

        assert await names() == ["in_x0", "in_x1", "in_x2"]
        inner.allow_tools(["x1"])
        assert await names() == ["in_x1"]
        inner.allow_tools(None)
        inner.tools.remove("x0")
        outer.collect(*functions("tools/list", 1))
        assert await names() == ["in_x1", "in_x2", "x0"]
        outer.allow_tools(["x0"])
        assert await names() == ["x0"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_list_reads_the_same_when_its_items_are_kept() -> None:
    """Half of a surrogate pair is repaired, line breaks that cut a line elsewhere are escaped."""
    server = MCPServer("test")
    for number, text in enumerate(("plain", "\ud83d", "\u2028 \u0085", "यूनिकोड")):
        server.collect(tool(f"t{number}", description=text)(lambda: None))

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        first, *later = [(await raw.call(1, "tools/list"))["result"] for _ in range(4)]
        assert later == [first] * 3
        assert len(set(raw.frames[1:])) == 1
        assert [each["description"] for each in first["tools"]] == ["plain", "\ufffd", "\u2028 \u0085", "यूनिकोड"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_middleware_sees_the_items_of_a_kept_list_and_may_change_its_own_page() -> None:
    seen: list[Any] = []
    changes: list[str] = []

    async def watching(incoming: Incoming, call_next: CallNext) -> Any:
        result = await call_next()
        if incoming.method == "tools/list":
            seen.extend(result.tools)
            for name in changes:
                result.tools.remove(next(each for each in result.tools if each.name == name))
        return result

    server = MCPServer("test", middleware=[watching])
    server.collect(*functions("tools/list", 3))
    async with serving(server) as raw:
        await raw.open("2025-11-25")

        async def names() -> list[str]:
            return [each["name"] for each in (await raw.call(1, "tools/list"))["result"]["tools"]]

        for _ in range(3):
            assert await names() == ["x0", "x1", "x2"]
        changes.append("x1")
        assert await names() == ["x0", "x2"]
        changes.clear()
        assert await names() == ["x0", "x1", "x2"]
    assert {type(each) for each in seen} == {Tool}
