"""`Resources`: registered, listed, found, read."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from enum import Enum
from typing import Any

import anyio.lowlevel
import pytest

from dedalus_mcp import (
    Context,
    McpError,
    MCPServer,
    ResourceNotFound,
    ServerConfig,
    get_context,
    resource,
    resource_template,
)
from tests.interaction.raw import serving


class Color(Enum):
    RED = "red"


def offering(*functions: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


def says(text: str) -> Callable[[], str]:
    def say() -> str:
        return text

    return say


def say_of(text: str) -> Callable[[str], str]:
    def say(x: str) -> str:
        return text

    return say


async def text_at(server: MCPServer, uri: str) -> str:
    (contents,) = (await server.invoke_resource(uri)).contents
    return str(getattr(contents, "text", None))


async def test_functions_of_every_kind_are_read() -> None:
    """B139, B147: whatever can be called, and awaited; plain functions in threads, unless they are to run inline."""

    class Reader:
        async def __call__(self) -> str:
            await anyio.lowlevel.checkpoint()
            return "object"

    class Desk:
        @resource("a://method")
        def method(self) -> str:
            return "method"

    async def later(what: str) -> str:
        await anyio.lowlevel.checkpoint()
        return what

    @resource("a://plain")
    def plain() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return "plain"

    @resource("a://inline", inline=True)
    def inline() -> str:
        assert threading.current_thread() is threading.main_thread()
        return "inline"

    partial = resource("a://partial")(functools.partial(later, what="partial"))
    server = offering(plain, inline, Desk().method, partial, resource("a://object")(Reader()))
    for name in ("plain", "inline", "method", "partial", "object"):
        assert await text_at(server, f"a://{name}") == name


async def test_values_are_decoded_by_the_annotations() -> None:
    @resource_template("t", uri_template="t://{n}/{s}/{color}{?on,of}")
    def typed(n: int, s: str, color: Color, on: bool = False, of: list[int] | None = None) -> Any:
        return [n, s, color.name, on, of]

    server = offering(typed)
    assert await text_at(server, "t://5/5/red") == '[5,"5","RED",false,null]'
    assert await text_at(server, "t://-7/null/red?of=%5B1%2C2%5D&on=true") == '[-7,"null","RED",true,[1,2]]'


@pytest.mark.parametrize(
    ("uri", "name"),
    [("t://x/1", "n"), ("t://1.5/1", "n"), ("t://5/x", "x"), ("t://5/1?on=maybe", "on"), ("t://5/inf", "x")],
)
async def test_a_value_that_does_not_fit_is_refused_by_name(uri: str, name: str) -> None:
    @resource_template("t", uri_template="t://{n}/{x}{?on}")
    def typed(n: int, x: float, on: bool = False) -> None:
        raise AssertionError("never reached")

    with pytest.raises(McpError, match=rf"\b{name}: expected") as raised:
        await offering(typed).invoke_resource(uri)
    assert raised.value.code == -32602
    assert raised.value.data == {"uri": uri}


async def test_a_uri_is_compared_as_it_is_written() -> None:
    """RES-17: what is listed can be read."""
    uris = ["http://example.com", "http://EXAMPLE.com/a b", "x:", "a://%41", "a://é", "a://b?c#d"]
    server = offering(*(resource(uri)(says(uri)) for uri in uris))

    for uri in server.resource_uris:
        assert await text_at(server, uri) == uri
    assert sorted(uris) == server.resource_uris
    for other in ("http://example.com/", "http://example.com/a b", "x://", "a://A", "a://%C3%A9", "a://b?c"):
        with pytest.raises(ResourceNotFound):
            await server.invoke_resource(other)


async def test_the_resource_of_that_very_uri_comes_first_then_the_first_template() -> None:
    @resource("a://b")
    def exact() -> str:
        return "exact"

    @resource_template("a://{x}")
    def first(x: str) -> str:
        return f"first {x}"

    @resource_template("a://{+x}")
    def second(x: str) -> str:
        return f"second {x}"

    server = offering(first, second, exact)
    assert [await text_at(server, f"a://{path}") for path in ("b", "c", "c/d")] == ["exact", "first c", "second c/d"]


async def test_an_unknown_resource_is_none() -> None:
    """RES-09, B104."""
    for server in (offering(), offering(resource("a://b")(says("b")))):
        with pytest.raises(ResourceNotFound, match=r"^Resource not found: a://c$") as raised:
            await server.invoke_resource("a://c")
        assert (raised.value.code, raised.value.data) == (-32002, {"uri": "a://c"})


async def test_a_huge_uri_is_not_sent_back_to_say_that_it_is_unknown() -> None:
    with pytest.raises(ResourceNotFound) as raised:
        await offering().invoke_resource("a://" + "x" * 1_000_000)
    assert len(raised.value.message) < 200
    assert len(raised.value.data["uri"]) == 4096


async def test_a_context_is_given_where_it_is_wanted_and_no_uri_sets_it() -> None:
    @resource_template("a://{x}")
    async def seen(x: str, ctx: Context) -> str:
        assert ctx is get_context()
        return f"{x} {ctx.request_id}"

    @resource("a://none")
    def without(ctx: Context | None = None) -> str:
        return f"{ctx}"

    server = offering(seen, without)
    assert await text_at(server, "a://none") == "None"
    with pytest.raises(LookupError):
        await server.invoke_resource("a://b")
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        (found,) = (await raw.call(7, "resources/read", uri="a://b"))["result"]["contents"]
    assert found["text"] == "b 7"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("a://{x}", "not every URI has y; put it into"),
        ("a://{x}{?y}", "not every URI has y; give it a default"),
        ("a://{x}/{y}/{z}", "the URI has z, which are no parameters"),
        ("a://{x}/{y}{?z}", "the URI has z"),
        ("a://{x}/{y}/{ctx}", "the URI has ctx"),
    ],
)
def test_parameters_and_variables_are_the_same(template: str, why: str) -> None:
    @resource_template(template)
    def takes(x: str, y: str, ctx: Context, other: int = 1) -> None: ...

    with pytest.raises(TypeError, match=why):
        offering(takes)


def test_a_resource_takes_nothing() -> None:
    @resource("a://b")
    def takes(x: str) -> None: ...

    @resource("a://c")
    def could(ctx: Context, x: str = "") -> None: ...

    with pytest.raises(TypeError, match=r"takes\(\): not every URI has x"):
        offering(takes)
    assert len(offering(could).resources) == 1


async def test_the_last_one_of_a_uri_counts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    server = offering(
        resource("a://b")(says("old")), resource("a://b")(says("new")),
        resource_template("a://{x}")(say_of("old")), resource_template("a://{x}")(say_of("new")),
    )  # fmt: skip

    assert [await text_at(server, uri) for uri in ("a://b", "a://c")] == ["new", "new"]
    assert caplog.text.count("registered twice") == 2
    assert len(server.resources) == 2


async def test_what_a_function_raises_tells_the_client_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """RES-06, RES-07."""

    @resource_template("a://{how}")
    async def fail(how: str) -> Any:
        if how == "own":
            raise McpError(-32050, "of its own", {"x": 1})
        if how == "gone":
            raise ResourceNotFound.of("a://gone")
        if how == "unfit":
            return object()
        raise ValueError("secret")

    server = offering(fail)
    with pytest.raises(ValueError, match="secret"):
        await server.invoke_resource("a://x")
    for revision, code in (("2025-11-25", -32002), ("2026-07-28", -32602)):
        async with serving(server) as raw:
            await raw.open(revision)
            for how in ("x", "unfit"):
                reply = await raw.call(1, "resources/read", uri=f"a://{how}")
                assert reply["error"] == {"code": -32603, "message": "Internal error"}
            reply = await raw.call(1, "resources/read", uri="a://own")
            assert reply["error"] == {"code": -32050, "message": "of its own", "data": {"x": 1}}
            reply = await raw.call(1, "resources/read", uri="a://gone")
            assert (reply["error"]["code"], reply["error"]["data"]) == (code, {"uri": "a://gone"})
    assert "secret" in caplog.text


async def test_lists_say_everything_and_come_in_pages() -> None:
    """RES-03, RES-20, PAGE-01: in the order of registration."""
    server = MCPServer("test", config=ServerConfig(pagination_limit=2))
    about: dict[str, Any] = {
        "title": "T",
        "description": "D",
        "mime_type": "a/b",
        "annotations": {"priority": 1},
        "meta": {"m": 1},
    }
    with server.binding():
        resource("a://1", name="one", size=3, icons=[{"url": "https://example.com/i"}], **about)(says("1"))
        resource_template("t1", uri_template="t://1/{x}", icons=[{"src": "https://example.com/i"}], **about)(str_of)

        @resource("a://2")
        def two() -> str:
            """In its docstring.

            Returns:
                Something.
            """
            return ""

        for number in (3, 4, 5):
            resource(f"a://{number}")(two)
            resource_template(f"t://{number}/{{x}}")(str_of)
    said = {"title": "T", "description": "D", "mimeType": "a/b", "annotations": {"priority": 1}, "_meta": {"m": 1}}
    icons = [{"src": "https://example.com/i"}]

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        pages = [await raw.call(1, "resources/list", {"cursor": cursor}) for cursor in ("", "2", "4")]
        found = [each for page in pages for each in page["result"]["resources"]]
        assert found[0] == {"uri": "a://1", "name": "one", "size": 3, "icons": icons, **said}
        assert found[1] == {"uri": "a://2", "name": "a://2", "description": "In its docstring."}
        assert [each["uri"] for each in found] == [f"a://{number}" for number in range(1, 6)]
        assert [page["result"].get("nextCursor") for page in pages] == ["2", "4", None]
        first = (await raw.call(1, "resources/templates/list"))["result"]
        assert first["resourceTemplates"] == [
            {"uriTemplate": "t://1/{x}", "name": "t1", "icons": icons, **said},
            {"uriTemplate": "t://3/{x}", "name": "str_of"},
        ]
        assert first["nextCursor"] == "2"
        assert (await raw.call(1, "resources/list", cursor="x"))["error"]["code"] == -32602


def str_of(x: str) -> str:
    return x
